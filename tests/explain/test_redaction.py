"""Who may see some namespaces only is told no name from others, and the same as everybody about their own."""

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given

from maitred.cluster.snapshot import NAMESPACE_NAME, Snapshot
from maitred.cluster.supposing import supposing
from maitred.decide import decide
from maitred.explain.capacity.capacity import capacity
from maitred.explain.group_verdicts import group_verdicts
from maitred.explain.proposal.propose import proposals
from maitred.explain.proposal.supposition import Supposition, gang_objects
from maitred.explain.receipts import victim_words
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.remedies.seeking import explained_plan
from maitred.explain.situation import Situation
from maitred.explain.tenant_words import as_told_at_home, reader_of
from maitred.explain.why.comparing import compare
from maitred.explain.why.evicted import receipt
from maitred.explain.why.names import find
from maitred.explain.why.why import why
from maitred.model.history import History, PastEviction, PastGroup
from maitred.model.manifest import InputError
from maitred.model.meta import Timestamp
from maitred.model.plan import Alternative, Departure, Eviction, Receipt, Record, Toll
from maitred.model.policy import Policy
from maitred.model.protection import NON_PREEMPTIBLE
from maitred.model.queues import Payer
from maitred.model.suspension import SUSPENDED
from tests.explain.tenants import OURS, SECRET, with_strangers
from tests.explain.whys import plan_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.support import NOON, policy_of, read, snapshot_of, state_of

NOW = msgspec.convert(NOON, Timestamp)
WISH = Supposition(gang_objects("wish", "default", 2, 2, {"cpu": "1"}))


def seen(snapshot: Snapshot, history: History | None = None) -> Situation:
    return as_seen_by(Situation(snapshot, Policy(), NOW, None, history or History()), OURS)


def answers(situation: Situation) -> Iterator[Record | str]:
    """Everything that can be said of a scene to someone who has `default` and `other`."""
    yield explained_plan(situation)
    yield capacity(situation)
    yield group_verdicts(situation)
    own = own_groups(situation.snapshot)
    yield from (why(situation, key) for key in own)
    yield from (compare(situation, one, other) for one, other in pairwise(own))
    for pod in own_pods(situation.snapshot):
        yield receipt(situation, pod, "default")
    for wrong in (f"{SECRET}-g1", f"{SECRET}-default/{SECRET}-g1", "g"):
        with pytest.raises(InputError) as problem:
            find(situation, wrong, "default")
        space, _, rest = wrong.partition("/")
        yield str(problem.value).replace(wrong, "").replace(space if rest else wrong, "")


def own_groups(snapshot: Snapshot) -> list[str]:
    keys = [view.group.key for view in snapshot.groups]
    keys += [seated.group.key for seated in snapshot.seated if seated is not None]
    return sorted({key for key in keys if key.partition("/")[0] in OURS})


def own_pods(snapshot: Snapshot) -> list[str]:
    return sorted(one.key for one in snapshot.bound.occupants if one.key.partition("/")[0] in OURS)


def assert_kept(answer: object) -> None:
    assert SECRET not in msgspec.json.encode(answer).decode()


@pytest.mark.slow
@given(clusters(max_groups=4))
@examples(100)
def test_names_of_strangers_are_in_no_answer(objects: list[Obj]) -> None:
    for answer in answers(seen(snapshot_of(with_strangers(objects)))):
        assert_kept(answer)


@given(clusters(max_groups=4))
@examples(25)
def test_names_of_strangers_are_in_no_decision(objects: list[Obj]) -> None:
    assert_kept(plan_of(seen(snapshot_of(with_strangers(objects)))))


@given(clusters(max_groups=4))
@examples(20)
def test_names_of_strangers_are_in_no_plan_of_what_does_not_exist_yet(objects: list[Obj]) -> None:
    snapshot = supposing(state_of(read(with_strangers(objects))), WISH.stand_ins(NOW))
    assert_kept(proposals(seen(snapshot), WISH))


