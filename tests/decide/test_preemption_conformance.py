"""The preemption cases of kube-scheduler 1.37, as far as one Plan can show them.

Where maitred differs by intent the case says so, and docs/compatibility.md says why.
"""

from dataclasses import dataclass, field

import pytest

from tests.decide.preempting import (
    band,
    decided,
    evicted,
    gang,
    lone,
    low,
    nominations,
    party,
    running,
)
from tests.decide.reading import entry, first, seated, verdict
from tests.oracle.builders import (
    Obj,
    below,
    composite,
    near,
    node,
    pod,
    pod_group,
    pods,
    priority_class,
    spread,
)

APIS = ("v1alpha2", "v1alpha3", "v1beta1")
LOWS = ["low-0", "low-1", "low-2"]
N3 = node("n1", cpu=3)
ONES = [node("n1", cpu=1), node("n2", cpu=1), node("n3", cpu=1), node("n4", cpu=1)]
ON_N1: Obj = {"where": {"kubernetes.io/hostname": "n1"}}


@dataclass(frozen=True)
class Case:
    """Who leaves, of all that is in the cluster, and where the members are nominated."""

    objects: list[Obj]
    victims: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    who: str = "g"


@dataclass(frozen=True)
class Spared:
    """Nobody leaves, and the preemptor waits."""

    objects: list[Obj]
    who: str = "g"
    verdict: str = "Waiting"


Cases = dict[str, Case | Spared]

# ---- who ranks lower

PRIORITIES: Cases = {
    "a node full of lower priority": Case([N3, *low(3), *gang(3)], LOWS, ["n1", "n1", "n1"]),
    "one pod of higher priority blocks one of three": Spared(
        [N3, *low(2), running("mid", "n1", priority=500), *gang(3)]
    ),
    "equal priority": Spared([N3, *low(3, priority=100), *gang(3)]),
    "equal priority for one of three": Spared([N3, *low(2), running("mid", "n1", priority=100), *gang(3)]),
    "the lower of two priorities": Case(
        [N3, running("mid", "n1", priority=50), *low(2), *gang(2)], LOWS[:2], ["n1", "n1"]
    ),
    "the lower of two priorities on another node": Case(
        [*ONES[:2], running("mid", "n1", priority=50), *low(1, "n2"), *gang(1)], ["low-0"], ["n2"]
    ),
    "two nodes": Case(
        [node("n1", cpu=2), node("n2", cpu=2), *low(2), *low(2, "n2", name="more"), *gang(4)],
        ["low-0", "low-1", "more-0", "more-1"],
        ["n1", "n1", "n2", "n2"],
    ),
    "one large pod in place of two small ones": Case(
        [node("n1", cpu=2), node("n2", cpu=2), running("big", "n1", 2), *low(1, "n2"), *gang(3)],
        ["big"],
        ["n1", "n1", "n2"],
    ),
    "a group by its PriorityClass": Case(
        [
            priority_class("urgent", 100),
            priority_class("spare", 10),
            N3,
            *low(3, priority=None, priority_class="spare"),
            pod_group("g", 3, priority_class="urgent"),
            *pods("g", 3, 1, group="g", priority_class="urgent"),
        ],
        LOWS,
        ["n1", "n1", "n1"],
    ),
    "a group without a priority has that of its members": Case(
        [N3, *low(3), pod_group("g", 3), *pods("g", 3, 1, group="g", priority=100)],
        LOWS,
        ["n1", "n1", "n1"],
    ),
    "priorities below zero": Case(
        [N3, *low(3, priority=-10), pod_group("g", 3), *pods("g", 3, 1, group="g")], LOWS, ["n1", "n1", "n1"]
    ),
}

# ---- who may preempt at all

POLICIES: Cases = {
    "Never, said by the group and its members": Spared([N3, *low(3), *gang(3, preemption="Never")]),
    "Never, said by the members": Spared(
        [N3, *low(3), pod_group("g", 3), *pods("g", 3, 1, group="g", priority=100, preemption="Never")]
    ),
    "Never, said by the PriorityClass": Spared(
        [
            priority_class("urgent", 100, preemption="Never"),
            N3,
            *low(3),
            pod_group("g", 3, priority_class="urgent"),
            *pods("g", 3, 1, group="g", priority_class="urgent"),
        ]
    ),
    "PreemptLowerPriority, said aloud": Case(
        [N3, *low(3), *gang(3, preemption="PreemptLowerPriority")], LOWS, ["n1", "n1", "n1"]
    ),
    "a lone pod that says Never": Spared([N3, *low(3), lone(preemption="Never")], "lone"),
    "members that disagree": Spared(
        [
            N3,
            *low(3),
            pod_group("g", 2, priority=100),
            *pods("g", 1, 1, group="g", priority=100),
            *pods("g", 1, 1, start=1, group="g", priority=100, preemption="Never"),
        ],
        verdict="Invalid",
    ),
    "a quorum that is not complete": Spared([N3, *low(3), *party(3, 2)]),
    "a gated member": Spared([N3, *low(3), *gang(2), pod("g-2", 1, group="g", priority=100, gates=["x"])]),
    "a gang that no node could ever hold": Spared([N3, *low(3), *gang(1, 4)], verdict="Impossible"),
}

