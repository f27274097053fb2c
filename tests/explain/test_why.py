"""Why a group waits: the answer agrees with the decision, and its numbers with brute force."""

from typing import Any

import msgspec
import pytest
from hypothesis import given

from maitred.cluster.trial import Trial
from maitred.decide.ask import ask_of
from maitred.decide.context import Context
from maitred.decide.levels import known_levels
from maitred.explain.why.answer import Waited, Why
from maitred.explain.why.names import find
from maitred.explain.why.nearest import nearest_to
from maitred.explain.why.tables import waited_words, why_lines
from maitred.explain.why.why import why
from maitred.model.history import History
from maitred.model.manifest import InputError
from maitred.model.policy import Policy
from maitred.model.suspension import SUSPENDED
from tests.explain.whys import plan_of, seen_of, situation_of, why_of
from tests.oracle import brute
from tests.oracle import builders as b
from tests.oracle.effort import examples
from tests.oracle.floor import Floor, Table
from tests.oracle.reading import only_group
from tests.oracle.strategies import clusters, one_group
from tests.support import Obj, snapshot_of

RACKS = {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}


def crew(count: int, quorum: int | None = None, level: str | None = None, **fields: Any) -> list[Obj]:
    group = b.pod_group("crew", count if quorum is None else quorum, level, created=0)
    return [group, *b.pods("crew", count, group="crew", **{"created": 0, **fields})]


def racks(*sizes: int, gpu: int = 8) -> list[Obj]:
    return [
        b.node(f"r{rack}-n{number}", gpu=gpu, cpu=64, rack=f"r{rack}")
        for rack, size in enumerate(sizes)
        for number in range(size)
    ]


# -- neighbours ----------------------------------------------------------------------------------------

BLOCKS = {"topology": {"levels": [{"name": "block", "key": b.ZONE}, {"name": "rack", "key": "rack"}]}}


def blocks(*sizes: int) -> list[Obj]:
    """Racks of so many nodes; two of them are a block."""
    return [
        b.node(f"n{number}-r{rack}", cpu=1, rack=f"r{rack}", zone=f"b{rack // 2}")
        for rack, size in enumerate(sizes)
        for number in range(size)
    ]


def rank_lines(answer: Why) -> list[str]:
    lines = [line.plain for line in why_lines(answer, 400)]
    return [line.strip().removeprefix("Ranks").strip() for line in lines if "neighbouring" in line]


def on_nodes(members: list[Obj], *nodes: str) -> list[Obj]:
    for member, node in zip(members, nodes, strict=True):
        member["spec"]["nodeName"], member["status"]["phase"] = node, "Running"
    return members


def test_a_seated_group_is_told_how_many_neighbours_are_apart_and_how_few_it_could_be() -> None:
    answer = why_of([*blocks(2, 2, 2), *crew(6, cpu=1)], policy=BLOCKS)
    told = [
        "2 of 5 neighbouring pairs cross racks; 2 is the least",
        "1 of 5 neighbouring pairs crosses blocks; 1 is the least",
    ]
    assert rank_lines(answer) == told


def test_of_a_running_group_it_is_told_what_a_better_order_would_save() -> None:
    """Also where an index is missing between the members, as 2 is here: 1 and 3 are no neighbours."""
    members = b.pods("crew", 2, 1, group="crew") + b.pods("crew", 2, 1, group="crew", start=3)
    running = on_nodes(members, "n0-r0", "n0-r1", "n1-r0", "n1-r1")
    answer = why_of([*blocks(2, 2), b.pod_group("crew", 4), *running], policy=BLOCKS)
    assert rank_lines(answer) == ["2 of 2 neighbouring pairs cross racks; 0 is the least"]


def test_the_least_is_left_out_where_members_are_not_alike() -> None:
    members = [b.pod(f"crew-{i}", f"{500 + i}m", group="crew", index=i) for i in range(2)]
    running = on_nodes(members, "n0-r0", "n0-r1")
    answer = why_of([*blocks(1, 1), b.pod_group("crew", 2), *running], policy=BLOCKS)
    assert rank_lines(answer) == ["1 of 1 neighbouring pair crosses racks"]


