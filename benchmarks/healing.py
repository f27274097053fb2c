"""One decision when hardware fails at 5,000 nodes: what is lost, what is deleted, and where room is kept."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.clusters import training_cluster
from benchmarks.figures import Figure, Goal, Work, in_turns
from benchmarks.loading import NOW, loaded
from benchmarks.objects import Obj, Template, condition, job_pod, pod_group
from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.model.policy import Policy

REPEATS = 7


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    gangs: int
    members: int
    hurt: int

    @property
    def case(self) -> str:
        return f"{self.hurt} of {self.gangs} gangs × {self.members} lose a node, {self.nodes:,} nodes"


FULL, QUICK = Size(5_000, 500, 8, 50), Size(320, 20, 8, 4)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    hurt, well = (loaded(objects(size, lost)).state.snapshot() for lost in (size.hurt, 0))
    check(hurt, size)
    works = [Work(lambda: decide(hurt, Policy(), NOW)), Work(lambda: decide(well, Policy(), NOW))]
    of_hurt, of_well = (seconds.times(1e3) for seconds in in_turns(works, REPEATS))
    return [
        Figure(size.case, "decide", "ms", of_hurt, goal=Goal(100)),
        Figure(size.case, "decide, when nothing has failed", "ms", of_well),
    ]


def objects(size: Size, hurt: int) -> Iterator[Obj]:
    """Every gang has nodes of its own; of some, the first is lost."""
    for one in training_cluster(size.nodes, random.Random(1), busy=0.0):
        if one["kind"] == "Node" and _is_lost(one["metadata"]["name"], size, hurt):
            silent = [condition("Ready", "Unknown", "NodeStatusUnknown")]
            one["status"] = {**one["status"], "conditions": silent}
        yield one
    for gang in range(size.gangs):
        yield pod_group(f"train-{gang:03}", size.members)
        for index in range(size.members):
            place = f"gpu-{gang * size.members + index:05}"
            yield job_pod(f"train-{gang:03}", index, Template(gpus=8), f"train-{gang:03}", node_name=place)


def _is_lost(name: str, size: Size, hurt: int) -> bool:
    gang, index = divmod(int(name.removeprefix("gpu-")), size.members)
    return index == 0 and gang < hurt


def check(snapshot: Snapshot, size: Size) -> None:
    """A figure for a wrong answer would be worth nothing."""
    plan = decide(snapshot, Policy(), NOW)
    assert len(plan.healing) == size.hurt, "every gang that has lost a node is healed"
    assert sum(hold.pods for hold in plan.holds) == size.hurt, "and room is kept for its member"
