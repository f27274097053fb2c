"""What is written into a namespace names nothing of any other, whoever wrote the sentence."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given

from maitred.decide import decide
from maitred.explain.receipts import group_words, preemptor_words, victim_words
from maitred.explain.tenant_words import as_told_at_home, reader_of, told_in
from maitred.explain.verdicts import head_of, pod_words, verdict_words
from maitred.model.meta import Timestamp
from maitred.model.plan import Blocker, GroupVerdict, Plan
from maitred.model.policy import Policy
from tests.controllers.victims import eviction
from tests.explain.tenants import SECRET, with_strangers
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.support import NOON, snapshot_of

NOW = msgspec.convert(NOON, Timestamp)
PUBLIC = "needs 8 nvidia.com/gpu on n1, topology.kubernetes.io/zone=z1, by default/own and 'default/own-0'."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PUBLIC, PUBLIC),
        ("for team-b/urgent.", "for something in another namespace."),
        ('{"for":"team-b/urgent","group":"default/own"}', None),
        ("claim team-b/data: kept for (team-b/x:0)", None),
        ("PATCH /api/v1/namespaces/team-b/pods/x refused", None),
        ("a path of the own namespace: default/own/team-b", None),
    ],
)
def test_what_is_not_of_the_namespace_and_has_no_domain_loses_its_name(text: str, told: str | None) -> None:
    found = told_in("default", text)
    assert told is None or found == told
    assert "team-b" not in found
    assert told_in("default", found) == found


def test_who_went_first_is_named_at_home_and_counted_elsewhere() -> None:
    ahead = ["team-b/a", "default/own", "team-c/b"]
    message = "it would fit, but team-b/a, default/own, team-c/b and 2 more went first and took the room"
    verdict = GroupVerdict(
        "default/g", "Waiting", 1, 1, 0, blockers=(Blocker("Priority", message, {"ahead": ahead}),)
    )
    told = as_told_at_home(verdict)
    assert verdict_words(told) == (
        "Waiting: Priority: it would fit, but default/own, 2 groups in other namespaces and 2 more went first"
        " and took the room"
    )
    assert head_of(told) == head_of(verdict)


def test_receipts_are_made_for_who_reads_them() -> None:
    own, other = eviction("x", group="default/v"), eviction("y", preemptor="team-b/urgent", group="default/v")
    strangers = [msgspec.structs.replace(own, pod=f"team-b/{n}", group="team-b/g") for n in range(3)]
    assert "evicted for a group in another namespace (priority 100 > 10): " in victim_words(
        other, reader_of(other.pod)
    )
    assert "1 pod of default/v leaves" in group_words([other], reader_of(other.pod))
    assert preemptor_words([own, *strangers], reader_of("default/g")) == (
        "Preempting: waits for 4 pods to leave: 1 of default/v, 3 pods in other namespaces"
    )
    assert "team-b/g" in preemptor_words([own, *strangers]), "the log and the administrator hear all"


def sentences(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """All that is said of a Plan in namespaces: where, in which words, and the full story."""
    for verdict in plan.groups:
        home, told = verdict.group.partition("/")[0], as_told_at_home(verdict)
        yield home, verdict_words(told), verdict_words(verdict)
        if verdict.blockers:
            yield home, pod_words(told), pod_words(verdict)
        if victims := [one for one in plan.evictions if one.preemptor == verdict.group]:
            yield home, preemptor_words(victims, reader_of(verdict.group)), preemptor_words(victims)
    for one in plan.evictions:
        home, reader = one.pod.partition("/")[0], reader_of(one.pod)
        yield home, victim_words(one, reader), victim_words(one)
        yield home, group_words([one], reader), group_words([one])


def assert_discreet(plan: Plan) -> int:
    """Returns how many sentences would have told a name."""
    would_have = 0
    for home, told, full in sentences(plan):
        foreign = SECRET if not home.startswith(SECRET) else " default/"
        would_have += foreign in f" {full}"
        for text in (told, told_in(home, full)):
            assert foreign not in f" {text}", f"in {home}: {text}"
        assert "something in another" not in told, f"made for its reader: {told}"
    return would_have


@given(clusters(max_groups=4))
@examples(60)
def test_no_sentence_in_a_namespace_names_a_stranger(objects: list[Obj]) -> None:
    assert_discreet(decide(snapshot_of(with_strangers(objects)), Policy(), NOW))


def test_sentences_of_preemption_and_of_rank_would_name_strangers() -> None:
    """So the property above can fail."""
    space = f"{SECRET}-team"
    full = [b.node("n0", cpu=2, pods=10), b.pod(f"{SECRET}-low", node="n0", cpu=2, namespace=space)]
    preempting = decide(snapshot_of([*full, b.pod("lone", cpu=2, priority=9)]), Policy(), NOW)
    first = b.pod(f"{SECRET}-first", cpu=2, priority=9, namespace=space)
    late = decide(snapshot_of([b.node("n0", cpu=2, pods=10), first, b.pod("lone", cpu=2)]), Policy(), NOW)
    assert assert_discreet(preempting) >= 1
    assert assert_discreet(late) >= 1
