"""Trees of groups: a CompositePodGroup with the PodGroups below it is one decision, whatever happens."""

from dataclasses import dataclass

from tests.scenarios.api import eventually
from tests.scenarios.conformance import MUTABLE
from tests.scenarios.objects import RACK, ZONE, Composite, Group, Pods, members, nodes, rack, taken
from tests.scenarios.preempting import Evicted, InAll
from tests.scenarios.preemption import CLASSES, FULL, HIGH, LOW, LOWS, at, ranked
from tests.scenarios.stage import Scenario, Stage, Step
from tests.scenarios.steps import (
    Bound,
    Create,
    Delete,
    NotBound,
    PodsTold,
    Running,
    Settle,
    Told,
    conditions_of,
    notes_about,
)

ROOT = Composite("root", quorum=2)
A, B = (Group(name, quorum=2, parent="root") for name in "ab")
FOUR = (members(A, 2), members(B, 2))


@dataclass(frozen=True)
class TreeTold(Step):
    """What people are told of a tree: in the condition of its composite, and in an Event about that."""

    tree: Composite
    words: str

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        assert stage.served.composites is not None
        told = await conditions_of(stage, stage.served.composites, self.tree.name)
        condition = told.get("CompositePodGroupInitiallyScheduled", {})
        if not str(condition.get("message", "")).startswith(self.words):
            return f"the condition of the composite is {condition}"
        notes = await notes_about(stage, {("CompositePodGroup", self.tree.name)})
        return "" if any(note.startswith(self.words) for note in notes) else f"no such event: {notes}"


TREES = (
    Scenario(
        "a tree of groups starts when all its parts can",
        nodes(1),
        [
            Create(A, B, members(A, 2)),
            PodsTold(members(A, 2), "Waiting: Members", reason="Members"),
            Create(ROOT),
            Settle(),
            NotBound(members(A, 2)),
            Create(members(B, 2)),
            *map(Bound, FOUR),
            TreeTold(ROOT, "Scheduled: 2 of 2 parts placed"),
            *(Told(part, "Scheduled", event=False) for part in FOUR),
        ],
        MUTABLE,
    ),
    Scenario(
        "a tree of groups waits until there is room for its quorum",
        nodes(1),
        [
            Create(taken("n0", cpu=1)),
            Running(taken("n0", cpu=1)),
            Create(ROOT, A, B, *FOUR),
            TreeTold(ROOT, "Waiting: Capacity"),
            *(Told(part, "Waiting: Capacity", event=False) for part in FOUR),
            *map(NotBound, FOUR),
            Delete(taken("n0", cpu=1)),
            *map(Bound, FOUR),
        ],
        MUTABLE,
    ),
    Scenario(
        "each part of a tree within a rack, and all of them within a zone",
        (
            *rack("r1", 2, zone="z1"),
            *rack("r2", 1, zone="z1"),
            *rack("r3", 2, zone="z2"),
            *rack("r4", 2, zone="z2"),
        ),
        [
            Create(
                Composite("root", quorum=2, topology=ZONE),
                *(Group(name, 2, topology=RACK, parent="root") for name in "ab"),
                *FOUR,
            ),
            *map(Bound, FOUR),
            Create(Pods("guest", spec=at("r1-0"))),
            Bound(Pods("guest")),
        ],
        MUTABLE,
    ),
    Scenario(
        "a tree takes the places of pods that rank lower, and its surplus takes none",
        nodes(1, cpu=3),
        [
            *FULL,
            Create(
                Composite("root", quorum=2, rank="high"),
                *(Group(name, 1, rank="high", parent="root") for name in "abc"),
                *(Pods(name, 1, Group(name, 1, parent="root"), spec=ranked(HIGH)) for name in "abc"),
            ),
            Evicted(LOWS, 2),
            Settle(),
            InAll(2),
        ],
        MUTABLE,
    ),
    Scenario(
        "a tree that is disrupted as a whole leaves as a whole",
        nodes(2, cpu=1),
        [
            CLASSES,
            Create(
                Composite("root", quorum=2, rank="low", whole=True),
                *(Group(name, 1, rank="low", parent="root") for name in "ab"),
                *(Pods(name, 1, Group(name, 1, parent="root"), spec=ranked(LOW)) for name in "ab"),
            ),
            *(Running(Pods(name)) for name in "ab"),
            Create(Pods("lone", spec=ranked(HIGH))),
            *(Evicted(Pods(name)) for name in "ab"),
            Bound(Pods("lone")),
        ],
        MUTABLE,
    ),
)

SCENARIOS = TREES
