"""What gangs go through on a cluster that does not stand still."""

from maitred.controllers.scheduling.term import SchedulerSettings
from maitred.sandbox.kubelets.bodies import Machine
from tests.scenarios.conformance import OBJECTS, THREE, A, using
from tests.scenarios.objects import RACK, Group, Job, Pods, Storage, members, node, nodes, rack, taken
from tests.scenarios.stage import Scenario
from tests.scenarios.steps import (
    AddNode,
    Bound,
    ConditionStays,
    Crash,
    Create,
    Delete,
    Expire,
    Expired,
    FailNode,
    Finished,
    HealNode,
    Meanwhile,
    NotBound,
    OfferDevices,
    PodsTold,
    Provision,
    RemoveNode,
    Running,
    Settle,
    Start,
    StartServer,
    StopServer,
    Told,
)

B = Group("b", quorum=3)
RACKED = Group("a", quorum=2, topology=RACK)
GPU = "nvidia.com/gpu"
WITH_GPU = {"name": "main", "image": "none", "resources": {"limits": {"cpu": "1", GPU: "1"}}}
ON_GPUS = members(A, 3, spec={"containers": [WITH_GPU]})
ONE_BY_ONE = SchedulerSettings(complete_within_seconds=1.0, binds_in_flight=1)

GANGS = (
    Scenario(
        "two gangs of which one fits",
        nodes(1),
        [
            Create(A, B, *(members(g, 1, first=n, run_seconds=5) for n in range(3) for g in (A, B))),
            Bound(THREE),
            Told(members(B, 3), "Waiting: Capacity"),
            NotBound(members(B, 3)),
            Finished(THREE),
            Bound(members(B, 3)),
        ],
    ),
    Scenario(
        "a condition that was true stays as it was",
        nodes(1),
        [
            Create(A, THREE),
            Told(THREE, "Scheduled"),
            ConditionStays(
                A,
                (
                    Create(members(A, 2, first=3)),
                    Bound(members(A, 5), 4),
                    PodsTold(members(A, 5), "Waiting: Capacity"),
                ),
            ),
        ],
        only=OBJECTS,
    ),
    Scenario(
        "members that disagree with their group on priority",
        nodes(1),
        [
            Create(A, members(A, 3, spec={"priorityClassName": "system-node-critical"})),
            Told(THREE, "Invalid", reason="SchedulerError"),
            NotBound(THREE),
        ],
        only=OBJECTS,
    ),
    Scenario(
        "members that name different schedulers",
        nodes(1),
        [
            Create(A, members(A, 2), members(A, 1, first=2, scheduler="another")),
            Told(members(A, 2), "Invalid", reason="SchedulerError"),
            NotBound(THREE),
        ],
    ),
    Scenario(
        "pods of other schedulers are left alone",
        nodes(1),
        [
            Create(Pods("theirs", scheduler="another"), Pods("ours")),
            Bound(Pods("ours")),
            Settle(),
            NotBound(Pods("theirs")),
        ],
    ),
    Scenario(
        "a late member goes to the rack of those who run",
        (*rack("r1", 3), *rack("r2", 3)),
        [
            Create(RACKED, members(RACKED, 2)),
            Bound(members(RACKED, 2), together=RACK),
            Create(members(RACKED, 1, first=2)),
            Bound(members(RACKED, 3), together=RACK),
            Create(members(RACKED, 1, first=3)),
            PodsTold(members(RACKED, 4), "Waiting: Topology"),
            Delete(members(RACKED, 1)),
            Bound(members(RACKED, 3, first=1), together=RACK),
        ],
    ),
    Scenario(
        "a member that comes while the others are bound",
        nodes(1),
        [
            Meanwhile(2, Create(members(A, 1, first=3))),
            Create(A, THREE),
            Bound(members(A, 4)),
        ],
        settings=ONE_BY_ONE,
    ),
    Scenario(
        "a member that is deleted while the others are bound",
        nodes(2, cpu=2),
        [
            Meanwhile(2, Delete(members(A, 1, first=2))),
            Create(A, THREE),
            Bound(members(A, 2)),
            Create(members(A, 1, first=2)),
            Bound(THREE),
        ],
        settings=ONE_BY_ONE,
    ),
)

PAIR = Group("pair", quorum=2)
LOCAL, MADE = Storage("local", node="n1"), Storage("made", made=True)
WITH_VOLUMES = (
    Create(LOCAL, MADE, PAIR),
    Create(members(PAIR, 1, spec=using("local")), members(PAIR, 1, first=1, spec=using("made"))),
    Provision(MADE),
    Bound(members(PAIR, 2)),
)

VOLUMES = (Scenario("claims that wait for their first consumer", nodes(2, cpu=1), WITH_VOLUMES),)

