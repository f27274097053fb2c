"""Preemption: the cases of kube-scheduler, and what victims, nodes and preemptors may do meanwhile."""

from typing import Any

from tests.scenarios.conformance import OBJECTS
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.objects import RACK, Budget, Group, Job, Pods, Rank, members, nodes, rack
from tests.scenarios.preempting import (
    BeforeDeletion,
    Complete,
    Evicted,
    InAll,
    Kept,
    NotSuspended,
    Promised,
    RemovePromised,
    Suspended,
)
from tests.scenarios.stage import Scenario, Step
from tests.scenarios.steps import (
    Bound,
    Create,
    Delete,
    Finished,
    Gone,
    NotBound,
    PodsTold,
    Running,
    Settle,
    Told,
)

LOW, HIGH, TOP = Rank("low", 10), Rank("high", 100), Rank("top", 500)
SHY = Rank("shy", 100, preempts=False)
SLOW = 3.0


def ranked(rank: Rank, **spec: Any) -> dict[str, Any]:
    return {"priorityClassName": rank.name, **spec}


def at(node: str) -> dict[str, Any]:
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def lesser(count: int, name: str = "low", **more: Any) -> Pods:
    """Lone pods of low rank."""
    return Pods(name, count, spec=ranked(LOW), **more)


A = Group("a", quorum=3, rank="high")
THREE = members(A, 3, spec=ranked(HIGH))
LOWS = lesser(3)
CLASSES = Create(LOW, HIGH)
FULL = (CLASSES, Create(LOWS), Running(LOWS))
"""The three CPUs of the only node are taken."""


RANKS = (
    Scenario(
        "a gang takes the places of pods that rank lower",
        nodes(1, cpu=3),
        [
            *FULL,
            Create(A, THREE),
            Evicted(LOWS),
            Bound(THREE),
            Kept(THREE),
            Told(THREE, "Scheduled"),
            Settle(),
            InAll(3),
        ],
    ),
    Scenario(
        "nobody leaves where one of them may not",
        nodes(1, cpu=3),
        [
            CLASSES,
            Create(TOP, lesser(2), Pods("top", spec=ranked(TOP))),
            Running(lesser(2)),
            Running(Pods("top")),
            Create(A, THREE),
            Told(THREE, "Waiting: Capacity"),
            Settle(),
            NotBound(THREE),
            InAll(0),
        ],
    ),
    Scenario(
        "equal rank is not enough",
        nodes(1, cpu=3),
        [
            Create(HIGH, Pods("equal", 3, spec=ranked(HIGH))),
            Running(Pods("equal", 3)),
            Create(A, THREE),
            Told(THREE, "Waiting: Capacity"),
            Settle(),
            InAll(0),
        ],
    ),
    Scenario(
        "who says Never waits",
        nodes(1, cpu=3),
        [
            *FULL,
            Create(SHY, Group("a", 3, rank="shy", never=True), members(A, 3, spec=ranked(SHY))),
            Told(THREE, "Waiting: Capacity"),
            Settle(),
            InAll(0),
        ],
    ),
    Scenario(
        "only as many leave as must",
        nodes(2, cpu=3),
        [
            CLASSES,
            Create(lesser(4)),
            Running(lesser(4)),
            Create(A, THREE),
            Bound(THREE),
            Settle(),
            InAll(1),
        ],
    ),
    Scenario(
        "a lone pod takes the place of one that ranks lower",
        nodes(1, cpu=3),
        [*FULL, Create(Pods("lone", spec=ranked(HIGH))), Bound(Pods("lone")), Settle(), InAll(1)],
    ),
)

BAND = Group("band", quorum=2, rank="low", whole=True)
CREW = Group("crew", quorum=2, rank="low")
RACKED = Group("a", quorum=2, topology=RACK, rank="high")


def leaves_whole(group: Group) -> list[Step]:
    """Two members, one of them in the way of a pod that ranks higher."""
    return [
        CLASSES,
        Create(group, members(group, 2, spec=ranked(LOW))),
        Running(members(group, 2)),
        Create(Pods("lone", spec=ranked(HIGH))),
        Evicted(members(group, 2)),
        Bound(Pods("lone")),
    ]


UNITS = (
    Scenario("a group that is disrupted as a whole", nodes(2, cpu=1), leaves_whole(BAND), only=OBJECTS),
    Scenario("a gang that would fall below its quorum", nodes(2, cpu=1), leaves_whole(CREW)),
    Scenario(
        "a gang with a member to spare",
        nodes(3, cpu=1),
        [
            CLASSES,
            Create(CREW, members(CREW, 3, spec=ranked(LOW))),
            Running(members(CREW, 3)),
            Create(Pods("lone", spec=ranked(HIGH))),
            Bound(Pods("lone")),
            Settle(),
            InAll(1),
        ],
    ),
    Scenario(
        "a budget is kept where it can be",
        nodes(2, cpu=1),
        [
            CLASSES,
            Create(Budget(lesser(1, "web"), least=1), lesser(1, "web"), lesser(1, "batch")),
            Running(lesser(1, "web")),
            Running(lesser(1, "batch")),
            Create(Pods("lone", spec=ranked(HIGH))),
            Evicted(lesser(1, "batch")),
            Bound(Pods("lone")),
            Settle(),
            InAll(1),
        ],
    ),
    Scenario(
        "a budget is no reason to wait",
        nodes(1, cpu=1),
        [
            CLASSES,
            Create(Budget(lesser(1, "web"), least=1), lesser(1, "web")),
            Running(lesser(1, "web")),
            Create(Pods("lone", spec=ranked(HIGH))),
            Evicted(lesser(1, "web")),
            Bound(Pods("lone")),
        ],
    ),
    Scenario(
        "one rack for all, and the others are left alone",
        (*rack("r1", 2), *rack("r2", 2)),
        [
            CLASSES,
            Create(lesser(2, "one"), lesser(2, "two")),
            Running(lesser(2, "one")),
            Running(lesser(2, "two")),
            Create(RACKED, members(RACKED, 2, spec=ranked(HIGH))),
            Bound(members(RACKED, 2), together=RACK),
            Settle(),
            InAll(2),
        ],
    ),
)

