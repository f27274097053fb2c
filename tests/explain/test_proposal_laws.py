"""What `plan` says is what happens: to the group itself, to others, and with every offer that is taken up."""

import copy
from collections import Counter

import msgspec
import pytest
from hypothesis import given

from maitred.decide import decide as decide_snapshot
from maitred.explain.proposal.answer import Offer, Proposal
from maitred.explain.proposal.propose import OUTCOME_OF
from maitred.explain.proposal.supposition import MARK, Supposition
from maitred.explain.proposal.tables import proposal_lines
from maitred.model.manifest import InputError
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from tests.explain.applying import UnattainableError, applied, described_by, group_of, members
from tests.explain.supposing import expanded, planned
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.preemption.worlds import squatted
from tests.support import NOON, decide, read, state_of

NOW = msgspec.convert(NOON, Timestamp)


def split(objects: list[Obj]) -> tuple[list[Obj], list[Obj], str] | None:
    """The cluster without one of its groups, whose members all wait; and that group, as if it came now."""
    pods = [obj for obj in objects if obj["kind"] == "Pod"]
    for key in sorted({group_of(pod) for pod in pods}):
        own = members(objects, key)
        waits = all(
            "nodeName" not in pod["spec"] and "deletionTimestamp" not in pod["metadata"] for pod in own
        )
        if waits and all(pod["status"]["phase"] == "Pending" for pod in own):
            new = [*own, *(obj for obj in described_by(objects, key) if obj["kind"] == "PodGroup")]
            rest = [obj for obj in objects if not any(obj is other for other in new)]
            later = copy.deepcopy(new)
            for obj in later:
                obj["metadata"]["creationTimestamp"] = NOON
            return rest, later, key
    return None


def check(objects: list[Obj]) -> str:
    """Ask about a group, then add it and see. What came of it."""
    found = split(objects)
    if found is None:
        return "none"
    cluster, new, key = found
    actual = decide([*cluster, *new])
    (verdict,) = (group for group in actual["groups"] if group["group"] == key)
    state = state_of(read(cluster))
    before = decide_snapshot(state.snapshot(), Policy(), NOW)
    supposition = Supposition(tuple(expanded(*new).objects))
    if verdict["verdict"] == "Invalid":
        with pytest.raises(InputError):
            planned(state, supposition)
        return "invalid"
    answer = planned(state, supposition)
    (proposal,) = answer.proposals
    assert proposal.outcome == answer.outcome == OUTCOME_OF[verdict["verdict"]]
    assert (proposal.members, proposal.quorum, proposal.placed) == (
        verdict["members"],
        verdict["quorum"],
        verdict["placed"],
    )
    assert proposal.where.nodes == places(actual, key)
    assert leaving(proposal) == Counter(
        e["group"] or e["pod"] for e in actual["evictions"] if e["for"] == key
    )
    if proposal.outcome in ("fits", "preempts"):
        assert set(proposal.delayed) == delayed(before, actual)
    assert decide_snapshot(state.snapshot(), Policy(), NOW) == before
    for offer in proposal.offers:
        if offer.kind != "time":
            take_up(cluster, new, key, offer)
    assert MARK.encode() not in msgspec.json.encode(answer)
    assert next(proposal_lines(answer)).plain == f"{proposal.words}."
    return proposal.outcome


def take_up(cluster: list[Obj], new: list[Obj], key: str, offer: Offer) -> None:
    apart = msgspec.json.decode(msgspec.json.encode([*cluster, *new]))  # pods may share parts of their dicts
    try:
        changed = applied(apart, key, offer.detail)
    except UnattainableError:
        return
    plan = decide(changed)
    (verdict,) = (group for group in plan["groups"] if group["group"] == key)
    assert verdict["verdict"] == "Scheduled", offer
    assert places(plan, key) == offer.where.nodes, offer


def places(plan: Obj, key: str) -> dict[str, int]:
    binds = (*plan["binds"], *plan["nominations"])
    return dict(Counter(bind["node"] for bind in binds if bind["group"] == key))


def leaving(proposal: Proposal) -> Counter[str]:
    return Counter({victim.unit: victim.pods for victim in proposal.cost.victims})


def victims(plan: Obj, key: str) -> Counter[str]:
    return Counter(e["group"] or e["pod"] for e in plan["evictions"] if e["for"] == key)


def delayed(before: Plan, actual: Obj) -> set[str]:
    stood = {group.group for group in before.groups if group.verdict == "Scheduled"}
    return stood - {group["group"] for group in actual["groups"] if group["verdict"] == "Scheduled"}


@given(clusters(4, 4, 3))
@examples(20)
def test_what_is_said_is_what_happens(objects: list[Obj]) -> None:
    check(objects)


@pytest.mark.slow
@given(clusters(max_groups=4))
@examples(150)
def test_what_is_said_is_what_happens_at_length(objects: list[Obj]) -> None:
    check(objects)


@given(squatted())
@examples(10)
def test_who_would_leave_is_who_leaves(objects: list[Obj]) -> None:
    check(objects)


@pytest.mark.slow
@given(squatted())
@examples(80)
def test_who_would_leave_is_who_leaves_at_length(objects: list[Obj]) -> None:
    check(objects)