# ---- which units break together

UNITS: Cases = {
    "an atomic group for one seat": Case(
        [N3, *band("v", ["n1"] * 3, 3, disruption="all"), *gang(1)], ["v-0", "v-1", "v-2"], ["n1"]
    ),
    "an atomic basic group for one seat": Case(
        [N3, *band("v", ["n1"] * 3, disruption="all"), *gang(1)], ["v-0", "v-1", "v-2"], ["n1"]
    ),
    "an atomic group also where nobody wants its place": Case(
        [*ONES[:2], *band("v", ["n1", "n2"], disruption="all"), lone(**ON_N1)], ["v-0", "v-1"], ["n1"], "lone"
    ),
    "an atomic group is spared for a lone pod": Case(
        [node("n1", cpu=4), *band("v", ["n1"] * 3, 3, disruption="all"), *low(1), *gang(1)], ["low-0"], ["n1"]
    ),
    "an atomic group of higher rank": Spared(
        [N3, *band("v", ["n1"] * 3, disruption="all", priority=500), *gang(1)]
    ),
    "a basic group loses single members": Case(
        [*ONES[:2], *band("v", ["n1", "n2"]), lone(**ON_N1)], ["v-0"], ["n1"], "lone"
    ),
    "of two atomic groups the lower": Case(
        [
            *ONES[:2],
            *band("mid", ["n1"], disruption="all", priority=50),
            *band("v", ["n2"], disruption="all"),
            *gang(1),
        ],
        ["v-0"],
        ["n2"],
    ),
    "an atomic group that would not be enough": Spared(
        [N3, running("top", "n1", priority=500), *band("v", ["n1"] * 2, disruption="all"), *gang(3)]
    ),
    "an atomic group and a lone pod": Case(
        [*ONES[:3], *band("v", ["n1", "n2"], 1, disruption="all", priority=50), *low(1, "n3"), *gang(3)],
        ["low-0", "v-0", "v-1"],
        ["n1", "n2", "n3"],
    ),
    "a gang with members to spare loses those": Case(
        [*ONES[:3], *band("v", ["n1", "n2", "n3"], 2), lone(**ON_N1)], ["v-0"], ["n1"], "lone"
    ),
    # Upstream takes a single member here, and leaves a gang that cannot work.
    "a gang at its quorum leaves whole": Case(
        [*ONES[:3], *band("v", ["n1", "n2", "n3"], 3), lone(**ON_N1)], ["v-0", "v-1", "v-2"], ["n1"], "lone"
    ),
    "two of a gang that can spare one": Case(
        [*ONES[:3], *band("v", ["n1", "n2", "n3"], 2), *gang(2)], ["v-0", "v-1", "v-2"]
    ),
    "a member that has succeeded counts for the quorum": Case(
        [
            *ONES[:3],
            *band("v", ["n1", "n2", "n3"], 2),
            running("v-done", "n4", group="v", phase="Succeeded"),
            *gang(2),
        ],
        ["v-0", "v-1"],
    ),
    "a gang that leaves whole costs more than two lone pods": Case(
        [*ONES, *band("v", ["n1", "n2", "n3"], 3), *low(1, "n4"), *gang(1)], ["low-0"], ["n4"]
    ),
}

# ---- trees of groups

