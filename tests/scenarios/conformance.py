"""The cases of kube-scheduler's own tests, preemption and composite groups left out."""

from tests.scenarios.objects import RACK, ZONE, Group, Pods, Storage, members, node, nodes, rack, taken
from tests.scenarios.stage import Scenario
from tests.scenarios.steps import (
    Bound,
    Create,
    Delete,
    Gone,
    NotBound,
    SetQuorum,
    Settle,
    Told,
    Ungate,
)

OBJECTS = frozenset({"v1beta1", "v1alpha3", "v1alpha2"})
MUTABLE = frozenset({"v1beta1", "v1alpha3"})

A = Group("a", quorum=3)
BASIC = Group("a")
THREE = members(A, 3)
GUEST = taken("n0", cpu=2)
GATED = {"schedulingGates": [{"name": "example.com/wait"}]}
RACKED = Group("a", quorum=3, topology=RACK)


def apart(pods: Pods) -> dict[str, object]:
    """No two of the pods on one node."""
    term = {
        "labelSelector": {"matchLabels": {"app": pods.name}},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def using(claim: str) -> dict[str, object]:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


QUORUM = (
    Scenario(
        "a whole gang is bound",
        nodes(1),
        [Create(A, THREE), Bound(THREE), Told(THREE, "Scheduled: 3 of 3")],
    ),
    Scenario(
        "two of three wait for the third",
        nodes(1),
        [
            Create(A, members(A, 2)),
            Told(members(A, 2), "Waiting: Members", reason="Members"),
            NotBound(members(A, 2)),
            Create(members(A, 1, first=2)),
            Bound(THREE),
            Told(THREE, "Scheduled"),
        ],
    ),
    Scenario(
        "pods wait for their group object",
        nodes(1),
        [
            Create(THREE),
            Settle(),
            NotBound(THREE),
            Create(A),
            Bound(THREE),
        ],
        only=OBJECTS,
    ),
    Scenario(
        "room is made for a gang that waits",
        nodes(1),
        [
            Create(GUEST, A, THREE),
            Told(THREE, "Waiting: Capacity"),
            NotBound(THREE),
            Delete(GUEST),
            Bound(THREE),
            Told(THREE, "Scheduled"),
        ],
    ),
    Scenario(
        "a fourth member joins a gang of three",
        nodes(1),
        [Create(A, THREE), Bound(THREE), Create(members(A, 1, first=3)), Bound(members(A, 4))],
    ),
    Scenario(
        "a pod that was there first is bound, the gang waits",
        nodes(1),
        [
            Create(Pods("lone", cpu=2)),
            Bound(Pods("lone")),
            Create(A, THREE),
            Told(THREE, "Waiting: Capacity"),
            NotBound(THREE),
        ],
    ),
    Scenario(
        "members of a basic group do not wait for each other",
        nodes(1),
        [
            Create(BASIC, members(BASIC, 1)),
            Bound(members(BASIC, 1)),
            Create(members(BASIC, 2, first=1)),
            Bound(members(BASIC, 3)),
        ],
    ),
    Scenario(
        "of a basic group those who fit are bound",
        nodes(1),
        [
            Create(GUEST, BASIC, members(BASIC, 3)),
            Bound(members(BASIC, 3), 2),
            Delete(GUEST),
            Bound(members(BASIC, 3)),
        ],
    ),
    Scenario(
        "a lower quorum lets a gang go",
        nodes(1),
        [
            Create(A, members(A, 2)),
            Told(members(A, 2), "Waiting: Members", reason="Members"),
            SetQuorum(A, 2),
            Bound(members(A, 2)),
        ],
        only=MUTABLE,
    ),
    Scenario(
        "a higher quorum keeps a gang waiting",
        nodes(1),
        [
            Create(A, members(A, 2)),
            Told(members(A, 2), "Waiting: Members", reason="Members"),
            SetQuorum(A, 4),
            Settle(),
            Create(members(A, 1, first=2)),
            Settle(),
            NotBound(THREE),
            Create(members(A, 1, first=3)),
            Bound(members(A, 4)),
        ],
        only=MUTABLE,
    ),
    Scenario(
        "one gated member keeps all waiting",
        nodes(1),
        [
            Create(A, members(A, 1, first=2, spec=GATED), members(A, 2)),
            Told(members(A, 2), "Waiting: Gated", reason="Gated"),
            NotBound(THREE),
            Ungate(members(A, 1, first=2)),
            Bound(THREE),
        ],
    ),
    Scenario(
        "one gated member keeps a basic group waiting",
        nodes(1),
        [
            Create(BASIC, members(BASIC, 1, first=2, spec=GATED), members(BASIC, 2)),
            Told(members(BASIC, 2), "Waiting: Gated", reason="Gated"),
            NotBound(members(BASIC, 3)),
            Ungate(members(BASIC, 1, first=2)),
            Bound(members(BASIC, 3)),
        ],
    ),
    Scenario(
        "pods whose group is deleted wait for it again",
        nodes(1),
        [
            Create(GUEST, A, THREE),
            Told(THREE, "Waiting: Capacity"),
            Delete(A),
            Settle(),
            Delete(GUEST),
            Gone(GUEST),
            Settle(),
            NotBound(THREE),
            Create(A),
            Bound(THREE),
        ],
        only=OBJECTS,
    ),
)

CONSTRAINTS = (
    Scenario(
        "members that avoid each other have a node each",
        nodes(3),
        [
            Create(A, members(A, 3, spec=apart(THREE))),
            Bound(THREE),
        ],
    ),
    Scenario(
        "members that avoid each other do not share the only node",
        nodes(1),
        [
            Create(A, members(A, 3, spec=apart(THREE))),
            Told(THREE, "Impossible: Affinity", reason="Impossible"),
            NotBound(THREE),
        ],
    ),
    Scenario(
        "members with a claim each",
        nodes(1),
        [
            Create(Group("a", 2), Storage("one"), Storage("two")),
            Create(members(Group("a", 2), 1, spec=using("one"))),
            Create(members(Group("a", 2), 1, first=1, spec=using("two"))),
            Bound(members(Group("a", 2), 2)),
        ],
    ),
    Scenario(
        "members that want the same claim for themselves",
        nodes(1),
        [
            Create(Group("a", 2), Storage("one"), members(Group("a", 2), 2, spec=using("one"))),
            Told(members(Group("a", 2), 2), "Impossible: Volume", reason="Impossible"),
            NotBound(members(Group("a", 2), 2)),
        ],
    ),
)

TOPOLOGY = (
    Scenario(
        "a gang goes to the rack that has room",
        (*rack("r1", 3), *rack("r2", 3)),
        [
            Create(taken("r2-0", cpu=1), RACKED, members(RACKED, 3)),
            Bound(members(RACKED, 3), on={RACK: "r1"}),
        ],
    ),
    Scenario(
        "no rack has room for a gang that the cluster has room for",
        (*rack("r1", 2), *rack("r2", 2)),
        [
            Create(RACKED, members(RACKED, 3)),
            Told(members(RACKED, 3), "Impossible: Topology", reason="Impossible"),
            NotBound(members(RACKED, 3)),
        ],
    ),
    Scenario(
        "of a basic group one rack is filled, and the rest waits for it",
        (*rack("r1", 2), *rack("r2", 2)),
        [
            Create(Group("a", topology=RACK), members(Group("a", topology=RACK), 3)),
            Bound(members(Group("a", topology=RACK), 3), 2, together=RACK),
            Settle(),
            Bound(members(Group("a", topology=RACK), 3), 2, together=RACK),
        ],
    ),
    Scenario(
        "the second gang goes to the other rack",
        (*rack("r1", 3), *rack("r2", 3)),
        [
            Create(RACKED, members(RACKED, 3)),
            Bound(members(RACKED, 3), together=RACK),
            Create(Group("b", 3, RACK), members(Group("b", 3, RACK), 3)),
            Bound(members(Group("b", 3, RACK), 3), together=RACK),
        ],
    ),
    Scenario(
        "gangs that name different levels get their own",
        (
            *rack("r1", 2, zone="z1"),
            *rack("r2", 2, zone="z1"),
            *(node(f"z2-{n}", 1, rack=f"r{n + 3}", zone="z2") for n in range(2)),
        ),
        [
            Create(Group("a", 4, ZONE), members(Group("a", 4, ZONE), 4)),
            Bound(members(Group("a", 4, ZONE), 4), on={ZONE: "z1"}),
            Create(Group("b", 2, RACK), members(Group("b", 2, RACK), 2)),
            Told(members(Group("b", 2, RACK), 2), "Waiting: Topology"),
            Delete(members(Group("a", 4, ZONE), 4)),
            Bound(members(Group("b", 2, RACK), 2), together=RACK),
        ],
    ),
)

SCENARIOS = (*QUORUM, *CONSTRAINTS, *TOPOLOGY)