def test_nothing_is_told_of_neighbours_where_all_are_in_one_rack_or_have_no_index() -> None:
    together = why_of([*blocks(3), *crew(3, cpu=1)], policy=BLOCKS)
    assert (rank_lines(together), together.ranks is not None) == ([], True)
    members = [b.pod(f"crew-{i}", 1, group="crew") for i in range(4)]
    assert why_of([*blocks(2, 2), b.pod_group("crew", 4), *members], policy=BLOCKS).ranks is None


# -- laws ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@examples(150)
@given(clusters(max_nodes=5, max_members=5, max_groups=4))
def test_there_is_an_answer_for_every_group_and_it_agrees_with_the_decision(objects: list[Obj]) -> None:
    situation, seen = situation_of(objects), seen_of(objects)
    decided = {group.group: group for group in reversed(plan_of(situation).groups)}
    for key, verdict in decided.items():
        answer = why(situation, key, seen)
        assert (answer.verdict, answer.blockers) == (verdict.verdict, verdict.blockers)
        assert (answer.members, answer.quorum, answer.placed) == (
            verdict.members,
            verdict.quorum,
            verdict.placed,
        )
        assert (answer.on_empty_cluster is not None) == (verdict.verdict == "Impossible")
        assert answer.summary.startswith(f"{key} ")
    for pod in seen.pods:
        key = find(situation, pod.metadata.name, pod.metadata.namespace, "pod", seen)
        check_lines(why(situation, key, seen))


def check_lines(answer: Why) -> None:
    """It survives the journey as JSON, and its table keeps to a terminal."""
    again = msgspec.json.decode(msgspec.json.encode(answer), type=Why)
    assert again == answer
    lines = [line.plain for line in why_lines(again, 80)]
    assert lines[0].startswith(answer.group)
    assert all("\n" not in line for line in lines)


@pytest.mark.slow
@examples(100)
@given(one_group())
def test_the_nearest_places_hold_as_many_as_brute_force_finds(objects: list[Obj]) -> None:
    """Whether or not the group fits: what it would find on the nodes as they are."""
    group = only_group(objects)
    if group is None or not group.open:
        return
    snapshot = snapshot_of(objects)
    (view,) = snapshot.groups
    context = Context(Policy(), known_levels(Policy(), snapshot))
    nearest = nearest_to(Trial.of(snapshot), ask_of(view), context)
    floor = Floor(brute.nodes(objects), [one for one in objects if one["kind"] == "Pod"], objects)
    allowed = [table.name for tables in brute.domains(floor, group, group.running) for table in tables]
    places: dict[str, list[Table]] = {}
    for table in floor.tables:
        place = table.name if group.topology is None else table.labels.get(group.topology)
        if table.name in allowed and place is not None:
            places.setdefault(place, []).append(table)
    held = {
        place: len(brute._search(floor, objects, group.pending, [tables], None))
        for place, tables in places.items()
    }
    told = {place.name: place.holds for place in nearest.places}
    assert told == {place: held[place] for place in told}
    best = sorted(held.values(), reverse=True)[: len(told)]
    assert [place.holds for place in nearest.places] == best


# -- what is said --------------------------------------------------------------------------------------


def test_the_first_sentence_of_a_group_that_no_rack_holds() -> None:
    busy = [b.pod(f"old-{i}", gpu=4, node=f"r0-n{i}") for i in range(3)]
    answer = why_of([*racks(8, 4), *busy, *crew(8, level="rack", gpu=8)], policy=RACKS)
    assert answer.summary == (
        "default/crew waits: it needs room for 3 more members in one rack; the best is r0 "
        "with room for 5 of 8, where r0-n0 lacks 4 nvidia.com/gpu"
    )
    assert answer.nearest is not None
    assert [(place.name, place.nodes, place.holds) for place in answer.nearest.places] == [
        ("r0", 8, 5),
        ("r1", 4, 4),
    ]
    assert answer.nearest.places[0].lacks == {b.GPU: "4"}


