"""Brute force: can this group be seated, and how many of it?

Depth-first search over sequences of (member, node), each step allowed by the filters over what sits already.
What the filters say depends on who sits where and not on the order it came about in, so no set of placements
is looked at twice, and members that no filter can tell apart are placed in a fixed order. Exact, and good to
about six members on six nodes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.oracle.builders import Obj
from tests.oracle.empty import empty_nodes, hopeful_members, lasting_pods
from tests.oracle.floor import Floor, Table
from tests.oracle.guests import Guest, guest
from tests.oracle.reading import Group, Policy, key

Seating = list[tuple[str, str]]
"""Pods and nodes by name, in an order that passes the filters."""


def seatable(objects: Sequence[Obj], group: Group) -> bool:
    """Whether some quorum of the group can sit down now, next to everything that runs."""
    return len(best_seating(objects, group, enough=group.needed)) >= group.needed


def most_seated(objects: Sequence[Obj], group: Group) -> int:
    """The largest number of pending members that can sit down together now, quorum or not."""
    return len(best_seating(objects, group))


def best_seating(objects: Sequence[Obj], group: Group, enough: int | None = None) -> Seating:
    """As many pending members as can be seated (or ``enough`` of them), and where."""
    pods = [obj for obj in objects if obj["kind"] == "Pod"]
    floor = Floor(nodes(objects), pods, objects)
    return _search(floor, objects, group.pending, domains(floor, group, group.running), enough)


def seatable_on_empty(
    objects: Sequence[Obj], group: Group, policy: Policy | None = None, generous: bool = False
) -> bool:
    """Whether the group could ever be seated, on healthy nodes with nothing but DaemonSet and static pods:
    all of it anew, or, where some have succeeded, who waits once those that run have too.

    What others may still bring about is taken for granted; see `hopeful_members`.
    """
    # What is attached comes off once its pods are gone, and drivers may still be installed.
    lasting = [obj for obj in objects if obj["kind"] not in ("VolumeAttachment", "CSIDriver")]
    floor = Floor(empty_nodes(objects, group, policy or {}), lasting_pods(objects), lasting)
    rooms, anew = domains(floor, group, []), max(0, group.quorum - group.succeeded)
    everyone = ([*group.pending, *group.running], anew)
    rest = (group.pending, max(0, anew - len(group.running)))
    ways = (everyone, rest) if group.succeeded else (everyone,)
    return any(
        len(_search(floor, objects, hopeful_members(live, objects, group, generous), rooms, need)) >= need
        for live, need in ways
    )


# ---- the search


def _search(
    floor: Floor, objects: Sequence[Obj], members: Sequence[Obj], rooms: list[list[Table]], enough: int | None
) -> Seating:
    alike = kinds(members, objects)
    target = len(members) if enough is None else min(enough, len(members))
    best: Seating = []
    for tables in rooms:
        best = max(best, _Search(floor, alike, tables, target).run(), key=len)
        if len(best) >= target:
            break
    return best


class _Search:
    """One search over one set of nodes."""

    def __init__(self, floor: Floor, kinds: list[list[Guest]], tables: list[Table], target: int) -> None:
        self.floor, self.kinds, self.tables, self.target = floor, kinds, tables, target
        self.seen: set[tuple[int, ...]] = set()
        self.path: Seating = []
        self.best: Seating = []
        self.counts = [0] * (len(kinds) * len(tables))
        self.placed = [0] * len(kinds)

    def run(self) -> Seating:
        self._descend()
        return self.best

    def _descend(self) -> bool:
        """True once the target is reached."""
        state = tuple(self.counts)
        if state in self.seen:
            return False
        self.seen.add(state)
        if len(self.path) > len(self.best):
            self.best = list(self.path)
        if len(self.best) >= self.target:
            return True
        return any(self._try(k, t) for k in range(len(self.kinds)) for t in range(len(self.tables)))

    def _try(self, kind: int, place: int) -> bool:
        if self.placed[kind] == len(self.kinds[kind]):
            return False
        member, table = self.kinds[kind][self.placed[kind]], self.tables[place]
        if not self.floor.passes(member, table):
            return False
        cell = kind * len(self.tables) + place
        self.floor.seat(member, table)
        self.path.append((member.name, table.name))
        self.counts[cell] += 1
        self.placed[kind] += 1
        done = self._descend()
        self.floor.unseat(member, table)
        self.path.pop()
        self.counts[cell] -= 1
        self.placed[kind] -= 1
        return done


def kinds(members: Iterable[Obj], objects: Sequence[Obj]) -> list[list[Guest]]:
    """Members that no filter can tell apart: the same but for name, unread labels and private claims."""
    read = _read_labels(objects)
    claims = {key(obj): obj for obj in objects if obj["kind"] == "PersistentVolumeClaim"}
    volumes = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "PersistentVolume"}
    uses: dict[str, int] = {}
    for pod in (obj for obj in objects if obj["kind"] == "Pod"):
        for claim in guest(pod).claims:
            uses[claim] = uses.get(claim, 0) + 1
    found: dict[str, list[Guest]] = {}
    for pod in members:
        spec = {name: value for name, value in pod["spec"].items() if name not in ("volumes", "nodeName")}
        labels = {name: value for name, value in pod["metadata"].get("labels", {}).items() if name in read}
        own = guest(pod)
        disks = [name if uses[name] > 1 else _disk(claims.get(name), volumes) for name in own.claims]
        found.setdefault(json.dumps([own.namespace, labels, spec, disks], sort_keys=True), []).append(own)
    return list(found.values())


def _disk(claim: Obj | None, volumes: Mapping[str, Obj]) -> Any:
    """A claim of one pod alone, by what it is and not by its name."""
    if claim is None:
        return None
    spec = {name: value for name, value in claim["spec"].items() if name != "volumeName"}
    volume = volumes.get(claim["spec"].get("volumeName", ""))
    if volume is None:
        return [spec, claim["spec"].get("volumeName")]
    behind = {name: value for name, value in volume["spec"].items() if name not in ("claimRef", "csi", "nfs")}
    return [spec, behind, volume["metadata"].get("labels"), volume["spec"].get("csi", {}).get("driver")]


def _read_labels(objects: Iterable[Obj]) -> set[str]:
    """The label keys that some selector of some pod reads."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                walk(each)
        elif isinstance(value, dict):
            found.update(value.get("matchLabels", {}))
            found.update(expr["key"] for expr in value.get("matchExpressions", ()))
            for name in ("matchLabelKeys", "mismatchLabelKeys"):
                found.update(value.get(name, ()))
            for each in value.values():
                walk(each)

    for obj in objects:
        if obj["kind"] == "Pod":
            walk([obj["spec"].get("affinity"), obj["spec"].get("topologySpreadConstraints")])
    return found


# ---- the floor a group may use


def nodes(objects: Iterable[Obj]) -> list[Obj]:
    return [obj for obj in objects if obj["kind"] == "Node"]


def domains(floor: Floor, group: Group, settled: Sequence[Obj]) -> list[list[Table]]:
    """The sets of nodes that one placement may use: all, or one domain; running members have chosen."""
    if group.topology is None:
        return [floor.tables]
    rooms: dict[str, list[Table]] = {}
    for table in floor.tables:
        if group.topology in table.labels:
            rooms.setdefault(table.labels[group.topology], []).append(table)
    at = {table.name: table.labels.get(group.topology) for table in floor.tables}
    chosen = {at.get(pod["spec"]["nodeName"]) for pod in settled}
    if not chosen:
        return list(rooms.values())
    only = chosen.pop()
    return [rooms[only]] if not chosen and only is not None else []