WORK = Job("work", 3, Group("work", quorum=3, rank="low"), spec=ranked(LOW))
PLAIN = Job("plain", 3, spec=ranked(LOW), run_seconds=4)
WORKERS = Group("work", 3, rank="low")
BRIEF = members(A, 3, spec=ranked(HIGH), run_seconds=1)
OWNERS = (
    Scenario(
        "a Job is suspended, and resumed when there is room",
        nodes(1, cpu=3),
        [
            CLASSES,
            Create(WORKERS, WORK),
            Running(WORK),
            Create(A, BRIEF),
            Evicted(WORK),
            Suspended(WORK),
            Finished(BRIEF),
            NotSuspended(WORK),
            Running(WORK),
            Settle(),
            InAll(3),
        ],
    ),
    Scenario(
        "a Job that says nothing is suspended whole, comes back, and completes without a failed pod",
        nodes(1, cpu=3),
        [
            CLASSES,
            Create(PLAIN),
            Running(PLAIN),
            Create(A, BRIEF),
            Suspended(PLAIN),
            Finished(BRIEF),
            Complete(PLAIN),
            InAll(3),
        ],
    ),
    Scenario(
        "owners make their pods again, and those wait",
        nodes(1, cpu=3),
        [
            *FULL,
            Create(A, THREE),
            Evicted(LOWS),
            Gone(LOWS),
            Create(LOWS),
            Bound(THREE),
            PodsTold(LOWS, "Waiting: Capacity"),
            Settle(),
            NotBound(LOWS),
            InAll(3),
            Delete(THREE),
            Bound(LOWS),
        ],
    ),
)

LONG = lesser(6, "long")
SLOWLY = ranked(LOW, terminationGracePeriodSeconds=30)
WHOLE = Pods("whole", 2, cpu=3, spec=SLOWLY)
"""A node each, so that it does not matter which has run for a second longer."""
IN_TIME = (
    Scenario(
        "victims take their time, and nobody else has to leave",
        nodes(2, cpu=3),
        [
            CLASSES,
            Create(Pods("long", 6, spec=SLOWLY)),
            Running(LONG),
            Create(A, THREE),
            Evicted(LONG, 3, grace=30),
            Promised(THREE),
            Settle(),
            InAll(3),
            NotBound(THREE),
            Bound(THREE),
            Kept(THREE),
            Settle(),
            InAll(3),
        ],
        stop_seconds=SLOW,
    ),
    Scenario(
        "the promised node is gone",
        nodes(2, cpu=3),
        [
            CLASSES,
            Create(WHOLE),
            Running(WHOLE),
            Create(A, THREE),
            Evicted(WHOLE, 1, grace=30),
            Promised(THREE),
            RemovePromised(THREE),
            Bound(THREE),
            InAll(2),
            Delete(WHOLE),
        ],
        stop_seconds=SLOW,
    ),
    Scenario(
        "the preemptor is gone before its victims are",
        nodes(1, cpu=3),
        [
            *FULL,
            BeforeDeletion(2, Delete(THREE)),
            Create(A, THREE),
            Gone(THREE),
            Settle(),
            Evicted(LOWS, 2),
            Create(lesser(2, "next")),
            Bound(lesser(2, "next")),
            Evicted(LOWS, 2),
        ],
        settings=ONE_BY_ONE,
    ),
    Scenario(
        "the preemptor is gone while its victims leave",
        nodes(1, cpu=3),
        [
            CLASSES,
            Create(Pods("low", 3, spec=SLOWLY)),
            Running(LOWS),
            Create(A, THREE),
            Evicted(LOWS, grace=30),
            Delete(THREE),
            Create(lesser(3, "next")),
            Bound(lesser(3, "next")),
            InAll(3),
        ],
        stop_seconds=SLOW,
    ),
    Scenario(
        "a preemptor of higher rank comes second",
        nodes(1, cpu=1),
        [
            CLASSES,
            Create(TOP, Pods("low", spec=SLOWLY)),
            Running(lesser(1)),
            Create(Pods("lone", spec=ranked(HIGH))),
            Promised(Pods("lone")),
            Create(Pods("top", spec=ranked(TOP))),
            Bound(Pods("top")),
            PodsTold(Pods("lone"), "Waiting: Capacity"),
            Settle(),
            NotBound(Pods("lone")),
            InAll(1),
        ],
        stop_seconds=SLOW,
    ),
)

SCENARIOS = (*RANKS, *UNITS, *OWNERS, *IN_TIME)