def test_places_without_room_come_in_the_order_of_what_they_lack() -> None:
    busy = [b.pod(f"old-{i}", gpu=used, node=f"r{i}-n0") for i, used in enumerate((8, 5, 6))]
    answer = why_of([*racks(1, 1, 1), *busy, *crew(1, level="rack", gpu=4)], policy=RACKS)
    assert answer.nearest is not None
    assert [place.name for place in answer.nearest.places] == ["r1", "r2", "r0"]
    assert [place.lacks[b.GPU] for place in answer.nearest.places] == ["1", "2", "4"]


def test_without_a_level_many_nodes_are_told_by_kind() -> None:
    nodes = [b.node(f"big-{i}", gpu=8, cpu=64) for i in range(6)] + [b.node(f"cpu-{i}") for i in range(6)]
    busy = [b.pod(f"old-{i}", gpu=8, node=f"big-{i}") for i in range(2)]
    answer = why_of([*nodes, *busy, *crew(5, gpu=8)])
    assert answer.nearest is not None
    best, other = answer.nearest.places
    assert (best.name, best.nodes, best.holds) == ("nodes with 8 nvidia.com/gpu", 6, 4)
    assert (other.name, other.nodes, other.holds) == ("other nodes", 6, 0)


def test_a_place_that_turns_members_away_says_why() -> None:
    nodes = [b.node("n0", taints=["team=red:NoSchedule"]), b.node("n1", labels={"disk": "hdd"})]
    full = [b.node("n2", cpu=2, labels={"disk": "ssd"}), b.pod("old", cpu=2, node="n2")]
    answer = why_of([*nodes, *full, *crew(2, cpu=1, where={"disk": "ssd"})])
    assert answer.nearest is not None
    assert {place.name: place.why for place in answer.nearest.places} == {
        "n2": "n2 lacks 1 cpu",
        "n0": "1 node excluded by node selector or affinity",
        "n1": "1 node excluded by node selector or affinity",
    }


def test_members_that_keep_apart() -> None:
    taken = b.pod("old", cpu=1, ports=[80], node="n1")
    answer = why_of([b.node("n0"), b.node("n1"), taken, *crew(2, cpu=1, ports=[80])])
    assert answer.nearest is not None
    assert [place.holds for place in answer.nearest.places] == [1, 0]
    assert answer.nearest.places[1].why == "1 node excluded by host ports"
    assert "the rules between its own members" in answer.nearest.places[0].why


def test_late_members_are_near_their_peers_only() -> None:
    running = [b.pod(f"crew-{i}", gpu=8, group="crew", node=f"r0-n{i}", created=0) for i in range(2)]
    late = b.pod("crew-2", gpu=8, group="crew", created=0)
    answer = why_of([*racks(2, 2), b.pod_group("crew", 2, "rack", created=0), *running, late], policy=RACKS)
    assert (answer.state, answer.verdict) == ("Running", "Scheduled")
    assert answer.nearest is not None
    assert [place.name for place in answer.nearest.places] == ["r0"]
    assert "the other members wait: " in answer.summary


def test_what_is_impossible_is_told_on_the_empty_cluster() -> None:
    busy = [b.pod(f"old-{i}", gpu=8, node=f"r0-n{i}") for i in range(4)]
    answer = why_of([*racks(4), *busy, *crew(8, gpu=8)])
    assert answer.verdict == "Impossible"
    assert answer.blockers[0].detail["free"] == "0"
    assert answer.on_empty_cluster is not None
    assert answer.on_empty_cluster.detail["free"] == "32"
    assert answer.summary == (
        "default/crew can never start as it is written, not even on an empty cluster: needs 64 "
        "nvidia.com/gpu for 8 "
        "members, 32 free on 4 eligible nodes: 4 of 8 would fit"
    )


def test_what_is_impossible_is_told_in_one_way_everywhere() -> None:
    """What others hold, or take first, is no reason why it can never start."""
    busy = [b.pod("old", gpu=8, node="r0-n0")]
    for objects in (
        [*racks(2), *busy, *crew(3, gpu=8)],
        [*racks(1, 1), *busy, *crew(2, None, "rack", gpu=8)],
    ):
        answer = why_of(objects, policy=RACKS)
        assert answer.verdict == "Impossible"
        assert answer.estimate is not None
        assert answer.estimate.words == "never on this cluster"


