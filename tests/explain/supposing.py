"""Objects that are asked about before they exist, as the command line and the scheduler ask."""

from typing import Any

import msgspec

from maitred.cluster.state import ClusterState
from maitred.cluster.supposing import supposing
from maitred.explain.proposal.answer import Proposals
from maitred.explain.proposal.expansion import Expansion, members_of
from maitred.explain.proposal.propose import proposals
from maitred.explain.proposal.supposition import Supposition, read_supposition
from maitred.explain.situation import Situation
from maitred.model.manifest import documents
from maitred.model.meta import Timestamp
from tests.support import NOON, Obj, listed, policy_of, read, state_of


def expanded(*manifests: Obj, namespace: str = "default") -> Expansion:
    return members_of(documents(listed(list(manifests)), "job.yaml"), namespace)


def planned(
    state: ClusterState,
    supposition: Supposition,
    policy: Obj | None = None,
    scheduler: str | None = None,
) -> Proposals:
    """The answer, once the question has travelled as JSON."""
    supposition = read_supposition(supposition.body())
    now = msgspec.convert(NOON, Timestamp)
    snapshot = supposing(state, supposition.stand_ins(now, scheduler))
    return proposals(Situation(snapshot, policy_of(policy), now, scheduler), supposition)


def plan(cluster: list[Obj], *manifests: Obj, policy: Obj | None = None, **options: Any) -> Proposals:
    found = expanded(*manifests)
    return planned(state_of(read(cluster)), Supposition(tuple(found.objects), **options), policy)
