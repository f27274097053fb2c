"""One truth about manifests that nobody has submitted yet, of every kind of workload: `decide`, `why`, `plan`
and a replay agree, and a person who follows a remedy, in the manifest, gets the group seated."""

import pytest
from hypothesis import event, given

from maitred.explain.proposal.expansion import as_new, manifest_of
from maitred.explain.proposal.propose import OUTCOME_OF
from maitred.model.plan import GroupVerdict
from tests.explain.supposing import expanded
from tests.explain.supposing import plan as planned
from tests.one_truth.hearing_all import Cluster
from tests.one_truth.test_one_truth import (
    assert_audit_agrees,
    assert_capacity_agrees,
    assert_plan_is_shown,
    assert_replay_agrees,
    assert_why_agrees,
    changes,
)
from tests.one_truth.workloads import NAME, WORKLOADS, NotInManifestError, remedied, rooms
from tests.oracle.builders import Obj
from tests.oracle.effort import examples


def submitted(room: list[Obj], workload: Obj) -> Cluster:
    """The cluster once somebody has submitted the manifest, and its controllers have made the pods."""
    made = (item for item in expanded(workload).objects if type(item).__name__ != workload["kind"])
    return Cluster([*room, workload, *(manifest_of(as_new(item)) for item in made)])


def own_groups(cluster: Cluster) -> dict[str, GroupVerdict]:
    return {key: found for key, found in cluster.verdicts.items() if key.startswith(f"default/{NAME}")}


@pytest.mark.slow
@examples(100)
@given(rooms(), WORKLOADS)
def test_everybody_says_the_same_of_a_manifest(room: list[Obj], workload: Obj) -> None:
    cluster = submitted(room, workload)
    groups = own_groups(cluster)
    event(f"{workload['kind']}: {'several groups' if len(groups) > 1 else 'one group'}")
    assert_plan_is_shown(cluster.plan)
    for group in groups:
        assert_why_agrees(cluster, group)
    assert_replay_agrees(cluster)
    assert_capacity_agrees(cluster)
    assert_audit_agrees(cluster)
    assert_plan_agrees(room, workload, groups)


def assert_plan_agrees(room: list[Obj], workload: Obj, groups: dict[str, GroupVerdict]) -> None:
    answer = planned(room, workload)
    if len(answer.proposals) == 1 < len(groups):  # of pods that are decided one by one
        assert {OUTCOME_OF[found.verdict] for found in groups.values()} >= {answer.outcome}
        return
    assert len(answer.proposals) == len(groups)
    for proposal in answer.proposals:
        lone = next(iter(groups)) if len(groups) == 1 else proposal.group
        decided = groups[lone]
        assert (proposal.outcome, proposal.blockers) == (OUTCOME_OF[decided.verdict], decided.blockers)
        offered = [*changes(proposal)]
        assert [one for one in decided.remedies if one.detail not in offered] == []


@pytest.mark.slow
@examples(100)
@given(rooms(), WORKLOADS)
def test_a_remedy_that_is_followed_in_the_manifest_gets_the_group_seated(
    room: list[Obj], workload: Obj
) -> None:
    groups = own_groups(submitted(room, workload))
    for group, decided in groups.items():
        for remedy in decided.remedies:
            try:
                changed = remedied(workload, remedy.detail, len(groups) > 1)
            except NotInManifestError:
                continue
            event(f"{workload['kind']}: {remedy.detail['kind']}")
            verdicts = own_groups(submitted(room, changed))
            # A Job that is left with one pod is no gang, and its pod a group of its own name.
            found = [verdicts[group]] if group in verdicts else [*verdicts.values()]
            assert {one.verdict for one in found} == {"Scheduled"}, (group, remedy)
