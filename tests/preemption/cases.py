"""Small full clusters where one group must take the place of others: the same for ever from a seed.

Every case has six nodes or more in three racks and eight units or more that could be victims. Half of them
are random. The other half has a trap at its heart, where it goes wrong to take the cheapest unit first, or to
take everybody and give back in order of importance; what is around it is random again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.oracle.builders import Obj, moment, node, pod, pod_group

NOW = 30 * 86400
"""In seconds since the start of 2026."""
RACKS = 3
UNITS = 8
PREEMPTOR = "urgent"
ABOVE = 100
PRIORITIES = (1, 1, 5, 10)
APPS = ("web", "train", "batch")
KINDS = ("lone", "lone", "atomic", "atomic", "gang", "spare", "spare", "basic", "composite", "owned")

Seats = Sequence[tuple[int, int]]
"""Nodes, and how many GPUs of each."""


@dataclass(frozen=True)
class Case:
    seed: int
    twist: str
    objects: list[Obj]
    now: str


@dataclass
class Scene:
    """A cluster as it is being filled. Every unit gets its own name and priority."""

    rng: Random
    size: int
    """GPUs of a node."""
    free: list[int]
    objects: list[Obj] = field(default_factory=list)
    units: int = 0
    apps: tuple[str, ...] = ()
    needs: list[int] = field(default_factory=list)
    """GPUs of each member of the group that waits."""
    rack: bool = False
    fast: bool = False
    """Whether its larger members may only use some of the nodes."""

    def rows(self, rack: int | None = None) -> list[int]:
        return [row for row in range(len(self.free)) if rack is None or row % RACKS == rack]

    def unit(self, kind: str, seats: Seats, priority: int, minutes: int, **more: Any) -> None:
        """Running pods that are one unit, or single ones if they are lone, basic or to spare."""
        name = f"{kind}-{self.units}"
        self.units += 1
        parent = f"{name}-top" if kind == "composite" else None
        marks = more.pop("marks", {})
        if kind != "lone":
            self.objects.append(_group(kind, name, len(seats), priority, more.pop("spare", 1), marks, parent))
        if parent:
            self.objects.append(_composite(parent))
        if kind == "owned":
            self.objects.append(_owner(name))
        for number, (row, gpus) in enumerate(seats):
            self.free[row] -= gpus
            own = pod(
                f"{name}-{number}",
                "1",
                gpu=gpus,
                node=f"n{row}",
                priority=priority,
                group=None if kind == "lone" else name,
                labels={"app": more["app"]} if more.get("app") else None,
                annotations=marks if kind == "lone" else None,
                created=NOW - 60 * minutes - 30,
            )
            own["status"]["startTime"] = moment(NOW - 60 * minutes)
            if kind == "owned":
                own["metadata"]["ownerReferences"] = [_reference(name)]
            self.objects.append(own)

    def seal(self, row: int, gpus: int) -> None:
        """A pod that nobody may evict."""
        self.unit("lone", [(row, gpus)], ABOVE, 1000)
        self.units -= 1
        renamed = self.objects[-1]["metadata"]
        renamed["name"] = renamed["uid"] = f"boss-{len(self.objects)}"

    def budget(self, app: str, allowed: int) -> None:
        self.objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"namespace": "default", "name": f"{app}-budget"},
                "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1},
                "status": {"disruptionsAllowed": allowed},
            }
        )

    def app(self) -> str:
        return self.rng.choice(("", *self.apps, *self.apps))

    def priority(self) -> int:
        return self.rng.choice(PRIORITIES)

    def minutes(self) -> int:
        return self.rng.choice((self.rng.randint(1, 20), self.rng.randint(20, 600)))


def _group(
    kind: str, name: str, members: int, priority: int, spare: int, marks: dict[str, str], parent: str | None
) -> Obj:
    quorum = {"basic": None, "owned": None, "spare": max(1, members - spare)}.get(kind, members)
    return pod_group(
        name,
        quorum,
        disruption="all" if kind == "atomic" else None,
        priority=priority,
        annotations=marks,
        spec={"parentCompositePodGroupName": parent} if parent else None,
    )


def _composite(name: str) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"namespace": "default", "name": name},
        "spec": {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}},
    }


def _owner(name: str) -> Obj:
    """An owner that is suspended with all of its pods, each of which stands alone by its group."""
    meta = {"namespace": "default", "name": name, "uid": f"ray-{name}"}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": {}}


def _reference(name: str) -> Obj:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": name,
        "uid": f"ray-{name}",
        "controller": True,
    }


# ---- what is around


def fill(scene: Scene) -> None:
    """Random units until there are enough and the nodes are full."""
    rng = scene.rng
    while scene.units < UNITS or (sum(scene.free) > scene.size and scene.units < UNITS + 2):
        open_rows = [row for row in scene.rows() if scene.free[row] > 0]
        if not open_rows:
            break
        kind = rng.choice(KINDS)
        count = 1 if kind == "lone" else rng.randint(2, 4)
        seats = []
        left = list(scene.free)
        for _ in range(count):
            rows = [row for row in open_rows if left[row] > 0]
            if not rows:
                break
            row = rng.choice(rows)
            gpus = min(left[row], rng.choice((1, 2, 2, scene.size // 2, scene.size)))
            left[row] -= gpus
            seats.append((row, gpus))
        kind = kind if len(seats) > 1 else "lone"
        scene.unit(kind, seats, scene.priority(), scene.minutes(), app=scene.app(), marks=_marks(scene))
    for row in scene.rows():
        if scene.free[row] and rng.random() < 0.7:
            scene.seal(row, scene.free[row])


def _marks(scene: Scene) -> dict[str, str]:
    """Sometimes a checkpoint, sometimes protection that holds or is over."""
    rng = scene.rng
    at = str(moment(NOW - 60 * rng.randint(1, 120)))
    return rng.choice(
        (
            *({},) * 6,
            {"maitred.dev/last-checkpoint": at},
            {"maitred.dev/checkpoint-interval": f"{rng.choice((15, 30, 60))}m"},
            {"maitred.dev/min-runtime": f"{rng.choice((10, 120))}m"},
            {"maitred.dev/non-preemptible": rng.choice(("true", "false"))},
        )
    )


def preemptor(scene: Scene) -> list[Obj]:
    """The group that waits; sometimes with a member more than its quorum, of which any will do."""
    needs, largest = scene.needs, max(scene.needs)
    members = [*needs, needs[-1]] if scene.rng.random() < 0.2 else needs
    level = "rack" if scene.rack else None
    group = pod_group(PREEMPTOR, len(needs), level, priority=ABOVE, created=NOW - 100)
    waiting = [
        pod(
            f"{PREEMPTOR}-{i}",
            "1",
            gpu=gpus,
            index=i,
            group=PREEMPTOR,
            priority=ABOVE,
            created=NOW - 90,
            where={"speed": "fast"} if scene.fast and gpus == largest else None,
        )
        for i, gpus in enumerate(members)
    ]
    return [group, *waiting]


# ---- the random half, and the traps


def at_random(scene: Scene) -> None:
    rng, size = scene.rng, scene.size
    large = rng.choice((1, 2, size // 2, size // 2, size))
    many = rng.randint(2, 4 if large > 1 else 6)
    scene.needs = [large] * many
    if rng.random() < 0.3:
        small = rng.choice((1, 2))
        scene.needs = [large] * (many // 2 + 1) + [small] * rng.randint(1, 3)
    scene.rack = rng.random() < 0.35
    scene.fast = rng.random() < 0.2


def one_for_many(scene: Scene) -> None:
    """A group across two nodes makes the same room as several lone pods, each of them cheaper than it."""
    rng, half = scene.rng, scene.size // 2
    a, b = rng.sample(scene.rows(rng.randrange(RACKS)), 2)
    each = rng.randint(20, 60)
    pieces = rng.choice((1, 2, half))
    for row in (a, b):
        for _ in range(pieces):
            scene.unit("lone", [(row, half // pieces)], 1, each + rng.randint(-5, 5), app=scene.app())
    scene.unit("atomic", [(a, half), (b, half)], 1, each + rng.randint(-12, 8))
    scene.needs = [half, half]
    scene.rack = rng.random() < 0.5


def overlapping(scene: Scene) -> None:
    """Groups that share nodes in a ring: two neighbours make one whole node free, two others do not."""
    rng, half = scene.rng, scene.size // 2
    ring = rng.sample(scene.rows(), rng.choice((3, 4)))
    for one, other in zip(ring, [*ring[1:], ring[0]], strict=True):
        kind = rng.choice(("atomic", "gang", "composite"))
        scene.unit(kind, [(one, half), (other, half)], rng.choice((1, 1, 5)), rng.randint(10, 90))
    scene.needs = rng.choice(([scene.size], [scene.size, half], [scene.size, half, half], [half] * 3))


def budget_of_one(scene: Scene) -> None:
    """Cheap pods of which one may go, and dearer ones that nobody counts."""
    rng, size = scene.rng, scene.size
    rows = rng.sample(scene.rows(), 4)
    scene.apps = ("web", "train")
    scene.budget("web", 1)
    scene.budget("train", rng.choice((0, 1, 2)))
    for row in rows[:2]:
        scene.unit("lone", [(row, size)], 1, rng.randint(10, 30), app="web")
    for row in rows[2:]:
        scene.unit("lone", [(row, size)], rng.choice((1, 5)), rng.randint(60, 200), app=scene.app())
    scene.needs = [size] * 2


def useless_and_cheap(scene: Scene) -> None:
    """The cheapest pods sit beside one that cannot go, so that no member fits where they are."""
    rng, size = scene.rng, scene.size
    rows = rng.sample(scene.rows(), 4)
    for row in rows[:2]:
        scene.seal(row, size // 2 + 1)
        scene.unit("lone", [(row, size // 2 - 1)], 1, 1)
    scene.unit("atomic", [(row, size // 2) for row in rows[2:]], 5, rng.randint(20, 60))
    for row in rows[2:]:
        scene.unit("lone", [(row, size // 2)], rng.choice((1, 5)), rng.randint(1, 60))
    scene.needs = rng.choice(([size // 2 + 1], [size // 2 + 1] * 2, [size], [size // 2] * 2))


def three_racks(scene: Scene) -> None:
    """The rack is the choice: many small ones, one large one, or one more than a budget allows."""
    rng, half = scene.rng, scene.size // 2
    scene.apps = ("web",)
    scene.budget("web", rng.choice((0, 1)))
    racks = rng.sample(range(RACKS), RACKS)
    first, second, third = ([*scene.rows(rack)][:2] for rack in racks)
    for row in first:
        scene.unit("lone", [(row, half)], 1, rng.randint(1, 40))
    scene.unit("atomic", [(row, half) for row in second], rng.choice((1, 5)), rng.randint(1, 60))
    for row in third:
        scene.unit("lone", [(row, half)], 1, 1, app="web")
    for row in (*first, *second, *third):
        scene.seal(row, scene.size - half)
    scene.needs, scene.rack = [half, half], True


def on_the_edge(scene: Scene) -> None:
    """A gang can spare one member, or two; one more, and all of it goes."""
    rng, half = scene.rng, scene.size // 2
    rows = rng.sample(scene.rows(), 4)
    spare = rng.choice((1, 1, 2))
    scene.unit("spare", [(row, half) for row in rows], rng.choice((1, 1, 5)), rng.randint(5, 50), spare=spare)
    for row in rows:
        scene.unit("lone", [(row, half)], rng.choice((1, 1, 5)), rng.randint(5, 120), app=scene.app())
    scene.needs = rng.choice(([half] * 2, [half] * 3, [scene.size], [scene.size, half]))


def small_change(scene: Scene) -> None:
    """Little work that is nothing by itself and a step when it is lost together."""
    rng, half = scene.rng, scene.size // 2
    for row in rng.sample(scene.rows(), 4):
        scene.unit("lone", [(row, half)], 1, rng.choice((4, 9, 14, 19)) // half + rng.randint(0, 3))
        scene.unit("lone", [(row, scene.size - half)], 1, rng.choice((9, 19, 29)) // half + rng.randint(0, 2))
    scene.needs = [half] * rng.choice((2, 3))


def change_purse(scene: Scene) -> None:
    """Sums: the same room from one and three, from two and two, or from four at once."""
    rng, size = scene.rng, scene.size
    for row in rng.sample(scene.rows(), 2):
        left = size
        while left:
            gpus = min(left, rng.choice((1, 2, 3)))
            scene.unit("lone", [(row, gpus)], rng.choice((1, 1, 5)), rng.randint(5, 60), app=scene.app())
            left -= gpus
    scene.needs = rng.choice(([size - 1], [size // 2] * 2, [size - 1, size // 2], [3]))


TRAPS: tuple[Callable[[Scene], None], ...] = (
    one_for_many,
    overlapping,
    budget_of_one,
    useless_and_cheap,
    three_racks,
    on_the_edge,
    small_change,
    change_purse,
)


def case(seed: int) -> Case:
    """The case of that number. Odd ones are traps."""
    rng = Random(seed)
    size = rng.choice((4, 4, 8))
    count = rng.choice((6, 6, 7, 9))
    scene = Scene(rng, size, [size] * count)
    twist = rng.choice(TRAPS) if seed % 2 else at_random
    twist(scene)
    if not scene.apps and rng.random() < 0.6:
        scene.apps = tuple(rng.sample(APPS, rng.randint(1, 3)))
        for app in scene.apps:
            scene.budget(app, rng.choice((0, 1, 1, 2, 5)))
    fill(scene)
    objects = [*nodes(scene), *scene.objects, *preemptor(scene)]
    return Case(seed, twist.__name__, objects, str(moment(NOW)))


def nodes(scene: Scene) -> list[Obj]:
    """Sometimes the number of pods is what a node runs out of."""
    rng = scene.rng
    homes = [obj["spec"]["nodeName"] for obj in scene.objects if obj["kind"] == "Pod"]
    crowded = rng.random() < 0.15
    return [
        node(
            f"n{row}",
            "64",
            gpu=scene.size,
            pods=homes.count(f"n{row}") + rng.randint(0, 2) if crowded else 110,
            rack=f"r{row % RACKS}",
            labels={"speed": rng.choice(("fast", "fast", "slow"))},
        )
        for row in scene.rows()
    ]