def test_volumes_are_named_where_they_keep_off_most_nodes() -> None:
    cordoned = b.node("r0-n9", gpu=8, cpu=64, rack="r0", cordoned=True)
    answer = why_of([*racks(2), cordoned, *crew(2, None, "rack", gpu=4, claims=["gone"])], policy=RACKS)
    assert answer.nearest is not None
    (place,) = answer.nearest.places
    assert place.why == "3 nodes excluded by volumes (claim default/gone does not exist)"


def test_company_that_may_still_come_is_no_reason_on_the_empty_cluster() -> None:
    near = [b.near("rack", {"app": "cache"})]
    answer = why_of([*racks(2), *crew(3, gpu=8, affinity=near)])
    assert answer.on_empty_cluster is not None
    assert answer.on_empty_cluster.category == "Capacity"


def test_who_is_ahead_and_by_which_rule() -> None:
    def gang(name: str, created: int, **fields: Any) -> list[Obj]:
        return [
            b.pod_group(name, 2, created=created),
            *b.pods(name, 2, group=name, created=created, **{"gpu": 8, **fields}),
        ]

    objects = [
        *racks(3),
        *gang("high", 9, priority=10),
        *gang("older", 1),
        *gang("alike", 5),
        *gang("zebra", 5),
        *gang("crew", 5),
        *gang("younger", 6),
    ]
    queue = why_of(objects).queue
    assert queue is not None
    assert (queue.turn, queue.of) == (4, 6)
    assert queue.rules == {"priority": 1, "age": 1, "name": 1}
    assert (queue.seated, queue.promised, queue.waiting) == (1, 0, 2)
    assert [(one.group, one.rule) for one in queue.first] == [
        ("default/high", "priority"),
        ("default/older", "age"),
        ("default/alike", "name"),
    ]


def test_who_is_ahead_and_waits_for_others_to_leave_has_no_seats_yet() -> None:
    low = [b.pod("low", gpu=8, node="r0-n0", priority=-5)]
    urgent = [b.pod("urgent", gpu=8, priority=10), b.pod("later", gpu=8, priority=5)]
    answer = why_of([*racks(1), *low, *urgent, *crew(1, gpu=8)])
    queue = answer.queue
    assert queue is not None
    assert (queue.seated, queue.promised, queue.waiting) == (0, 1, 1)
    assert [(one.group, one.verdict) for one in queue.first] == [
        ("default/urgent", "Preempting"),
        ("default/later", "Waiting"),
    ]
    turn = next(line.plain for line in why_lines(answer) if line.plain.startswith("Turn"))
    assert turn.endswith("2 groups ahead (2 by priority); 1 waits for other pods to leave, 1 waits as well")


def test_what_preemption_costs() -> None:
    low = [b.pod(f"low-{i}", gpu=8, node=f"r0-n{i}", priority=0, owner="Job/low") for i in range(2)]
    answer = why_of([*racks(2), *low, *crew(2, gpu=8, priority=10)])
    assert answer.verdict == "Preempting"
    assert answer.preemption is not None
    assert answer.preemption.allowed
    assert (answer.preemption.pods, answer.preemption.nodes) == (2, ("r0-n0", "r0-n1"))
    assert answer.preemption.toll is not None
    assert answer.preemption.toll.pods == 2
    assert answer.summary.startswith("default/crew waits for 2 pods to leave: ")


def test_why_nobody_leaves_for_it() -> None:
    low = [b.pod(f"low-{i}", gpu=8, node=f"r0-n{i}", priority=0) for i in range(2)]
    answer = why_of([*racks(2), *low, *crew(2, gpu=8, priority=10, preemption="Never")])
    assert answer.preemption is not None
    assert (answer.preemption.allowed, answer.preemption.words) == (False, "its preemptionPolicy is Never")