NODES = (
    Scenario(
        "a node is added",
        nodes(1, cpu=2),
        [
            Create(A, THREE),
            Told(THREE, "Impossible: Capacity"),
            AddNode(node("more")),
            Bound(THREE),
        ],
    ),
    Scenario(
        "a node is gone, and another comes",
        nodes(2, cpu=2),
        [
            Create(A, members(A, 2)),
            Told(members(A, 2), "Waiting: Members", reason="Members"),
            RemoveNode("n1"),
            Create(members(A, 1, first=2)),
            Told(THREE, "Impossible: Capacity"),
            NotBound(THREE),
            AddNode(node("n2", cpu=2)),
            Bound(THREE),
        ],
    ),
    Scenario(
        "a node fails, and recovers",
        nodes(2, cpu=2),
        [
            FailNode("n1"),
            Create(A, THREE),
            Told(THREE, "Waiting: Health"),
            NotBound(THREE),
            HealNode("n1"),
            Bound(THREE),
        ],
    ),
    Scenario(
        "devices fail, and recover",
        (Machine("n0", {"cpu": "8", "memory": "32Gi", GPU: "3"}),),
        [
            OfferDevices("n0", {GPU: "2"}),
            Create(A, ON_GPUS),
            Told(ON_GPUS, "Waiting: Health: it would fit, but 1 of 3 nvidia.com/gpu on n0 is unwell"),
            OfferDevices("n0", {GPU: "0"}),
            NotBound(ON_GPUS),
            OfferDevices("n0", {GPU: "3"}),
            Bound(ON_GPUS),
        ],
    ),
)

SERVERS = (
    Scenario(
        "the server restarts while a gang waits",
        nodes(1),
        [
            Create(A, members(A, 2)),
            Told(members(A, 2), "Waiting: Members", reason="Members"),
            StopServer(),
            StartServer(),
            Create(members(A, 1, first=2)),
            Bound(THREE),
            Expired(),
        ],
    ),
    Scenario(
        "the server restarts while a gang is bound",
        nodes(1),
        [
            Meanwhile(2, StopServer()),
            Create(A, THREE),
            StartServer(),
            Bound(THREE),
            Told(THREE, "Scheduled"),
        ],
        settings=ONE_BY_ONE,
    ),
    Scenario(
        "the server restarts before it is said that a gang is bound",
        nodes(1),
        [
            Meanwhile(1, StopServer(), "status"),
            Create(A, THREE),
            StartServer(),
            Told(THREE, "Scheduled"),
        ],
        only=OBJECTS,
        settings=ONE_BY_ONE,
    ),
    Scenario(
        "the server restarts before it is said why a gang waits",
        nodes(1),
        [
            Meanwhile(1, StopServer(), "status"),
            Create(taken("n0", cpu=2), A, THREE),
            StartServer(),
            Told(THREE, "Waiting: Capacity"),
        ],
    ),
    Scenario(
        "what the watches knew is too old",
        nodes(1),
        [
            Create(taken("n0", cpu=2), A, THREE),
            Told(THREE, "Waiting: Capacity"),
            Expire(),
            Delete(taken("n0", cpu=2)),
            Bound(THREE),
            Expired(),
        ],
    ),
    Scenario(
        "a scheduler that crashed is followed by another",
        nodes(2),
        [
            Create(A, members(A, 2)),
            Told(members(A, 2), "Waiting: Members", reason="Members"),
            Crash(),
            Create(members(A, 1, first=2)),
            Start(),
            Bound(THREE),
            Told(THREE, "Scheduled"),
        ],
    ),
)

JOBS = (
    Scenario(
        "a Job whose template names its gang",
        nodes(1),
        [Create(A, Job("a", 3, A)), Bound(Job("a", 3, A)), Told(Job("a", 3, A), "Scheduled: 3 of 3")],
    ),
    Scenario(
        "a Job that says nothing is one gang",
        nodes(1),
        [
            Create(taken("n0", cpu=2), Job("a", 3)),
            PodsTold(Job("a", 3), "Waiting: Capacity"),
            NotBound(Job("a", 3)),
            Delete(taken("n0", cpu=2)),
            Bound(Job("a", 3)),
        ],
    ),
    Scenario(
        "two Jobs of which one fits, one after the other",
        nodes(1),
        [
            Create(Job("a", 3, run_seconds=1)),
            Bound(Job("a", 3)),
            Create(Job("b", 3)),
            PodsTold(Job("b", 3), "Waiting: Capacity"),
            Finished(Job("a", 3)),
            Bound(Job("b", 3)),
        ],
    ),
    Scenario(
        "others take the room of a Job while it is bound",
        nodes(2, cpu=2),
        [
            Meanwhile(1, Create(taken("n0", cpu=1, name="guest-0"), taken("n1", cpu=1, name="guest-1"))),
            Create(A, Job("a", 3, A)),
            Bound(Job("a", 3), 2),
            Running(Job("a", 2)),
            Delete(taken("n0", cpu=1, name="guest-0")),
            Running(Job("a", 3)),
        ],
        overcommit=True,
    ),
)

SCENARIOS = (*GANGS, *VOLUMES, *NODES, *SERVERS, *JOBS)
