"""Requests that pods move: which nodes they close, who may be told to leave for them, and when.

Maintenance is no preemption: nobody of higher rank comes instead, so law 4 asks something else of it. Whoever
leaves has a part of it on nodes of a request, or is to make room for a group that is promised places in the
same Plan; leaves as a whole, and not before its time.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .allowances import marks_of
from .budgets import allowance
from .case import Breach, Case, Eviction, breach
from .counted import devices_of
from .groups import Group
from .impossible import stays
from .objects import UNSCHEDULABLE, Cluster, Node, flatten
from .pods import Pod
from .protection import shield
from .selectors import Taint
from .times import instant, thousandths
from .units import Household, households, is_tied

MAINTENANCE = "Maintenance"
HOME, PREFIX, RECORD = "maitred-system", "maitred-drain-", "maitred.dev/record"
LONGEST = 900_000
SOON = 60_000
"""Thousandths of a second after a checkpoint in which work counts as saved."""


@dataclass(frozen=True)
class DrainOrder:
    name: str
    by: int
    nodes: frozenset[str]
    label: str
    value: str
    force: bool
    room: tuple[tuple[str, frozenset[str]], ...]
    """Groups that are to have room, and who moves for each."""
    awaited: dict[str, int]
    """Groups that were told to leave before, and how long room is kept for each, in thousandths."""

    @property
    def key(self) -> str:
        return f"{'defrag' if self.room else 'drain'}/{self.name}"

    def means(self, node: Node) -> bool:
        return node.labels.get(self.label) == self.value if self.label else node.name in self.nodes


def read_requests(objects: Iterable[Any]) -> list[DrainOrder]:
    """Those that can be read; the others count for nothing."""
    found = []
    for kind, doc in flatten(objects):
        meta = doc.doc("metadata")
        ours = kind == "ConfigMap" and meta.text("namespace") == HOME
        if ours and meta.strings("labels").get(RECORD) == "drain":
            data = doc.strings("data")
            request = _read(meta.text("name").removeprefix(PREFIX), data)
            found += [] if request is None else [request]
    return sorted(found, key=lambda one: (one.by, one.name))


def _read(name: str, data: dict[str, str]) -> DrainOrder | None:
    said, progress = _parsed(data.get("record", "")), _parsed(data.get("progress", ""))
    by, asked = instant(str(said.get("by"))), instant(str(said.get("asked")))
    nodes, label, value = said.get("nodes", []), said.get("label", ""), said.get("value", "")
    names = isinstance(nodes, list) and all(isinstance(one, str) and one for one in nodes)
    texts = isinstance(label, str) and isinstance(value, str)
    flags = [said.get(key, False) for key in ("force", "cordon")]
    room = _room(said.get("room", []))
    if by is None or asked is None or not names or not texts or room is None:
        return None
    if [bool(nodes), bool(label), bool(room)].count(True) != 1:
        return None
    if not all(isinstance(flag, bool) for flag in flags):
        return None
    return DrainOrder(name, by, frozenset(nodes), label, value, flags[0], room, dict(_awaited(progress)))


def _room(said: Any) -> tuple[tuple[str, frozenset[str]], ...] | None:
    """None if it cannot be read."""
    found = []
    for one in said if isinstance(said, list) else [None]:
        making = one if isinstance(one, dict) else {}
        units = making.get("units")
        names = [making.get("group"), *units] if isinstance(units, list) and units else [None]
        if not all(isinstance(name, str) and name for name in names):
            return None
        found.append((str(names[0]), frozenset(map(str, names[1:]))))
    return tuple(found)


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text and len(text) <= LONGEST else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _awaited(progress: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for move in progress.get("moves", []):
        until = instant(str(move.get("heldUntil")))
        if move.get("ended") is None and until is not None:
            for group in move.get("groups", []):
                yield str(group.get("key")), until


def close_nodes(cluster: Cluster, requests: list[DrainOrder]) -> None:
    """As if they were cordoned, by the request whose time comes first."""
    for name, node in cluster.nodes.items():
        request = next((one for one in requests if one.means(node)), None)
        if request is not None:
            others = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE)
            closing = Taint(UNSCHEDULABLE, request.key, "NoSchedule")
            cluster.nodes[name] = replace(node, taints=(*others, closing))


# -- who leaves --------------------------------------------------------------------------------------------


def judge_maintenance(case: Case) -> Iterator[Breach]:
    leaving = [one for one in case.evictions if one.cause == MAINTENANCE]
    homes = households(case) if leaving else {}
    for eviction in leaving:
        for fault in _faults(case, eviction, homes):
            yield breach(4, eviction.pod.key, f"evicted for maintenance, but {fault}")
    yield from _judge_budgets(case, leaving)


def _faults(case: Case, eviction: Eviction, homes: dict[Pod, Household]) -> Iterator[str]:
    pod = eviction.pod
    request = next((one for one in case.requests if one.key == eviction.preemptor), None)
    if request is None:
        yield f"there is no request {eviction.preemptor or 'at all'}"
        return
    kin = kin_of(pod, homes)
    rows = [case.cluster.nodes.get(one.node_name) for one in kin]
    if request.room:
        yield from _makes_no_room(case, request, kin, homes)
    elif not any(node is not None and request.means(node) for node in rows):
        yield f"nothing of it is on nodes of {eviction.preemptor}"
    if stays(pod):
        yield "it belongs to its node"
    if pod.controller is None and not request.force:
        yield "no controller would recreate it"
    gone = {one.pod.key for one in case.evictions}
    left = sorted(one.key for one in kin if one.key not in gone)
    if left:
        yield f"{', '.join(left)} would stay, which break with it"
    if case.now is not None and not request.room and case.now < request.by - _grace(case, kin):
        yield from _too_early(case, request, kin, case.now)


def _makes_no_room(
    case: Case, request: DrainOrder, kin: tuple[Pod, ...], homes: dict[Pod, Household]
) -> Iterator[str]:
    """It moves with all who make room for one group, which is promised places now, and at the time of whoever
    of them has most to lose."""
    promised = {case.group_of[pod.key].key for pod, _ in case.nominations}
    name = _unit(kin[0], homes)
    asked = [one for one in request.room if name in one[1]]
    makings = [units for group, units in asked if group in promised]
    if not makings:
        yield f"{asked[0][0]} is promised nothing for it" if asked else f"it is not one of {request.key}"
        return
    moving = {_unit(one.pod, homes): kin_of(one.pod, homes) for one in case.evictions}
    whole = [units for units in makings if units <= moving.keys()]
    if not whole:
        yield "not all leave that make room together"
        return
    together = {unit: pods for unit, pods in moving.items() if unit in whole[0]}
    devices = {unit: sum(devices_of(case, pod) or 0 for pod in pods) for unit, pods in together.items()}
    first = together[max(together, key=lambda unit: (devices[unit], unit))]
    if case.now is not None:
        last = request.by - _grace(case, first)
        if case.now >= last or not _is_timely(case, first, last, case.now):
            yield "it is not the time of a checkpoint"
        busy = [pod for pod in kin if devices_of(case, pod) != 0 and pod.started is not None]
        if any(shield(pod, marks_of(case, pod), case.now) is not None for pod in busy):
            yield "it is protected"
    yield from _without_room(case, kin)


def _unit(pod: Pod, homes: dict[Pod, Household]) -> str:
    """The name of what moves with it: a group, an owner, or the pod."""
    home = homes.get(pod)
    together = home is not None and is_tied(home) and pod in home.pods
    return home.name.rpartition(" ")[2] if home is not None and together else pod.key


def kin_of(pod: Pod, homes: dict[Pod, Household]) -> tuple[Pod, ...]:
    home = homes.get(pod)
    return home.pods if home is not None and is_tied(home) and pod in home.pods else (pod,)


def _grace(case: Case, pods: Iterable[Pod]) -> int:
    limit = case.policy.preemption.grace_limit
    asked = max(pod.grace for pod in pods) * 1000
    return asked if limit is None else min(asked, limit * 1000)


def _too_early(case: Case, request: DrainOrder, kin: tuple[Pod, ...], now: int) -> Iterator[str]:
    last = request.by - _grace(case, kin)
    if not _is_timely(case, kin, last, now):
        yield "it is neither the time of a checkpoint nor the last moment"
    yield from _without_room(case, kin)


def _without_room(case: Case, kin: tuple[Pod, ...]) -> Iterator[str]:
    group = case.group_of[kin[0].key]
    ours = case.scheduler is None or any(pod.scheduler == case.scheduler for pod in kin)
    needed = (group.quorum or 0) - group.succeeded
    if group.gang and ours and len(kin) > 1 and case.held_count(group.key) < needed:
        yield f"room for {case.held_count(group.key)} of {needed} is kept for it"


def _is_timely(case: Case, kin: tuple[Pod, ...], last: int, now: int) -> bool:
    """Right after its work was saved; or at once, where waiting would only lose more of it."""
    busy = [pod for pod in kin if devices_of(case, pod) != 0 and pod.started is not None]
    marks = [marks_of(case, pod) for pod in busy]
    saved = [one.checkpoint for one in marks if one.checkpoint is not None and one.checkpoint <= now]
    every = [one.interval for one in marks if one.interval]
    if not busy:
        return True
    if len(saved) == len(busy):
        age = now - min(saved)
        return age <= SOON or (bool(every) and min(saved) + max(every) * (1 + age // max(every)) > last)
    if len(every) == len(busy):
        ran = [now - thousandths(pod.started or 0) for pod in busy]
        since = [span % interval for span, interval in zip(ran, every, strict=True)]
        begun = all(span >= interval for span, interval in zip(ran, every, strict=True))
        following = max(now - ago + interval for ago, interval in zip(since, every, strict=True))
        return (begun and max(since) <= SOON) or following > last
    return not any(shield(pod, mark, now) for pod, mark in zip(busy, marks, strict=True))


def _judge_budgets(case: Case, leaving: list[Eviction]) -> Iterator[Breach]:
    """Before their last moment pods leave only as budgets allow."""
    early = [one.pod for one in leaving if _is_early(case, one)]
    others = [one.pod for one in case.evictions if one.cause != MAINTENANCE]
    for key, budget in sorted(case.cluster.budgets.items()) if early else ():
        allowed = max(0, allowance(budget, case.cluster.pods.values()) - sum(map(budget.counts, others)))
        count = sum(map(budget.counts, early))
        if count > allowed:
            yield breach(4, key, f"{count} of its pods leave for maintenance, and it allows {allowed}")


def _is_early(case: Case, eviction: Eviction) -> bool:
    request = next((one for one in case.requests if one.key == eviction.preemptor), None)
    if request is None or case.now is None:
        return False
    return bool(request.room) or case.now < request.by - _grace(case, [eviction.pod])


# -- what is kept for them ---------------------------------------------------------------------------------


def moving_alone(case: Case) -> list[Group]:
    """Who leaves now and for whom nothing is kept: others are made, with other names."""
    leaving = (case.group_of[one.pod.key] for one in case.evictions if one.cause == MAINTENANCE)
    return [group for group in leaving if not case.held_count(group.key)]


def is_rearranged(case: Case) -> bool:
    """Whether it is not known what was free in the turn of each group: the Plan does not say where pods go
    that move on their own; and who makes room moves in the turn of another."""
    by_request = (one.preemptor.startswith("defrag/") for one in case.evictions if one.cause == MAINTENANCE)
    return any(by_request) or bool(moving_alone(case))


def keeps_for(case: Case, group: str) -> bool:
    """Whether room may be kept for a group: it leaves now, or has left and is not back in time."""
    now = [one for one in case.evictions if one.cause == MAINTENANCE]
    if any(case.group_of[one.pod.key].key == group for one in now):
        return True
    until = [one.awaited[group] for one in case.requests if group in one.awaited]
    return bool(until) and (case.now is None or case.now < max(until))