def test_how_long_it_waited_for_what() -> None:
    objects = [*racks(1), *crew(2, gpu=8)]
    silent = why_of(objects)
    assert silent.waited is not None
    assert silent.waited.seconds == 30.5 * 86_400
    assert any("no ledger" in note for note in silent.notes)
    waits = {"default/crew": {"Capacity": 60.0, "Priority": 600.0}}
    told = why_of(objects, history=History(since=0.0, waits=waits))
    assert told.waited is not None
    assert list(told.waited.by.items()) == [("Priority", 600.0), ("Capacity", 60.0)]
    assert not any("no ledger" in note for note in told.notes)


def test_a_group_that_ran_waits_from_when_a_member_was_made_anew() -> None:
    running = b.pod("crew-0", gpu=8, group="crew", node="r0-n0", created=0)
    again = b.pod("crew-2", gpu=9, group="crew")
    again["metadata"]["creationTimestamp"] = "2026-01-31T11:30:00Z"
    waited = why_of([*racks(1), b.pod_group("crew", 2), running, again]).waited
    assert waited is not None
    assert (waited.since, waited.seconds) == ("2026-01-31T11:30:00Z", 1800)


def test_more_nodes_are_not_tried_for_one_with_many_ahead_and_that_is_said() -> None:
    ahead = [b.pod(f"ahead-{i}", gpu=8, created=i) for i in range(6)]
    answer = why_of([b.node("n0", gpu=8), *ahead, b.pod("crew", gpu=8, created=9)])
    assert [note for note in answer.notes if "not tried" in note] == [
        "remedies not tried: more nodes, because more than 4 waiting groups are ahead and would take them "
        "first"
    ]


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (41.0, "42 s, since 2026-01-31T11:59:18Z: 41 s for Capacity, 1 s not recorded"),
        (12.0, "42 s, since 2026-01-31T11:59:18Z: 12 s for Capacity, 30 s not recorded"),
        (41.5, "42 s, since 2026-01-31T11:59:18Z: 42 s for Capacity"),
    ],
)
def test_the_parts_of_a_wait_come_to_the_whole_from_the_first_second_on(recorded: float, words: str) -> None:
    waited = Waited(
        "2026-01-31T11:59:18Z", 42.0, {"Capacity": recorded}, 42.0 - recorded, "2026-01-31T11:00:00Z"
    )
    assert waited_words(waited) == words


def test_a_group_that_fits_now() -> None:
    answer = why_of([*racks(2), *crew(2, level="rack", gpu=8)], policy=RACKS)
    assert (answer.state, answer.verdict) == ("Starting", "Scheduled")
    assert answer.summary == "default/crew fits now: 2 members are placed in rack r0"
    assert answer.placement is not None
    assert answer.placement.nodes == ("r0-n0", "r0-n1")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gates": ["example.com/quota"]}, "have scheduling gates: example.com/quota"),
        ({"priority_class": "gone"}, "is not valid: priority class gone does not exist"),
    ],
)
def test_groups_that_may_not_start(change: dict[str, Any], words: str) -> None:
    answer = why_of([*racks(2), *crew(2, gpu=8, **change)])
    assert words in answer.summary
    assert answer.queue is None
    assert answer.nearest is None


def test_another_scheduler_s_group() -> None:
    answer = why_of([*racks(2), *crew(2, gpu=8)], scheduler="maitred")
    assert (answer.state, answer.verdict) == ("Elsewhere", None)
    assert "name scheduler default-scheduler, so maitred does not schedule them" in answer.summary


# -- not decided any more, or not yet ------------------------------------------------------------------


def test_a_gang_that_is_broken() -> None:
    running = [b.pod(f"crew-{i}", gpu=8, group="crew", node=f"r0-n{i}") for i in range(3)]
    answer = why_of([*racks(4), b.pod_group("crew", 4, created=0), *running])
    assert answer.verdict is None
    assert answer.summary == "default/crew is broken: 3 of its quorum of 4 run, 1 is missing"