TREES: Cases = {
    "a tree that is disrupted as a whole": Case(
        [
            *ONES[:3],
            composite("root", disruption="all"),
            *band("v", ["n1", "n2"], spec=below("root")),
            *band("w", ["n3"], spec=below("root")),
            lone(**ON_N1),
        ],
        ["v-0", "v-1", "w-0"],
        ["n1"],
        "lone",
    ),
    "a tree that is not": Case(
        [
            *ONES[:3],
            composite("root", disruption="single"),
            *band("v", ["n1", "n2"], spec=below("root")),
            *band("w", ["n3"], spec=below("root")),
            lone(**ON_N1),
        ],
        ["v-0"],
        ["n1"],
        "lone",
    ),
    "the highest ancestor that says so": Case(
        [
            *ONES[:3],
            composite("root", disruption="all"),
            composite("branch", parent="root"),
            *band("v", ["n1", "n2"], spec=below("branch")),
            *band("w", ["n3"], spec=below("root")),
            lone(**ON_N1),
        ],
        ["v-0", "v-1", "w-0"],
        ["n1"],
        "lone",
    ),
    "a branch that is disrupted as a whole": Case(
        [
            *ONES[:3],
            composite("root", disruption="single"),
            composite("branch", parent="root", disruption="all"),
            *band("v", ["n1", "n2"], spec=below("branch")),
            *band("w", ["n3"], spec=below("root")),
            lone(**ON_N1),
        ],
        ["v-0", "v-1"],
        ["n1"],
        "lone",
    ),
    "a parent that is gone": Case(
        [*ONES[:2], *band("v", ["n1", "n2"], spec=below("gone")), lone(**ON_N1)], ["v-0"], ["n1"], "lone"
    ),
    "the lower of two trees": Case(
        [
            node("n1", cpu=2),
            composite("lesser", priority=10),
            composite("greater", priority=20),
            *band("v", ["n1"], spec=below("greater"), priority=20),
            *band("w", ["n1"], spec=below("lesser")),
            *gang(1),
        ],
        ["w-0"],
        ["n1"],
    ),
    "the rank of a tree is that of its root": Spared(
        [ONES[0], composite("root", priority=200), *band("v", ["n1"], spec=below("root")), *gang(1)]
    ),
}

# ---- lone pods against groups, and groups against their own pods

RANKS: Cases = {
    "a group that ranks higher than its pods": Spared(
        [ONES[0], pod_group("v", 1, priority=200), running("v-0", "n1", group="v"), lone()], "lone"
    ),
    "a group that ranks lower than its pods": Case(
        [ONES[0], pod_group("v", 1, priority=10), running("v-0", "n1", group="v", priority=500), lone()],
        ["v-0"],
        ["n1"],
        "lone",
    ),
    "each pod of a group at odds with itself stands for itself": Case(
        [
            *ONES[:2],
            pod_group("v", 2),
            running("v-0", "n1", group="v"),
            running("v-1", "n2", group="v", priority=200),
            lone(),
        ],
        ["v-0"],
        ["n1"],
        "lone",
    ),
    "an atomic group of lower rank": Case(
        [N3, *band("v", ["n1"] * 3, disruption="all"), lone(2)], ["v-0", "v-1", "v-2"], ["n1"], "lone"
    ),
}

# ---- only the quorum evicts

OLD_AND_YOUNG = [running("old", "n1"), running("young", "n1", started=1)]
QUORUMS: Cases = {
    "free room is used first": Case([N3, *OLD_AND_YOUNG, *gang(2)], ["young"], ["n1", "n1"]),
    # Upstream makes room for as many members as it can.
    "surplus of a gang": Case([node("n1", cpu=2), *OLD_AND_YOUNG, *party(1, 3)], ["young"], ["n1"]),
    "surplus of a basic group": Case([node("n1", cpu=2), *OLD_AND_YOUNG, *party(None, 3)], ["young"], ["n1"]),
}

# ---- what else can be in the way

