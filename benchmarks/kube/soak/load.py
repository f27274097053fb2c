"""Who comes: Jobs of three priorities for maitred, and lone pods for kube-scheduler, by a seed.

There is always a little more of low priority than there is room for, so that whoever ranks higher must evict.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maitred.kube.resources import JOBS, PODS, Resource
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.marks import RUN_SECONDS

Json = dict[str, Any]

NAMESPACE = "soak"
GPU, RACK = "nvidia.com/gpu", "example.com/rack"
NODES, RACK_NODES, NODE_GPUS = 24, 8, 8
PRIORITIES = {"soak-guest": 5, "soak-low": 10, "soak-mid": 50, "soak-high": 100}
GUARDED = {"guarded": "yes"}
"""Label of pods that a budget speaks of."""
EVICTION_IS_NO_FAILURE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
"""Members to spare are deleted one by one; without this each would count, and be made again much later."""
FORGET_SECONDS = 20
"""After its end a Job is forgotten."""


def machines() -> list[Machine]:
    room = {"cpu": "64", "memory": "512Gi", GPU: str(NODE_GPUS)}
    return [Machine(f"soak-{number:02}", room, {RACK: f"r{number // RACK_NODES}"}) for number in range(NODES)]


def settings() -> list[tuple[str, Json]]:
    """What is there from the beginning: paths, and what is posted to them."""
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    budgets = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    guard = {"selector": {"matchLabels": GUARDED}, "minAvailable": 8}
    return [
        *((classes, priority_class(name, value)) for name, value in PRIORITIES.items()),
        (budgets, {"metadata": {"name": "guard"}, "spec": guard}),
    ]


def priority_class(name: str, value: int) -> Json:
    """Guests evict nobody: kube-scheduler would take single members of gangs."""
    policy = "Never" if name == "soak-guest" else "PreemptLowerPriority"
    return {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}


@dataclass(frozen=True, slots=True)
class Wish:
    """A kind of arrival: how often on average, and how many may wait before no more come."""

    name: str
    every_seconds: float
    most_waiting: int
    priority: str
    sizes: Sequence[int]
    """Members."""
    gpus: Sequence[int]
    """Of each."""
    seconds: tuple[float, float]
    """How long it runs."""
    lone: bool = False
    scheduler: str = "maitred"


WISHES = (
    Wish("low", 2.0, 12, "soak-low", (1, 2, 4, 8, 16), (1, 2, 4), (20, 90)),
    Wish("mid", 9.0, 12, "soak-mid", (2, 4, 8), (1, 2, 4, 8), (15, 45)),
    Wish("high", 20.0, 6, "soak-high", (2, 4, 8), (4, 8), (10, 30)),
    Wish("bare", 4.0, 6, "soak-low", (1,), (1, 2), (10, 60), lone=True),
    Wish("guest", 1.5, 10, "soak-guest", (1,), (0, 1, 2), (3, 25), lone=True, scheduler="default-scheduler"),
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One Job or lone pod, as it is posted."""

    name: str
    resource: Resource
    body: Json
    group: Json | None = None
    """The PodGroup that its pods name, if they do: it belongs to the Job, and goes with it."""


class Load:
    """The same seed brings the same arrivals; when they come depends on who waits."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers = dict.fromkeys((wish.name for wish in WISHES), 0)

    def next(self, wish: Wish) -> tuple[float, Arrival]:
        """How many seconds after the last one of its kind, and what."""
        number = self._numbers[wish.name]
        self._numbers[wish.name] += 1
        chance = random.Random(f"{self._seed} {wish.name} {number}")
        name = f"{wish.name}-{number:05}"
        pause = chance.expovariate(1 / wish.every_seconds)
        template = pod_template(wish, chance)
        if wish.lone:
            meta = {**template["metadata"], "name": name}
            return pause, Arrival(name, PODS, {"metadata": meta, "spec": template["spec"]})
        return pause, job(name, wish, template, chance)


def pod_template(wish: Wish, chance: random.Random) -> Json:
    gpus = chance.choice(wish.gpus)
    amounts = {"cpu": str(max(1, 4 * gpus)), "memory": "4Gi", **({GPU: str(gpus)} if gpus else {})}
    spec: Json = {
        "schedulerName": wish.scheduler,
        "priorityClassName": wish.priority,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": chance.choice((0, 1, 2, 5)),
        "containers": [
            {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
        ],
    }
    marks = {RUN_SECONDS: f"{chance.uniform(*wish.seconds):.1f}", **protection(wish, chance)}
    labels = GUARDED if wish.name == "low" and chance.random() < 0.2 else {}
    return {"metadata": {"labels": dict(labels), "annotations": marks}, "spec": spec}


def protection(wish: Wish, chance: random.Random) -> dict[str, str]:
    """Some who rank low ask not to be evicted too soon, or not at all, or save what they have done."""
    if wish.name != "low":
        return {}
    fate = chance.random()
    if fate < 0.1:
        return {"maitred.dev/min-runtime": "15s"}
    if fate < 0.13:
        return {"maitred.dev/non-preemptible": "true"}
    return {"maitred.dev/checkpoint-interval": "10s"} if fate < 0.5 else {}


def job(name: str, wish: Wish, template: Json, chance: random.Random) -> Arrival:
    """A gang: the Job controller makes a group for it, or its pods name one themselves."""
    size = chance.choice(wish.sizes)
    spec: Json = {
        "completionMode": "Indexed",
        "parallelism": size,
        "completions": size,
        "ttlSecondsAfterFinished": FORGET_SECONDS,
        "template": template,
    }
    quorum = max(1, size // 2) if chance.random() < 0.3 else size
    if quorum < size:
        spec["podFailurePolicy"] = {"rules": [EVICTION_IS_NO_FAILURE]}
    body, policy = {"metadata": {"name": name}, "spec": spec}, scheduling(quorum, chance)
    if chance.random() < 0.5:
        spec["scheduling"] = policy
        return Arrival(name, JOBS, body)
    template["spec"]["schedulingGroup"] = {"podGroupName": name}
    group = {"metadata": {"name": name}, "spec": {**policy, "priorityClassName": wish.priority}}
    return Arrival(name, JOBS, body, group)


def scheduling(quorum: int, chance: random.Random) -> Json:
    found: Json = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
    if chance.random() < 0.3:
        found["disruptionMode"] = {"all": {}}
    if chance.random() < 0.3:
        found["schedulingConstraints"] = {"topology": [{"key": RACK}]}
    return found