def test_a_gang_that_is_broken_by_those_who_leave() -> None:
    running = [b.pod(f"crew-{i}", gpu=8, group="crew", node=f"r0-n{i}", deleted=i < 2) for i in range(3)]
    answer = why_of([*racks(4), b.pod_group("crew", 4, created=0), *running])
    assert (answer.placed, answer.leaving) == (1, 2)
    assert answer.summary == (
        "default/crew is broken: 1 of its quorum of 4 runs, 2 are terminating, 1 is missing"
    )


def job(name: str = "train", suspend: bool = False, annotations: dict[str, str] | None = None) -> Obj:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"parallelism": 4, "completions": 4, "suspend": suspend, "template": {"spec": {}}},
    }


def test_a_job_without_pods() -> None:
    answer = why_of([*racks(1), job()], "default/train")
    assert answer.state == "NoPods"
    assert "the Job controller has created none of 4 pods" in answer.summary


def test_a_job_that_its_user_has_suspended() -> None:
    answer = why_of([*racks(1), job(suspend=True)], "default/train")
    assert answer.state == "Suspended"
    assert "not by maitred" in answer.summary


def test_what_stands_on_a_suspended_job_is_quoted_and_names_no_group() -> None:
    """Its user may have written it."""
    line = '{"group": "default/crew"}\x1b[2J'
    objects = [*racks(1), job(suspend=True, annotations={SUSPENDED: line})]
    answer = why_of(objects, "default/train")
    assert answer.state == "Suspended"
    assert 'its annotation maitred.dev/suspended says: {"group": "default/crew"}\\x1b[2J' in answer.summary
    with pytest.raises(InputError, match="there is no group"):
        find(situation_of(objects), "crew", "default")


def test_a_group_is_known_by_the_template_of_a_suspended_job() -> None:
    away = job(suspend=True)
    away["spec"]["template"]["metadata"] = {"annotations": b.gang("crew", 4)}
    objects = [*racks(1), away]
    assert why_of(objects, find(situation_of(objects), "crew", "default")).state == "Suspended"


def test_a_declared_group_without_pods() -> None:
    objects = [*racks(1), b.pod_group("crew", 4)]
    answer = why_of(objects, seen=seen_of(objects))
    assert (answer.state, answer.quorum) == ("NoPods", 4)


# -- names ---------------------------------------------------------------------------------------------


def test_groups_are_found_by_their_pods_and_jobs() -> None:
    marks = b.gang("crew", 2)
    waiting = [b.pod(f"train-{i}-x7", gpu=8, annotations=marks, owner="Job/train") for i in range(2)]
    lone = b.pod("alone", cpu=1, node="r0-n0", owner="Job/alone-job")
    objects = [*racks(1), *waiting, lone, job(), job("alone-job")]
    situation, seen = situation_of(objects), seen_of(objects)
    assert find(situation, "train-1-x7", "default") == "default/crew"
    assert find(situation, "train", "default", "job") == "default/crew"
    assert find(situation, "train", "default", "job", seen) == "default/crew"
    assert find(situation, "alone", "default") == "default/alone"
    assert find(situation, "alone-job", "default") == "default/alone"


def test_an_unknown_name_suggests_those_that_exist() -> None:
    situation = situation_of([*racks(1), *crew(2, gpu=8)])
    with pytest.raises(InputError, match=r"no group, pod or workload default/crow; did you mean default/cr"):
        find(situation, "crow", "default")
    with pytest.raises(InputError, match=r"in namespace other; did you mean default/crew-1"):
        find(situation, "other/crew-1", "default", "pod")
    with pytest.raises(InputError, match=r"^there is no Job|no job default/nothing$"):
        find(situation, "nothing", "default", "job")


def test_many_groups_ahead_are_named_in_part_and_counted() -> None:
    ahead = [one for n in range(8) for one in b.pods(f"first-{n}", 1, gpu=8, created=n)]
    objects = [*racks(1), *ahead, *b.pods("crew", 1, gpu=8, created=100)]
    answer = why_of(objects, "default/crew-0")
    lines = [line.plain for line in why_lines(answer, 80)]
    section = lines[lines.index("Ahead of it") + 1 :]
    assert section[0].split()[:2] == ["default/first-0-0", "Scheduled"]
    assert section[6].strip() == "and 2 more groups"