CONSTRAINTS: Cases = {
    "anti-affinity": Case(
        [
            node("n1", cpu=8),
            *low(1, labels={"app": "noisy"}),
            *low(1, name="quiet"),
            *gang(2, anti_affinity=[near("hostname", {"app": "noisy"})]),
        ],
        ["low-0"],
        ["n1", "n1"],
    ),
    "the anti-affinity of the victim": Case(
        [
            node("n1", cpu=8),
            *low(1, anti_affinity=[near("hostname", {"app": "g"})]),
            *gang(1, labels={"app": "g"}),
        ],
        ["low-0"],
        ["n1"],
    ),
    "anti-affinity to a pod that stays": Spared(
        [
            node("n1", cpu=8),
            *low(1, labels={"app": "noisy"}, priority=500),
            *gang(2, anti_affinity=[near("hostname", {"app": "noisy"})]),
        ]
    ),
    "a host port": Case(
        [node("n1", cpu=8), *low(1, ports=[80]), *low(1, name="quiet"), *gang(1, ports=[80])],
        ["low-0"],
        ["n1"],
    ),
    "spread": Case(
        [
            node("n1", cpu=8),
            node("n2", cpu=8),
            *low(1, labels={"app": "g"}),
            *low(1, "n2", name="other", labels={"app": "g"}, priority=5),
            *gang(
                2,
                labels={"app": "g"},
                spread=[spread("hostname", {"app": "g"}, skew=2, min_domains=10)],
                **ON_N1,
            ),
        ],
        ["low-0"],
        ["n1", "n1"],
    ),
    "a node selector": Case(
        [*ONES[:2], *low(1), *low(1, "n2", name="more"), *gang(1, **ON_N1)], ["low-0"], ["n1"]
    ),
    "a taint that no eviction lifts": Spared(
        [node("n1", cpu=1, taints=["team=other:NoSchedule"]), *low(1, tolerations=["*"]), *gang(1)],
        verdict="Impossible",
    ),
    "a cordoned node": Spared([node("n1", cpu=1, cordoned=True), *low(1), *gang(1)]),
    "a full list of pods": Case([node("n1", cpu=8, pods=1), *low(1), *gang(1)], ["low-0"], ["n1"]),
}

# ---- one domain for all

RACKED: Obj = {"group": {"topology": "rack"}}
RACKS = [node(f"n{i}", cpu=1, rack=f"rack{(i + 1) // 2}") for i in range(1, 5)]
TOPOLOGY: Cases = {
    "one rack": Case(
        [*RACKS[:2], *low(1), *low(1, "n2", name="more"), *gang(2, **RACKED)],
        ["low-0", "more-0"],
        ["n1", "n2"],
    ),
    "the rack that can be had": Case(
        [
            *RACKS,
            *low(1),
            *low(1, "n2", name="more"),
            *(running(f"top-{i}", f"n{i}", priority=200) for i in (3, 4)),
            *gang(2, **RACKED),
        ],
        ["low-0", "more-0"],
        ["n1", "n2"],
    ),
    # Upstream chooses a domain by its score, before it looks at what that costs.
    "the rack that costs less": Case(
        [
            *RACKS,
            *(running(f"mid-{i}", f"n{i}", priority=50) for i in (1, 2)),
            *low(1, "n3"),
            *gang(2, **RACKED),
        ],
        ["low-0"],
        ["n3", "n4"],
    ),
    "no rack as a whole": Spared(
        [
            *RACKS,
            *(running(f"low-{i}", f"n{i}") for i in (1, 3)),
            *(running(f"top-{i}", f"n{i}", priority=200) for i in (2, 4)),
            *gang(2, **RACKED),
        ]
    ),
    "the rack of the members that run": Case(
        [
            *RACKS,
            pod_group("g", 2, "rack", priority=100),
            running("g-0", "n1", group="g", priority=100),
            *low(1, "n2"),
            *low(1, "n3", name="cheap", priority=1),
            *pods("g", 1, 1, start=1, group="g", priority=100),
        ],
        ["low-0"],
        ["n2"],
    ),
}

KINDS = {
    "priority": PRIORITIES,
    "policy": POLICIES,
    "units": UNITS,
    "trees": TREES,
    "ranks": RANKS,
    "quorum": QUORUMS,
    "constraints": CONSTRAINTS,
    "topology": TOPOLOGY,
}
CASES = {f"{kind}: {name}": case for kind, cases in KINDS.items() for name, case in cases.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_preemption(case: Case | Spared) -> None:
    plan = decided(case.objects)
    assert seated(plan, case.who) == []
    assert first(plan, case.who) is not None, "whoever is not scheduled is told why"
    if isinstance(case, Spared):
        assert (verdict(plan, case.who), evicted(plan), nominations(plan)) == (case.verdict, [], {})
        return
    assert (verdict(plan, case.who), evicted(plan, case.who)) == ("Preempting", case.victims)
    assert evicted(plan) == case.victims, "nobody leaves for anybody else"
    assert len(nominations(plan)) == entry(plan, case.who)["quorum"] - entry(plan, case.who)["placed"]
    if case.nodes:
        assert sorted(nominations(plan).values()) == case.nodes


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("mode", "victims"), [("all", 2), ("single", 1)])
def test_disruption_modes_of_every_version(api: str, mode: str, victims: int) -> None:
    objects = [*ONES[:2], *band("v", ["n1", "n2"], disruption=mode, api=api), *gang(1, group={"api": api})]
    assert len(evicted(decided(objects))) == victims
