"""Trees of groups: CompositePodGroups with what is below them, as one decision.

Nodes have the CPUs that a case gives them, and pods ask for one. The root of a tree is called ``root``, its
parts ``a``, ``b`` and so on, and their members ``a-0`` and so on.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from maitred.decide import Scope
from maitred.decide.cycle import run
from maitred.decide.verdicts import Verdicts
from maitred.model.meta import Timestamp
from maitred.model.policy import Policy, Search
from maitred.model.rotation import Rotation
from maitred.verify import verify
from tests.decide.reading import categories, detail, entry, first, has, seated, seats, verdict
from tests.oracle.builders import HOSTNAME, RACK, ZONE, Obj, below, composite, node, pod, pod_group, pods
from tests.support import NOON, decide, snapshot_of

BUDGET = 300_000
NOW = msgspec.convert(NOON, Timestamp)


def part(
    name: str,
    quorum: int | None,
    count: int,
    cpu: str | int = 1,
    *,
    of: str = "root",
    topology: str | None = None,
    workload: str = "w",
    group: Obj | None = None,
    **fields: Any,
) -> list[Obj]:
    """A PodGroup in a tree with its pods: a gang of ``quorum``, or basic."""
    spec = below(of, workload)
    shared = {"priority": fields["priority"]} if "priority" in fields else {}
    declared = pod_group(name, quorum, topology, spec=spec, **shared, **(group or {}))
    return [declared, *pods(name, count, cpu, group=name, **fields)]


def checked(objects: list[Obj], **how: Any) -> Obj:
    """The Plan, which holds to all laws and does not depend on the order of the input."""
    plan = decide(objects, **how)
    assert not verify(objects, plan, how.get("policy"))
    assert decide(objects[::-1], **how) == plan
    return plan


def numbers(plan: Obj, group: str) -> tuple[int, int, int]:
    told = entry(plan, group)
    return told["members"], told["quorum"], told["placed"]


def racks(plan: Obj, objects: list[Obj], key: str = RACK) -> dict[str, set[str]]:
    """Part -> the domains that its members were given."""
    labels = {n["metadata"]["name"]: n["metadata"]["labels"] for n in objects if n["kind"] == "Node"}
    found: dict[str, set[str]] = {}
    for name, place in seats(plan).items():
        found.setdefault(name.rpartition("-")[0], set()).add(labels[place][key])
    return found


# ---- all of it or nothing


def test_a_tree_is_seated_whole_and_reported_as_one_group_with_its_parts() -> None:
    objects = [node("n1", cpu=4), composite("root", 2), *part("a", 2, 2), *part("b", 2, 2)]
    plan = checked(objects)
    assert seated(plan, "root") == ["a-0", "a-1", "b-0", "b-1"]
    assert [(e["group"], e["verdict"], e["parent"]) for e in plan["groups"]] == [
        ("default/root", "Scheduled", ""),
        ("default/a", "Scheduled", "default/root"),
        ("default/b", "Scheduled", "default/root"),
    ]
    assert numbers(plan, "root") == (2, 2, 2)
    assert numbers(plan, "a") == (2, 2, 2)


def test_a_tree_whose_quorum_has_no_room_binds_nothing_and_says_which_part_is_short() -> None:
    objects = [
        node("n1", cpu=3),
        composite("root", 2),
        *part("a", 2, 2),
        *part("b", 2, 2),
        pod("x", 1, node="n1"),
    ]
    plan = checked([*objects, node("n2", cpu=2, cordoned=True)])
    assert (seated(plan), verdict(plan, "root"), first(plan, "root")) == ([], "Waiting", "Health")
    assert detail(plan, "Health", "root")["parts"] == [{"part": "default/b", "has": 0, "needs": 2}]
    assert [verdict(plan, name) for name in "ab"] == ["Waiting", "Waiting"]
    assert detail(plan, "Health", "b") == {"tree": "default/root"}


@dataclass(frozen=True)
class Case:
    objects: list[Obj]
    seated: str
    """The members that are bound, by name."""
    verdict: str = "Scheduled"
    blocker: str | None = None


FOUR = node("n1", cpu=4)
TWO = node("n1", cpu=2)
CASES = {
    "as many parts as the quorum of the composite are enough": Case(
        [node("n1", cpu=4), composite("root", 2), *part("a", 2, 2), *part("b", 2, 2), *part("c", 2, 2)],
        "a-0 a-1 b-0 b-1",
    ),
    "a part that does not fit is passed over for one that does": Case(
        [TWO, composite("root", 2), *part("a", 1, 1), *part("b", 1, 1, 8), *part("c", 1, 1)], "a-0 c-0"
    ),
    "a part is seated with its own quorum or not at all": Case(
        [node("n1", cpu=3), composite("root", 1), *part("a", 2, 2), *part("b", 2, 2)], "a-0 a-1"
    ),
    "a basic composite starts with one of its parts": Case(
        [TWO, composite("root"), *part("a", 3, 3), *part("b", 2, 2)], "b-0 b-1"
    ),
    "members above the quorum come after the quorums of all parts": Case(
        [FOUR, composite("root", 2), *part("a", 1, 3), *part("b", 2, 3)], "a-0 a-1 b-0 b-1"
    ),
    "a part of which too few pods exist is no part to start with": Case(
        [FOUR, composite("root", 2), *part("a", 2, 2), *part("b", 2, 1)], "", "Waiting", "Members"
    ),
    "too few parts exist": Case([FOUR, composite("root", 2), *part("a", 2, 2)], "", "Waiting", "Members"),
    "another part is enough where one is incomplete": Case(
        [FOUR, composite("root", 2), *part("a", 2, 1), *part("b", 1, 1), *part("c", 1, 1)], "b-0 c-0"
    ),
    "a composite in a composite counts as one part": Case(
        [
            FOUR,
            composite("root", 2),
            composite("inner", 2, parent="root"),
            *part("a", 1, 1),
            *part("b", 1, 1, of="inner"),
            *part("c", 2, 2, of="inner"),
        ],
        "a-0 b-0 c-0 c-1",
    ),
    "a composite in a composite that cannot be met holds back all": Case(
        [
            node("n1", cpu=3),
            composite("root", 2),
            composite("inner", 2, parent="root"),
            *part("a", 1, 1),
            *part("b", 1, 1, of="inner"),
            *part("c", 2, 2, of="inner"),
        ],
        "",
        "Impossible",
        "Capacity",
    ),
    "one gated member keeps the whole tree": Case(
        [FOUR, composite("root", 1), *part("a", 1, 1), *part("b", 1, 1, gates=["wait"])],
        "",
        "Waiting",
        "Gated",
    ),
    "a composite that does not exist yet is waited for": Case(
        [FOUR, *part("a", 1, 1), *part("b", 1, 1)], "", "Waiting", "Members"
    ),
    "an outer composite that does not exist yet is waited for": Case(
        [FOUR, composite("inner", parent="root"), *part("a", 1, 1, of="inner")], "", "Waiting", "Members"
    ),
    "members that have succeeded count": Case(
        [
            FOUR,
            composite("root", 2),
            *part("a", 2, 1),
            pod("a-9", 1, group="a", phase="Succeeded"),
            *part("b", 1, 1),
        ],
        "a-0 b-0",
    ),
    "members of parts may differ in shape": Case(
        [node("n1", cpu=5), composite("root", 2), *part("a", 1, 1, 4), *part("b", 1, 1, 1)], "a-0 b-0"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_quorums_of_all_levels(case: Case) -> None:
    plan = checked(case.objects)
    assert (seated(plan), verdict(plan, "root")) == (case.seated.split(), case.verdict)
    assert case.blocker is None or first(plan, "root") == case.blocker


def test_what_is_missing_is_said_by_part() -> None:
    objects = [FOUR, composite("root", 2), *part("a", 2, 2), *part("b", 3, 1)]
    plan = checked(objects)
    assert detail(plan, "Members", "root") == {
        "created": 1,
        "quorum": 2,
        "parts": [{"part": "default/b", "has": 1, "needs": 3}],
    }
    assert detail(plan, "Members", "b") == {"created": 1, "quorum": 3}


# ---- late parts and members


def test_late_parts_and_members_of_a_running_tree_join_it() -> None:
    objects = [
        *(node(f"r{r}-n{n}", cpu=2, rack=f"r{r}") for r in (1, 2) for n in (1, 2)),
        composite("root", 1, "rack"),
        *part("a", 1, 2),
        *part("b", 2, 2),
    ]
    running = next(one for one in objects if one["metadata"]["name"] == "a-0")
    running["spec"]["nodeName"] = "r2-n1"
    plan = checked(objects)
    assert racks(plan, objects) == {"a": {"r2"}, "b": {"r2"}}


def test_a_late_part_that_does_not_fit_beside_the_running_ones_waits() -> None:
    objects = [
        node("n1", cpu=1, rack="r1"),
        node("n2", cpu=4, rack="r2"),
        composite("root", 1, "rack"),
        *part("a", 1, 1, node="n1"),
        *part("b", 2, 2),
    ]
    plan = checked(objects)
    assert (seated(plan), verdict(plan, "root"), verdict(plan, "b")) == ([], "Scheduled", "Waiting")
    assert numbers(plan, "root") == (2, 1, 1)
    assert entry(plan, "root")["blockers"]


# ---- topology


def grid(racks: int = 2, nodes: int = 2, cpu: int = 2, zones: int = 1) -> list[Obj]:
    return [
        node(f"z{z}-r{r}-n{n}", cpu=cpu, rack=f"z{z}-r{r}", zone=f"z{z}")
        for z in range(1, zones + 1)
        for r in range(1, racks + 1)
        for n in range(1, nodes + 1)
    ]


def test_all_parts_share_a_domain_of_their_composite() -> None:
    objects = [*grid(), composite("root", 2, "rack"), *part("a", 2, 2), *part("b", 2, 2)]
    found = racks(checked(objects), objects)
    assert found["a"] == found["b"]
    assert len(found["a"]) == 1


def test_each_part_has_its_own_domain_within_that_of_its_composite() -> None:
    objects = [
        *grid(racks=2, nodes=1, cpu=2, zones=2),
        composite("root", 2, "zone"),
        *part("a", 2, 2, topology="rack"),
        *part("b", 2, 2, topology="rack"),
    ]
    plan = checked(objects)
    found, zones = racks(plan, objects), racks(plan, objects, ZONE)
    assert len(found["a"]) == len(found["b"]) == 1
    assert found["a"] != found["b"]
    assert zones["a"] == zones["b"]
    assert len(zones["a"]) == 1
    assert entry(plan, "a")["domains"]["rack"] in found["a"]


def test_room_in_several_domains_is_not_room_for_a_tree_that_needs_one() -> None:
    objects = [
        *grid(racks=2, nodes=1, cpu=2),
        composite("root", 2, "rack"),
        *part("a", 2, 2),
        *part("b", 1, 1),
    ]
    plan = checked(objects)
    assert (seated(plan), verdict(plan, "root"), first(plan, "root")) == ([], "Impossible", "Topology")


def test_a_part_that_fits_no_domain_makes_the_tree_impossible() -> None:
    objects = [
        *grid(racks=3, nodes=1, cpu=2),
        composite("root", 2),
        *part("a", 3, 3, topology="rack"),
        *part("b", 1, 1),
    ]
    plan = checked(objects)
    assert (verdict(plan, "root"), first(plan, "root")) == ("Impossible", "Topology")
    assert [one["part"] for one in detail(plan, "Topology", "root")["parts"]] == ["default/a"]


def test_a_part_without_a_level_leaves_a_whole_rack_to_one_with_a_level() -> None:
    """Seated first where it is tightest, the part without a level would take the only rack for the other."""
    objects = [
        node("n1", cpu=1, rack="r1"),
        node("n2", cpu=2, rack="r2"),
        composite("root", 2),
        *part("a", 1, 1, created=1),
        *part("b", 2, 2, topology="rack", created=2),
    ]
    plan = checked(objects)
    assert (seats(plan)["a-0"], racks(plan, objects)["b"]) == ("n1", {"r2"})


def test_levels_of_three_depths_hold() -> None:
    objects = [
        *grid(racks=2, nodes=2, cpu=2, zones=2),
        pod("blocker", 1, node="z1-r1-n1"),
        composite("root", 2, "zone"),
        composite("inner", 2, "rack", parent="root"),
        *part("a", 2, 2, of="inner", topology="hostname"),
        *part("b", 2, 2, of="inner", topology="hostname"),
        *part("c", 4, 4, topology="rack"),
    ]
    plan = checked(objects)
    assert len(seats(plan)) == 8
    hosts, found = racks(plan, objects, HOSTNAME), racks(plan, objects)
    assert len(hosts["a"]) == len(hosts["b"]) == 1
    assert found["a"] == found["b"]
    assert found["c"] != found["a"]


# ---- what is not valid

INVALID: dict[str, tuple[list[Obj], str]] = {
    "a circle": (
        [composite("root", parent="inner"), composite("inner", parent="root"), *part("a", 1, 1)],
        "circle",
    ),
    "too deep": (
        [
            composite("root"),
            composite("second", parent="root"),
            composite("third", parent="second"),
            composite("fourth", parent="third"),
            *part("a", 1, 1, of="fourth"),
        ],
        "too deep",
    ),
    "another Workload": ([composite("root"), *part("a", 1, 1, workload="other")], "Workload other"),
    "another Workload further up": (
        [
            composite("root"),
            composite("inner", parent="root", workload="other"),
            *part("a", 1, 1, of="inner"),
        ],
        "Workload other",
    ),
    "members of another priority than the root": (
        [composite("root", priority=5), *part("a", 1, 1, priority=7)],
        "priority 5",
    ),
    "parts of different priorities": (
        [composite("root"), *part("a", 1, 1, priority=7), *part("b", 1, 1, priority=8)],
        "different priorities",
    ),
    "a preemption policy that members do not have": (
        [composite("root", preemption="Never"), *part("a", 1, 1)],
        "preemption policy Never",
    ),
    "members that name different schedulers": (
        [composite("root"), *part("a", 1, 1), *part("b", 1, 1, scheduler="other")],
        "different schedulers",
    ),
}


@pytest.mark.parametrize(("objects", "words"), INVALID.values(), ids=INVALID.keys())
def test_a_tree_that_makes_no_sense_is_invalid_as_a_whole(objects: list[Obj], words: str) -> None:
    plan = checked([FOUR, *objects])
    [root] = [one for one in plan["groups"] if not one["parent"]]
    assert (root["verdict"], seated(plan)) == ("Invalid", [])
    assert words in root["blockers"][0]["message"]
    assert {one["verdict"] for one in plan["groups"]} == {"Invalid"}


def test_a_tree_of_four_levels_is_not_too_deep() -> None:
    objects = [
        FOUR,
        composite("root"),
        composite("second", parent="root"),
        composite("third", parent="second"),
        *part("a", 1, 1, of="third"),
    ]
    assert verdict(checked(objects), "root") == "Scheduled"


# ---- order


def test_a_tree_has_its_turn_by_the_age_of_its_oldest_member() -> None:
    objects = [
        TWO,
        pod("early", 1, created=2),
        composite("root", 2),
        *part("a", 1, 1, created=1),
        *part("b", 1, 1, created=9),
    ]
    plan = checked(objects)
    assert (seated(plan), first(plan, "early")) == (["a-0", "b-0"], "Priority")


def test_a_tree_ranks_by_the_priority_of_its_root() -> None:
    objects = [TWO, pod("x", 2, priority=5, created=1), composite("root", 2, priority=9)]
    objects += [*part("a", 1, 1, priority=9, created=8), *part("b", 1, 1, priority=9, created=8)]
    assert seated(checked(objects)) == ["a-0", "b-0"]


# ---- preemption


def low(name: str, on: str, cpu: int = 1) -> Obj:
    return pod(name, cpu, node=on, priority=1, created=0)


def test_room_is_made_for_the_missing_quorum_of_the_whole_tree() -> None:
    objects = [
        *(node(f"n{n}", cpu=2) for n in (1, 2, 3)),
        *(low(f"low-{n}", f"n{n}", 2) for n in (1, 2, 3)),
        composite("root", 2, priority=9),
        *part("a", 1, 1, 2, priority=9),
        *part("b", 1, 2, 2, priority=9),
    ]
    plan = checked(objects)
    assert (verdict(plan, "root"), len(plan["evictions"]), plan["binds"]) == ("Preempting", 2, [])
    assert {one["pod"] for one in plan["nominations"]} == {"default/a-0", "default/b-0"}
    assert {one["for"] for one in plan["evictions"]} == {"default/root"}
    assert [verdict(plan, name) for name in "ab"] == ["Preempting", "Preempting"]


def test_room_is_made_in_the_domains_that_all_levels_ask_for() -> None:
    objects = [
        *grid(racks=2, nodes=1, cpu=2, zones=2),
        low("low-1", "z1-r1-n1", 2),
        pod("high", 1, node="z1-r2-n1", priority=99),
        low("low-3", "z2-r1-n1", 2),
        low("low-4", "z2-r2-n1", 2),
        composite("root", 2, "zone", priority=9),
        *part("a", 2, 2, topology="rack", priority=9),
        *part("b", 2, 2, topology="rack", priority=9),
    ]
    plan = checked(objects)
    assert sorted(one["pod"] for one in plan["evictions"]) == ["default/low-3", "default/low-4"]


def test_parts_above_the_quorum_evict_nobody() -> None:
    objects = [
        *(node(f"n{n}", cpu=1) for n in (1, 2)),
        low("low", "n2"),
        composite("root", 1, priority=9),
        *part("a", 1, 1, priority=9),
        *part("b", 1, 1, priority=9),
    ]
    plan = checked(objects)
    assert (seated(plan), plan["evictions"]) == (["a-0"], [])


def test_a_tree_whose_root_says_never_evicts_nobody() -> None:
    objects = [node("n1", cpu=1), low("low", "n1"), composite("root", 1, priority=9, preemption="Never")]
    plan = checked([*objects, *part("a", 1, 1, priority=9, preemption="Never")])
    assert (verdict(plan, "root"), plan["evictions"]) == ("Waiting", [])
    assert has(detail(plan, first(plan, "root") or "", "root"), preemption="its preemptionPolicy is Never")


def test_a_tree_keeps_the_places_that_it_was_promised_until_it_takes_them() -> None:
    objects = [
        *grid(racks=2, nodes=1, cpu=1),
        composite("root", 2, priority=9),
        *part("a", 1, 1, topology="rack", priority=9),
        *part("b", 1, 1, topology="rack", priority=9),
        pod("equal", 1, priority=9, created=0),
    ]
    for one in objects:
        if one["kind"] == "Pod" and one["metadata"]["name"] in ("a-0", "b-0"):
            place = {"a-0": "z1-r1-n1", "b-0": "z1-r2-n1"}[one["metadata"]["name"]]
            one["status"]["nominatedNodeName"] = place
    plan = checked(objects)
    assert seats(plan) == {"a-0": "z1-r1-n1", "b-0": "z1-r2-n1"}
    assert categories(plan, "equal") == ["Priority"]


def test_evicting_one_part_of_a_tree_that_need_not_leave_whole_leaves_the_others() -> None:
    objects = [
        *(node(f"n{n}", cpu=1) for n in (1, 2)),
        composite("root", 2, priority=1),
        *part("a", 1, 1, priority=1, node="n1"),
        *part("b", 1, 1, priority=1, node="n2"),
        pod("high", 1, priority=9),
    ]
    plan = checked(objects)
    assert len(plan["evictions"]) == 1
    assert plan["evictions"][0]["group"] == "default/root"


# ---- trees of any size


def wide(parts: int, quorum: int | None = None, sizes: tuple[int | str, ...] = (1,)) -> list[Obj]:
    """On 12 nodes with room for 1,200 of the smallest."""
    made = [one for number in range(parts) for one in part(f"p{number}", 1, 1, sizes[number % len(sizes)])]
    nodes = [node(f"n{number}", 100, pods=110) for number in range(12)]
    return [*nodes, composite("root", quorum or parts), *made]


def test_a_tree_may_have_more_parts_than_functions_may_call_each_other() -> None:
    plan = decide(wide(1_100, sizes=(1, "999m")))
    assert verdict(plan, "default/root") == "Scheduled"
    assert len(plan["binds"]) == 1_100


@pytest.mark.parametrize("quorum", [1_000, 600])
def test_a_tree_of_a_thousand_parts_that_are_alike_is_seated_within_the_budget_of_a_cycle(
    quorum: int,
) -> None:
    scope = Scope(rotation=Rotation(BUDGET, ()))
    policy = Policy(search=Search(steps=BUDGET))
    plan = Verdicts(run(snapshot_of(wide(1_000, quorum)), policy, NOW, scope)).plan()
    assert (plan.groups[0].verdict, len(plan.binds)) == ("Scheduled", 1_000)


def test_seats_for_members_that_are_alike_go_to_whole_parts() -> None:
    """Seven seats: two parts of three, which the tree needs, and no part of the third."""
    plan = checked([node("n1", 7), composite("root", 2), *(one for n in "abc" for one in part(n, 3, 3))])
    assert seated(plan) == ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2"]


def test_seats_for_members_that_are_alike_go_to_the_parts_that_take_fewest_first() -> None:
    """Six seats: the two smaller parts make the quorum; the members above it come last."""
    large, small, mean = part("a", 5, 5), part("b", 1, 2), part("c", 3, 3)
    plan = checked([node("n1", 6), composite("root", 2), *large, *small, *mean])
    assert seated(plan) == ["b-0", "b-1", "c-0", "c-1", "c-2"]


def test_a_tree_of_thousands_of_parts_does_not_outlast_the_budget_of_a_cycle() -> None:
    """What is looked at once the budget is used up costs others their time."""
    scope = Scope(rotation=Rotation(BUDGET, ()))
    spent = []
    for parts in (300, 1_100):
        objects = wide(parts, sizes=(1, "999m"))
        verdicts = Verdicts(run(snapshot_of(objects), Policy(search=Search(steps=BUDGET)), NOW, scope))
        assert verdicts.plan().groups[0].verdict == "Waiting"
        spent.append(verdicts.record.context.meter.spent)
    assert spent[1] < 1.5 * spent[0]