@given(clusters(max_groups=4))
@examples(50)
def test_own_groups_are_decided_as_they_are(objects: list[Obj]) -> None:
    snapshot = snapshot_of(with_strangers(objects))
    veiled, whole = (decide(cluster, Policy(), NOW) for cluster in (seen(snapshot).snapshot, snapshot))
    own = [group for group in whole.groups if SECRET not in group.group]
    assert [(group.group, group.verdict, group.placed) for group in own] == [
        (group.group, group.verdict, group.placed) for group in veiled.groups if "#" not in group.group
    ]
    assert [bind for bind in whole.binds if SECRET not in bind.pod] == [
        bind for bind in veiled.binds if "#" not in bind.pod
    ]
    assert len(whole.binds) == len(veiled.binds)
    assert len(whole.evictions) == len(veiled.evictions)


def test_victims_budgets_and_jobs_of_strangers_have_no_names() -> None:
    """They are what a receipt is full of."""
    objects = [b.node("n0", cpu=2, pods=10), b.node("n1", cpu=2, pods=10)]
    for number in range(2):
        name, labels = f"{SECRET}-{number}", {"app": f"{SECRET}-app"}
        meta = {"name": name, "namespace": f"{SECRET}-team", "uid": name}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
        objects += [
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"parallelism": 1}},
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": meta,
                "spec": {"minAvailable": 2, "selector": {"matchLabels": labels}},
            },
            b.pod(f"{name}-0", node=f"n{number}", cpu=2, namespace=f"{SECRET}-team", labels=labels),
        ]
        objects[-1]["metadata"]["ownerReferences"] = [owner]
    objects.append(b.pod("lone", cpu=2, priority=100))
    situation = seen(snapshot_of(objects))
    [eviction] = plan_of(situation).evictions
    assert eviction.receipt.budgets == ("other#1/#1", "other#1/#3")
    assert eviction.receipt.departure.owner == "Job #1"
    for answer in (*answers(situation), why(situation, "default/lone")):
        assert_kept(answer)


def test_what_happened_to_strangers_is_not_told() -> None:
    toll = Toll()
    stayed = Alternative((f"{SECRET}-a/{SECRET}-g", "default/own"), toll, "costs more")
    gone = Departure("Job own", "delete", True, "Job own creates it again")
    told = Receipt("default/own", "rule", 0, 1, 0.0, None, (), gone, toll, (stayed,))
    own = Eviction("default/own-0", "u", "default/own", f"{SECRET}-a/{SECRET}-g", "Preemption", told)
    past = PastGroup(f"{SECRET}-a/{SECRET}-g", 0.0, 1.0, 2.0, True, 1, 1, 0, ())
    history = History(
        since=0.0,
        groups=[past],
        waits={f"{SECRET}-a/{SECRET}-g": {"Capacity": 1.0}, "default/own": {"Capacity": 2.0}},
        evictions=[
            PastEviction(1.0, own),
            PastEviction(1.0, msgspec.structs.replace(own, pod=f"{SECRET}-a/x")),
        ],
    )
    found = seen(snapshot_of([]), history).history
    assert_kept([found.groups, found.waits, found.evictions])
    assert len(found.groups) == 1
    assert found.waits == {"default/own": {"Capacity": 2.0}}
    [eviction] = found.evictions
    assert eviction.eviction.receipt.alternatives[0].units[1] == "default/own"
    situation = seen(snapshot_of([b.node("n0")]), history)
    answer = receipt(situation, "default/own-0", "default")
    assert answer.evictions
    assert_kept(answer)


def test_whom_an_own_job_made_room_for_is_not_told() -> None:
    """Also where the line on it names them, whoever wrote it."""
    marks = {SUSPENDED: f"suspended: 1 pod made room for {SECRET}-a/{SECRET}-g of priority 100"}
    meta = {"name": "own", "namespace": "default", "uid": "own", "annotations": marks}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"suspend": True}}
    answer = why(seen(snapshot_of([b.node("n0"), job])), "default/own")
    told = msgspec.json.encode(answer).decode()
    assert "made room for something in another namespace of priority 100" in told
    assert_kept(answer)


