"""The conformance cases of workload-aware scheduling upstream, as far as one Plan can show them.

Nodes have 4 CPUs and pods ask for 1 unless a case says otherwise. What upstream reports as a condition is a
verdict and its first blocker here; cases in two steps (a blocker goes away, a quorum is lowered) are two
lines of the table.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.decide.reading import entry, first, seated, seats, verdict
from tests.oracle.builders import Obj, near, node, pod, pod_group, pods, pvc, storage_class
from tests.support import decide

APIS = ("v1alpha2", "v1alpha3", "v1beta1")
MEMBERS = ["g-0", "g-1", "g-2"]


@dataclass(frozen=True)
class Case:
    objects: Callable[[str], list[Obj]]
    """What is in the cluster, for one version of the API."""
    verdict: str = "Scheduled"
    bound: list[str] = field(default_factory=list)
    blocker: str | None = None


def full_node() -> Obj:
    return node("n1", cpu=4)


def blocker(cpu: int = 2, on: str = "n1", name: str = "blocker", **fields: Any) -> Obj:
    return pod(name, cpu, node=on, created=0, **fields)


def gang(count: int, min_count: int | None = 3, **more: Any) -> Callable[[str], list[Obj]]:
    """A PodGroup ``g`` with ``count`` members that wait on one node of 4."""
    return lambda api: [
        full_node(),
        pod_group("g", min_count, api=api),
        *pods("g", count, 1, group="g", created=1, **more),
    ]


def plus(base: Callable[[str], list[Obj]], *more: Obj) -> Callable[[str], list[Obj]]:
    return lambda api: [*base(api), *more]


def racks(*sizes: int) -> list[Obj]:
    return [node(f"n{i}", cpu=size, rack=f"rack{i}") for i, size in enumerate(sizes, 1)]


def in_racks(sizes: tuple[int, ...], min_count: int | None, *more: Obj) -> Callable[[str], list[Obj]]:
    return lambda api: [
        *racks(*sizes),
        pod_group("g", min_count, topology="rack", api=api),
        *pods("g", 3, 1, group="g"),
        *more,
    ]


APART = [near("hostname", {"app": "g"})]
LINKS: dict[str, Obj] = {
    "v1alpha2": {
        "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "workers"}}
    },
    "v1alpha3": {"workloadRef": {"workloadName": "w", "templateName": "workers"}},
    "v1beta1": {"workloadRef": {"workloadName": "w", "templateName": "workers"}},
}


def from_workload(api: str) -> list[Obj]:
    """A group that was made from a template, with every optional field that its version has."""
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 3}}}
    workload = {
        "apiVersion": f"scheduling.k8s.io/{api}",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "j"},
            "podGroupTemplates": [template],
        },
    }
    group = pod_group("g", 3, api=api, disruption="all", priority=0, spec=LINKS[api])
    group["status"] = {"conditions": [{"type": "PodGroupScheduled", "status": "False"}]}
    return [full_node(), workload, group, *pods("g", 3, 1, group="g")]


def rwop(*claims: str) -> Callable[[str], list[Obj]]:
    """Two members on two nodes, each with the claim of its place in ``claims``."""
    return lambda api: [
        node("n1", cpu=4),
        node("n2", cpu=4),
        storage_class("fast"),
        *(pvc(name, storage_class="fast", modes=["ReadWriteOncePod"]) for name in sorted(set(claims))),
        pod_group("g", 2, api=api),
        *(pod(f"g-{i}", 1, group="g", claims=[name]) for i, name in enumerate(claims)),
    ]


def topology_gangs(first_key: str, second_key: str) -> Callable[[str], list[Obj]]:
    """Two racks of 4 in two zones; rack1 holds one gang of three, not two."""
    return lambda api: [
        node("n1", cpu=4, rack="rack1", zone="z1"),
        node("n2", cpu=4, rack="rack2", zone="z2"),
        pod_group("a", 3, topology=first_key, api=api),
        *pods("a", 3, 1, group="a", created=1),
        pod_group("g", 3, topology=second_key, api=api),
        *pods("g", 3, 1, group="g", created=2),
    ]


ALL_OF_A = ["a-0", "a-1", "a-2"]
CASES: dict[str, Case] = {
    "a whole gang is bound": Case(gang(3), bound=MEMBERS),
    "a gang from a Workload is bound": Case(from_workload, bound=MEMBERS),
    "two of three members wait for the third": Case(gang(2), "Waiting", blocker="Members"),
    "pods wait for their PodGroup": Case(
        lambda api: [full_node(), *pods("g", 3, 1, group="g")], "Waiting", blocker="Members"
    ),
    "pods wait again for a PodGroup that was deleted": Case(
        lambda api: [full_node(), *pods("g", 2, 1, group="g"), pod("old", 1, group="g", node="n1")],
        "Waiting",
        blocker="Members",
    ),
    "a blocker leaves too little room": Case(plus(gang(3), blocker()), "Waiting", blocker="Capacity"),
    "a blocker that has finished leaves its room": Case(
        plus(gang(3), blocker(phase="Succeeded")), bound=MEMBERS
    ),
    "a fourth member joins a running gang": Case(
        lambda api: [
            full_node(),
            pod_group("g", 3, api=api),
            *pods("g", 3, 1, group="g", node="n1"),
            *pods("g", 1, 1, group="g", start=3),
        ],
        bound=["g-3"],
    ),
    "an older pod takes the room of a gang": Case(
        plus(gang(3), pod("older", 2, created=0)), "Waiting", ["older"], "Priority"
    ),
    "a younger pod does not": Case(plus(gang(3), pod("younger", 2, created=2)), bound=MEMBERS),
    "one pod of a basic group is bound": Case(gang(1, None), bound=["g-0"]),
    "more pods of a basic group follow": Case(
        plus(gang(3, None), pod("g-first", 1, group="g", node="n1")), bound=MEMBERS
    ),
    "a basic group is bound as far as it fits": Case(
        plus(gang(3, None), blocker()), bound=["g-0", "g-1"], blocker="Capacity"
    ),
    "a basic group is bound whole once the blocker is gone": Case(gang(3, None), bound=MEMBERS),
    "a lowered minCount is reached": Case(gang(2, 2), bound=["g-0", "g-1"]),
    "a raised minCount is not": Case(gang(3, 4), "Waiting", blocker="Members"),
    "pod and group priority differ": Case(
        lambda api: [full_node(), pod_group("g", 3, api=api, priority=10), *pods("g", 3, 1, group="g")],
        "Invalid",
        blocker="Request",
    ),
    "one member with a priority of its own": Case(
        lambda api: [
            full_node(),
            pod_group("g", 3, api=api, priority=10),
            *pods("g", 2, 1, group="g", priority=10),
            pod("g-2", 1, group="g", priority=11),
        ],
        "Invalid",
        blocker="Request",
    ),
    "one gated member gates a gang": Case(
        lambda api: [
            full_node(),
            pod_group("g", 2, api=api),
            *pods("g", 2, 1, group="g"),
            pod("g-2", 1, group="g", gates=["example.com/wait"]),
        ],
        "Waiting",
        blocker="Gated",
    ),
    "one gated member gates a basic group": Case(
        lambda api: [
            full_node(),
            pod_group("g", api=api),
            *pods("g", 2, 1, group="g"),
            pod("g-2", 1, group="g", gates=["example.com/wait"]),
        ],
        "Waiting",
        blocker="Gated",
    ),
    "members that stay apart find a node each": Case(
        plus(gang(3, labels={"app": "g"}, anti_affinity=APART), node("n2", cpu=4), node("n3", cpu=4)),
        bound=MEMBERS,
    ),
    "members that stay apart need as many nodes": Case(
        gang(3, labels={"app": "g"}, anti_affinity=APART), "Impossible", blocker="Affinity"
    ),
    "two members cannot share a ReadWriteOncePod claim": Case(
        rwop("disk", "disk"), "Impossible", blocker="Volume"
    ),
    "each member has a ReadWriteOncePod claim of its own": Case(
        rwop("disk-0", "disk-1"), bound=["g-0", "g-1"]
    ),
    "only one rack is free for a gang": Case(in_racks((4, 4), 3, blocker(on="n2")), bound=MEMBERS),
    "no rack is free for a gang, though both together are": Case(
        in_racks((4, 4), 3, blocker(on="n1"), blocker(on="n2", name="blocker2")),
        "Waiting",
        blocker="Topology",
    ),
    "no rack is large enough for a gang": Case(in_racks((2, 2), 3), "Impossible", blocker="Topology"),
    "a basic group fills one rack and waits with the rest": Case(
        in_racks((2, 2), None), bound=["g-0", "g-1"], blocker="Topology"
    ),
    "a second gang avoids the rack that the first has filled": Case(
        topology_gangs("rack", "rack"), bound=[*ALL_OF_A, *MEMBERS]
    ),
    "two gangs with different keys": Case(topology_gangs("rack", "zone"), bound=[*ALL_OF_A, *MEMBERS]),
    "nobody of higher priority is evicted": Case(
        lambda api: [
            node("n1", cpu=3),
            blocker(1, priority=500),
            pod_group("g", 3, api=api, priority=100),
            *pods("g", 3, 1, group="g", priority=100),
        ],
        "Waiting",
        blocker="Capacity",
    ),
    "nobody of equal priority is evicted": Case(
        lambda api: [
            node("n1", cpu=3),
            blocker(1, priority=100),
            pod_group("g", 3, api=api, priority=100),
            *pods("g", 3, 1, group="g", priority=100),
        ],
        "Waiting",
        blocker="Capacity",
    ),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_conformance(case: Case, api: str) -> None:
    plan = decide(case.objects(api))
    assert (verdict(plan), seated(plan), first(plan)) == (case.verdict, case.bound, case.blocker)
    assert plan["evictions"] == plan["nominations"] == []


@pytest.mark.parametrize("api", APIS)
def test_a_gang_goes_to_the_rack_that_is_free(api: str) -> None:
    plan = decide(CASES["only one rack is free for a gang"].objects(api))
    assert set(seats(plan).values()) == {"n1"}
    assert entry(plan)["domains"] == {"rack": "rack1"}


@pytest.mark.parametrize("key", ["rack", "zone"])
@pytest.mark.parametrize("api", APIS)
def test_each_of_two_gangs_is_in_one_domain_of_its_key(api: str, key: str) -> None:
    plan = decide(topology_gangs("rack", key)(api))
    assert set(seats(plan, "a").values()) == {"n1"}
    assert set(seats(plan, "g").values()) == {"n2"}
