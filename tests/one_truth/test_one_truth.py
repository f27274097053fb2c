"""One truth: whoever is asked about a state of a cluster says the same about verdict, blockers and remedies.

What cannot be said everywhere, and is not compared: how long a group has waited for what (only a ledger
knows), and how far its containers have got (only `why` looks). A group for which others leave has no remedies
in `decide` and `why`; `plan` offers what could be had without that. `plan` tells all changes of the group
itself, `decide` and `why` the three smallest of all.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from rich.text import Text

from maitred.explain.audit.tables import audit_lines
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity
from maitred.explain.capacity.tables import capacity_lines
from maitred.explain.proposal.answer import Proposal, Proposals
from maitred.explain.proposal.propose import OUTCOME_OF, proposals
from maitred.explain.proposal.supposition import Supposition
from maitred.explain.proposal.tables import proposal_lines
from maitred.explain.tables import plan_lines
from maitred.explain.why.answer import Why
from maitred.explain.why.evicted import receipt
from maitred.explain.why.tables import eviction_lines, why_lines
from maitred.explain.why.why import why
from maitred.model.plan import Plan, Record
from tests.catalogue.chapters import PAIRS, SINGLES
from tests.catalogue.situation import Situation
from tests.explain.applying import check_remedies, is_gang, key, members
from tests.one_truth.hearing_all import Cluster
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters

Lines = Callable[[Any, int | None], Iterator[Text]]
SITUATIONS = [situation for chapter in (*SINGLES, *PAIRS) for situation in chapter.situations]


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_everybody_says_the_same_of_a_situation(situation: Situation) -> None:
    assert_one_truth(Cluster(situation.objects, situation.policy))


@pytest.mark.slow
@examples(50)
@given(clusters(max_nodes=5, max_members=4, max_groups=4))
def test_everybody_says_the_same_of_any_cluster(objects: list[Obj]) -> None:
    cluster = Cluster(objects)
    assert_one_truth(cluster)
    check_remedies(objects, msgspec.to_builtins(cluster.plan))


@st.composite
def sliced(draw: st.DrawFn) -> list[Obj]:
    """A cluster whose groups are to sit in slices, of a level that nodes may have or not."""
    objects = draw(clusters(max_nodes=5, max_members=4, max_groups=3))
    for item in objects:
        marks = item["metadata"].get("annotations", {})
        if item["kind"] == "PodGroup" or "maitred.dev/group" in marks:
            size, level = (
                draw(st.integers(1, 3)),
                draw(st.sampled_from(("rack", "zone", b.HOSTNAME, "shelf"))),
            )
            added = {"maitred.dev/slice-size": str(size), "maitred.dev/slice-topology": level}
            item["metadata"]["annotations"] = {**marks, **added}
    return objects


@pytest.mark.slow
@examples(20)
@given(sliced())
def test_everybody_says_the_same_of_slices(objects: list[Obj]) -> None:
    cluster = Cluster(objects)
    assert_one_truth(cluster)
    check_remedies(objects, msgspec.to_builtins(cluster.plan))


@st.composite
def owned(draw: st.DrawFn) -> list[Obj]:
    """A cluster in which Jobs take the place of PodGroups: all of their indexes run at once, as far as their
    pods are there."""
    objects = draw(clusters(max_nodes=5, max_members=4, max_groups=4))
    for group in [item for item in objects if item["kind"] == "PodGroup" and draw(st.integers(0, 3))]:
        own = members(objects, key(group))
        if not own:
            continue
        objects.remove(group)
        meta = {**group["metadata"], "uid": f"uid-{group['metadata']['name']}"}
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
        for number, pod in enumerate(own):
            del pod["spec"]["schedulingGroup"]
            pod["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
            pod["metadata"].setdefault("labels", {})[b.INDEX] = str(number)
        size = draw(st.sampled_from((len(own), len(own), max(1, len(own) - 1), len(own) + 1)))
        labels = {name: said for name, said in own[0]["metadata"]["labels"].items() if name != b.INDEX}
        template = {"metadata": {"labels": labels}, "spec": deepcopy(own[0]["spec"])}
        template["spec"].pop("nodeName", None)
        spec = {"parallelism": size, "completions": size, "completionMode": "Indexed", "template": template}
        objects.append(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec, "status": {}}
        )
    return objects


@pytest.mark.slow
@examples(30)
@given(owned())
def test_everybody_says_the_same_of_jobs(objects: list[Obj]) -> None:
    cluster = Cluster(objects)
    jobs = {key(item) for item in objects if item["kind"] == "Job" and is_gang(item)}
    event(f"{len(jobs & cluster.verdicts.keys())} Jobs are decided as gangs")
    assert_one_truth(cluster)
    check_remedies(objects, msgspec.to_builtins(cluster.plan))


def assert_one_truth(cluster: Cluster) -> None:
    assert_plan_is_shown(cluster.plan)
    for group in cluster.verdicts:
        assert_why_agrees(cluster, group)
    assert_replay_agrees(cluster)
    assert_capacity_agrees(cluster)
    assert_audit_agrees(cluster)
    assert_evictions_agree(cluster)
    for group, dated, without, supposition in cluster.proposable():
        assert_proposal_agrees(group, dated, without, supposition)


# -- each of them ------------------------------------------------------------------------------------------


def assert_why_agrees(cluster: Cluster, group: str) -> None:
    """One by one, each asked on its own, so that nobody profits from what was worked out for others."""
    decided = cluster.verdicts[group]
    alone = why(cluster.situation.on(cluster.situation.snapshot), group)
    for answer in (alone, why(cluster.situation, group), cluster.live_why(group)):
        assert (answer.verdict, answer.members, answer.quorum, answer.placed) == (
            decided.verdict,
            decided.members,
            decided.quorum,
            decided.placed,
        )
        assert answer.blockers == decided.blockers
        assert answer.remedies == decided.remedies
        assert answer.parts == next(p for one, p in cluster.plan.with_parts() if one is decided)
    assert cluster.live_why(group) == alone
    assert_shown(alone, why_lines, Why)


def assert_replay_agrees(cluster: Cluster) -> None:
    plan, replay = cluster.replayed()
    assert (replay.same, replay.decisions, replay.differences) == (1, 1, ())
    without = [msgspec.structs.replace(group, remedies=()) for group in cluster.plan.groups]
    assert list(plan.groups) == list(cluster.live_groups().groups) == without
    for field in ("binds", "nominations", "evictions", "wake_at", "search_exhausted"):
        assert getattr(plan, field) == getattr(cluster.plan, field)
    assert set(plan.warnings) <= set(cluster.plan.warnings)


def assert_capacity_agrees(cluster: Cluster) -> None:
    """About who waits for room, who is there in part, and what keeps whom waiting."""
    found, verdicts = capacity(cluster.situation), cluster.verdicts
    entries = [group for group in cluster.plan.decisions if group.verdict in ("Waiting", "Impossible")]
    barred = [group for group in entries if group.blockers[0].category in ("Members", "Gated")]
    assert found.waiting == len(entries) - len(barred)
    for each in found.fragmented:
        assert (each.category, each.message) == (
            verdicts[each.group].blockers[0].category,
            verdicts[each.group].blockers[0].message,
        )
    for part in found.incomplete:
        told = why(cluster.situation, part.group)
        assert told.quorum == part.quorum
        assert (told.verdict == "Scheduled") == part.starts_now
    assert cluster.live_capacity() == found
    assert_shown(found, capacity_lines, Capacity)


def assert_audit_agrees(cluster: Cluster) -> None:
    """About who can never be seated, and who holds devices in part."""
    found = cluster.audited()
    if cluster.policy is None:
        impossible = {group.group for group in cluster.plan.decisions if group.verdict == "Impossible"}
        assert {one.group for one in found.never} >= impossible
    list(audit_lines(found, 80))


def assert_evictions_agree(cluster: Cluster) -> None:
    for eviction in cluster.plan.evictions:
        answer = receipt(cluster.situation, eviction.pod, "default")
        assert [one.eviction for one in answer.evictions] == [eviction]
        list(eviction_lines(answer, 80))


def assert_proposal_agrees(group: str, dated: Cluster, without: Cluster, supposition: Supposition) -> None:
    """`plan` of the objects of a group says what `why` says once they are there."""
    told = why(dated.situation, group)
    answer = proposals(without.supposing(supposition), supposition)
    assert without.live_plan(supposition) == answer
    assert_shown(answer, proposal_lines, Proposals)
    (proposal,) = answer.proposals
    assert told.verdict is not None
    assert proposal.outcome == OUTCOME_OF[told.verdict]
    assert proposal.blockers == told.blockers
    assert (proposal.members, proposal.quorum, proposal.placed) == (told.members, told.quorum, told.placed)
    if told.verdict in ("Waiting", "Impossible"):
        offered = list(changes(proposal))
        assert [one for one in (remedy.detail for remedy in told.remedies) if one not in offered] == []


def changes(proposal: Proposal) -> Iterator[Obj]:
    yield from (offer.detail for offer in proposal.offers if offer.kind != "time")
    yield from (remedy.detail for remedy in proposal.remedies)


# -- tables and data ---------------------------------------------------------------------------------------


def assert_shown(answer: Record, lines: Lines, kind: type[Record]) -> None:
    """The table is made from the JSON alone, at any width, and has every blocker and remedy."""
    again: Any = msgspec.json.decode(msgspec.json.encode(answer), type=kind)
    assert again == answer
    for width in (None, 60):
        assert [line.plain for line in lines(again, width)] == [line.plain for line in lines(answer, width)]


def assert_plan_is_shown(plan: Plan) -> None:
    text = "\n".join(line.plain for line in plan_lines(plan))
    assert all(group.group in text for group in plan.groups)
    for group in plan.decisions:
        assert all(blocker.message in text for blocker in group.blockers)
        assert all(remedy.change in text for remedy in group.remedies)
    assert_shown(plan, plan_lines, Plan)