@pytest.mark.parametrize("chosen", [{"tier": f"{SECRET}-gold"}, {NAMESPACE_NAME: f"{SECRET}-team"}], ids=str)
def test_the_policy_protects_the_same_strangers_whoever_asks(chosen: dict[str, str]) -> None:
    """It chooses their namespaces by words that the reader does not see."""
    space = f"{SECRET}-team"
    snapshot = snapshot_of(
        [
            b.node("n0", cpu=2, pods=10),
            b.namespace(space, {"tier": f"{SECRET}-gold"}),
            b.pod("stays", node="n0", cpu=2, namespace=space, annotations={NON_PREEMPTIBLE: "true"}),
            b.pod("lone", cpu=2, priority=100),
        ]
    )
    for namespaces, verdict in ((chosen, "Waiting"), ({"tier": "iron"}, "Preempting")):
        limits = {"namespaces": {"matchLabels": namespaces}}
        whole = Situation(snapshot, policy_of({"preemption": {"protection": limits}}), NOW)
        told = as_seen_by(whole, OURS)
        assert [situation.decided().groups[0].verdict for situation in (whole, told)] == [verdict] * 2
        assert_kept(told.policy)


def test_queues_and_users_of_strangers_have_no_names_and_are_told_apart() -> None:
    """Who shares a queue with others still does, and the policy calls it so; own ones keep their names."""

    def pod(name: str, namespace: str, **said: str) -> Obj:
        marks = {f"maitred.dev/{key}": value for key, value in said.items()}
        return b.pod(name, cpu=1, node="n", namespace=namespace, annotations=marks)

    spaces = [f"{SECRET}-a", f"{SECRET}-b"]
    theirs = [pod(f"p{i}", one, queue=f"{SECRET}-q", user=f"{SECRET}-u") for i, one in enumerate(spaces)]
    labelled = b.namespace(spaces[0], {"maitred.dev/queue": f"{SECRET}-q"})
    waits = b.pod("w", cpu=9, namespace=spaces[0], annotations={"maitred.dev/queue": f"{SECRET}-q"})
    own = pod("own", "default", queue="mine", user="me")
    parents = {"mine": "ours", "ours": "", f"{SECRET}-q": "", "default": ""}
    select = {"namespaces": {"matchLabels": {"maitred.dev/queue": f"{SECRET}-q"}}}
    queues = [{"name": name, "parent": parent, **select} for name, parent in parents.items()]
    snapshot = snapshot_of([b.node("n", cpu=8), *theirs, labelled, waits, own])
    told = as_seen_by(Situation(snapshot, policy_of({"queues": queues}), NOW), OURS)
    payers = told.snapshot.payers
    first, second, mine = (payers[number] for number in told.snapshot.bound.payer.tolist())
    assert mine == Payer("default", "mine", "me")
    assert (first.queue, first.user) == (second.queue, second.user)
    assert first.namespace != second.namespace
    assert told.snapshot.groups[0].payer == Payer(first.namespace, first.queue)
    assert told.snapshot.namespaces[first.namespace]["maitred.dev/queue"] == first.queue
    assert [one.name for one in told.policy.queues] == ["mine", "ours", first.queue, "default"]
    assert_kept((payers, told.policy, told.snapshot.namespaces, told.snapshot.groups[0].payer))


def test_who_may_see_everything_sees_it_as_it_is() -> None:
    situation = Situation(snapshot_of([]), Policy(), NOW)
    assert as_seen_by(situation, None) is situation


