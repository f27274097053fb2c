"""Raw objects, as brute force reads them: it shares no code with the engine or with the checker.

It knows what the generated cases have: CPUs, GPUs and the number of pods, node selectors, one required
domain, one group that waits with at most two shapes of members; atomic groups and composites, owners that
are suspended with all of their pods, gangs with members to spare, budgets with a status, and marks of
protection and checkpoints as annotations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Obj = dict[str, Any]
Amounts = tuple[int, int, int]
"""Thousandths of a CPU, GPUs, pods."""
Shape = tuple[Amounts, frozenset[int], int]
"""What a member asks for, the nodes where it may go, and how many there are of it."""

GPU = "nvidia.com/gpu"
MARK = "maitred.dev/"
MOST_SHAPES = 2


@dataclass(frozen=True)
class Victim:
    """A running pod that may have to go. Work in thousandths of a device-second, budgets by number."""

    name: str
    node: int
    amounts: Amounts
    work: int
    budgets: tuple[int, ...]


@dataclass(frozen=True)
class House:
    """Victims that belong together: up to `spare` of them go one by one, or all at once if `whole`."""

    name: str
    rank: int
    pods: tuple[Victim, ...]
    spare: int
    whole: bool


class Reading:
    def __init__(self, objects: Sequence[Obj], now: str) -> None:
        kinds: dict[str, list[Obj]] = {}
        for obj in objects:
            kinds.setdefault(obj["kind"], []).append(obj)
        self.now = _moment(now)
        self.nodes = kinds["Node"]
        self.rows = {_name(node): row for row, node in enumerate(self.nodes)}
        self.groups = {_name(group): group for group in kinds.get("PodGroup", [])}
        self.composites = {_name(group): group for group in kinds.get("CompositePodGroup", [])}
        self.budgets = kinds.get("PodDisruptionBudget", [])
        self.allowed = [int(budget["status"]["disruptionsAllowed"]) for budget in self.budgets]
        self.running = [pod for pod in kinds["Pod"] if "nodeName" in pod["spec"]]
        self.waiting = [pod for pod in kinds["Pod"] if "nodeName" not in pod["spec"]]
        self._read_preemptor()

    def _read_preemptor(self) -> None:
        (name,) = {_group_name(pod) or _name(pod) for pod in self.waiting}
        self.spec: Obj = self.groups[name]["spec"] if name in self.groups else {}
        self.own = [pod for pod in self.running if _group_name(pod) == name]
        self.rank = int(self.waiting[0]["spec"]["priority"])
        self.need = _quorum(self.spec) - len(self.own)

    # ---- what there is, and what is asked for

    def free(self) -> list[list[int]]:
        free = [list(_amounts(node["status"]["allocatable"])) for node in self.nodes]
        for pod in self.running:
            for kind, amount in enumerate(_asked(pod)):
                free[self._row(pod)][kind] -= amount
        return free

    def rooms(self) -> list[list[int]]:
        """The sets of nodes that the group may choose from: one domain each, or all of them."""
        levels = self.spec.get("schedulingConstraints", {}).get("topology", [])
        if not levels:
            return [list(range(len(self.nodes)))]
        labels = [node["metadata"]["labels"].get(levels[0]["key"]) for node in self.nodes]
        homes = {labels[self._row(pod)] for pod in self.own} or set(labels)
        return [[row for row, at in enumerate(labels) if at == home] for home in homes if home is not None]

    def shapes(self) -> list[Shape]:
        counts: dict[tuple[Amounts, frozenset[int]], int] = {}
        for pod in self.waiting:
            shape = (_asked(pod), self._eligible(pod))
            counts[shape] = counts.get(shape, 0) + 1
        if len(counts) > MOST_SHAPES:
            raise ValueError(f"{len(counts)} shapes are more than brute force can count")
        return [(asked, nodes, count) for (asked, nodes), count in counts.items()]

    def _eligible(self, pod: Obj) -> frozenset[int]:
        wanted = pod["spec"].get("nodeSelector", {}).items()
        return frozenset(
            row for row, node in enumerate(self.nodes) if wanted <= node["metadata"]["labels"].items()
        )

    def _row(self, pod: Obj) -> int:
        return self.rows[pod["spec"]["nodeName"]]

    # ---- who may have to go

    def houses(self) -> list[House]:
        """By what breaks together, all of it lower in rank than the preemptor."""
        found: dict[str, list[Obj]] = {}
        for pod in self.running:
            found.setdefault(self._house(pod), []).append(pod)
        houses = [self._read_house(name, pods) for name, pods in sorted(found.items())]
        return [house for house in houses if house.rank < self.rank and (house.whole or house.spare)]

    def _house(self, pod: Obj) -> str:
        """The owner that takes all of its pods along, the topmost composite that is disrupted as a whole, the
        group, or the pod where it stands alone."""
        for owner in pod["metadata"].get("ownerReferences", []):
            return f"{owner['kind']} {owner['name']}"
        group = self._group(pod)
        if group is None:
            return _name(pod)
        top, above = "", group["spec"].get("parentCompositePodGroupName")
        while above:
            spec = self.composites[above]["spec"]
            top = above if "all" in spec.get("disruptionMode", {}) else top
            above = spec.get("parentCompositePodGroupName")
        alone = "basic" in group["spec"]["schedulingPolicy"] and not _atomic(group)
        return top or _name(pod if alone else group)

    def _read_house(self, name: str, pods: list[Obj]) -> House:
        """Protection of one is protection of all where all would have to go."""
        group = self._group(pods[0])
        open_to = [pod for pod in pods if not self._protected(pod)]
        spare = 0
        if group is not None and name == _name(group) and not _atomic(group):
            spare = max(0, len(pods) - _quorum(group["spec"]))
        victims = tuple(map(self._victim, open_to))
        return House(name, self._rank(pods), victims, min(spare, len(victims)), len(victims) == len(pods))

    def _rank(self, pods: list[Obj]) -> int:
        group = self._group(pods[0])
        stated = None if group is None else group["spec"].get("priority")
        return int(max(pod["spec"]["priority"] for pod in pods) if stated is None else stated)

    def _victim(self, pod: Obj) -> Victim:
        labels = pod["metadata"].get("labels", {}).items()
        budgets = tuple(
            number
            for number, budget in enumerate(self.budgets)
            if budget["spec"]["selector"].get("matchLabels", {}).items() <= labels
        )
        asked = _asked(pod)
        return Victim(_name(pod), self._row(pod), asked, asked[1] * self._lost(pod), budgets)

    def _protected(self, pod: Obj) -> bool:
        if self._mark(pod, "non-preemptible") == "true":
            return True
        least = self._mark(pod, "min-runtime")
        return least is not None and self.now < _started(pod) + _minutes(least)

    def _lost(self, pod: Obj) -> int:
        """The time since the last checkpoint, or else since the start."""
        since = self.now - _started(pod)
        last, interval = self._mark(pod, "last-checkpoint"), self._mark(pod, "checkpoint-interval")
        if last is not None:
            return min(since, self.now - _moment(last))
        return since % _minutes(interval) if interval is not None else since

    def _mark(self, pod: Obj, name: str) -> str | None:
        """A pod's own mark, or else its group's."""
        for owner in (pod, self._group(pod)):
            said = owner["metadata"].get("annotations", {}).get(MARK + name) if owner else None
            if said is not None:
                return str(said)
        return None

    def _group(self, pod: Obj) -> Obj | None:
        return self.groups.get(_group_name(pod))


def _name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def _group_name(pod: Obj) -> str:
    return str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))


def _quorum(spec: Obj) -> int:
    return int(spec.get("schedulingPolicy", {}).get("gang", {}).get("minCount", 1))


def _atomic(group: Obj) -> bool:
    return "all" in group["spec"].get("disruptionMode", {})


def _amounts(raw: Obj) -> Amounts:
    return int(raw.get("cpu", 0)) * 1000, int(raw.get(GPU, 0)), int(raw.get("pods", 0))


def _asked(pod: Obj) -> Amounts:
    cpu, gpu, _ = _amounts(pod["spec"]["containers"][0]["resources"].get("requests", {}))
    return cpu, gpu, 1


def _started(pod: Obj) -> int:
    return _moment(pod["status"]["startTime"])


def _moment(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _minutes(text: str) -> int:
    return int(text.removesuffix("m")) * 60_000