def test_the_head_of_a_strangers_ray_cluster_is_no_surplus_to_those_who_may_not_see_it() -> None:
    """It is the cheapest to lose, and whoever sees its labels knows that the others end with it."""
    nodes = [b.node(f"n{number}", cpu=1) for number in range(3)]
    gang = [b.pod_group("ray", 2, namespace=SECRET)]
    for number in range(3):
        one = b.pod(f"ray-{number}", cpu=1, node=f"n{number}", group="ray", namespace=SECRET, priority=0)
        one["metadata"]["labels"] = {"ray.io/node-type": "worker" if number else "head"}
        one["status"]["startTime"] = "2026-01-31T06:00:00Z" if number else NOON
        gang.append(one)
    urgent = b.pod("urgent", cpu=1, namespace=next(iter(OURS)), priority=9)
    snapshot = snapshot_of([*nodes, *gang, urgent])
    told, true = (
        plan_of(one) for one in (seen(snapshot), Situation(snapshot, Policy(), NOW, None, History()))
    )
    assert [eviction.receipt.unit for eviction in true.evictions] != [f"{SECRET}/ray-0"]
    assert len(told.evictions) == len(true.evictions) == 1
    assert [bind.node for bind in told.nominations] == [bind.node for bind in true.nominations]
    assert [bind.node for bind in true.nominations] != ["n0"]


@pytest.mark.parametrize("fair", [False, True])
def test_a_past_eviction_names_no_queue_of_strangers(fair: bool) -> None:
    """Whose guarantee it was, or whose smaller share, is told as of one that is decided now."""
    mine = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    theirs: Obj = {"name": f"{SECRET}-queue", "namespaces": {"matchLabels": {"team": SECRET}}}
    guarantee = {"resource": b.GPU, "guarantee": 0 if fair else 4}
    rules = {
        "queues": [{**theirs, "limits": [guarantee]}, {"name": "ours", "namespaces": mine}],
        "fairShare": {"reclaim": fair},
    }
    marks = {"maitred.dev/queue": "ours"}
    victims = [b.pod(f"v{n}", gpu=2, node="n", annotations=marks) for n in range(2)]
    wish = b.pod(
        "t", namespace=SECRET, gpu=1 if fair else 4, annotations={"maitred.dev/queue": theirs["name"]}
    )
    spaces = [b.namespace("default"), b.namespace(SECRET, {"team": SECRET})]
    objects = [*spaces, b.node("n", gpu=4), *victims, wish]
    whole = Situation(snapshot_of(objects, rules), policy_of(rules), NOW)
    evictions = whole.decided().evictions
    assert all(f"queue {SECRET}-queue" in one.receipt.rule for one in evictions)
    event = victim_words(evictions[0], reader_of(evictions[0].pod))
    assert_kept(event)
    assert "its queue" in event
    past = History(evictions=[PastEviction(NOW.timestamp(), one) for one in evictions])
    gone = Situation(snapshot_of([*spaces, b.node("n", gpu=4)], rules), policy_of(rules), NOW, None, past)
    answer = receipt(as_seen_by(gone, ("default",)), evictions[0].pod, "default")
    assert_kept(answer)
    assert "queue ours has" in answer.summary
    assert f"queue {SECRET}-queue" in receipt(gone, evictions[0].pod, "default").summary


def test_a_condition_names_no_queue_of_strangers_that_keeps_what_it_has() -> None:
    theirs = {
        "name": f"{SECRET}-queue",
        "lend": "never",
        "namespaces": {"matchLabels": {"team": SECRET}},
        "limits": [{"resource": b.GPU, "guarantee": 4}],
    }
    rules = {"queues": [theirs]}
    whole = Situation(snapshot_of([b.node("n", gpu=4), b.pod("t", gpu=2)], rules), policy_of(rules), NOW)
    [verdict] = plan_of(whole).groups
    assert f"queue {SECRET}-queue lends nothing" in verdict.blockers[0].message
    [told] = as_told_at_home(verdict).blockers
    assert "another queue lends nothing" in told.message
    assert SECRET not in told.message
