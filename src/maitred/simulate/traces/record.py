"""What a live scheduler recorded: nodes as they were last seen, and groups as jobs that come as they came.

A dump knows when containers ended; a record has seen when pods were given a node and when they were gone.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from maitred.model import recording
from maitred.model.group import PodGroup
from maitred.model.manifest import InputError
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.objects import Namespace, Object
from maitred.model.pod import Pod, is_node_bound
from maitred.model.priority import PriorityClass
from maitred.simulate.traces.kubectl import Gangs, OtherObjects, reading_of
from maitred.simulate.traces.pod_lives import LOOSE, Owner, PodLife
from maitred.simulate.traces.rows import unpacked
from maitred.simulate.traces.traced import TraceReading

FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class RecordedPod:
    """A pod, as it was last seen, from its first place on a node to its end."""

    pod: Pod
    came: datetime
    bound: datetime | None = None
    gone: datetime | None = None


@dataclass(slots=True)
class RecordedCluster:
    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[tuple[str, str], RecordedPod] = field(default_factory=dict)
    """By key and UID: a pod that was made anew is another one."""
    living: dict[str, tuple[str, str]] = field(default_factory=dict)
    others: dict[tuple[str, str], Object] = field(default_factory=dict)

    def came(self, item: Object, at: datetime) -> None:
        if isinstance(item, Node):
            self.nodes[item.metadata.name] = item
        elif isinstance(item, Pod):
            self._pod_came(item, at)
        elif isinstance(item, PodGroup | PriorityClass | Namespace):
            self.others[type(item).__name__, key_of(item.metadata)] = item

    def _pod_came(self, pod: Pod, at: datetime) -> None:
        name = (key_of(pod.metadata), pod.metadata.uid)
        seen = self.pods.setdefault(name, RecordedPod(pod, pod.metadata.creation_timestamp or at))
        self.living[name[0]] = name
        seen.pod = pod
        if pod.spec.node_name and seen.bound is None:
            seen.bound = pod.status.start_time or at
        if pod.status.phase in FINISHED and seen.gone is None:
            seen.gone = at

    def went(self, kind: str, key: str, at: datetime) -> None:
        name = self.living.pop(key, None) if kind == "Pod" else None
        if name is not None and self.pods[name].gone is None:
            self.pods[name].gone = at


def read_recorded_nodes(data: bytes, source: str) -> tuple[Node, ...]:
    return tuple(account_of(data, source).nodes.values())


def read_recorded_groups(
    data: bytes, source: str, gangs: Gangs = "declared", quorum: int | None = None
) -> TraceReading:
    account, changed = account_of(data, source), Counter[str]()
    stays = list[PodLife]()
    for seen in account.pods.values():
        if is_node_bound(seen.pod.metadata):
            changed["pods belong to their nodes (DaemonSet or static pods) and were left out"] += 1
        else:
            stays.append(stay_of(seen))
    return reading_of(stays, OtherObjects(account.others.values()), gangs, quorum, changed, (), source)


def account_of(data: bytes, source: str) -> RecordedCluster:
    account = RecordedCluster()
    for number, line in enumerate(unpacked(data, source).splitlines(), 1):
        try:
            found = recording.decode(line)
            if isinstance(found, recording.Came) and found.kind in recording.RECORDED:
                item = msgspec.json.decode(found.object, type=recording.RECORDED[found.kind])
                account.came(item, datetime.fromtimestamp(found.at, UTC))
            elif isinstance(found, recording.Gone):
                account.went(found.kind, found.key, datetime.fromtimestamp(found.at, UTC))
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError, OSError) as error:
            raise InputError(source, f"line {number}", "", f"is not a line of a record: {error}") from None
    return account


def stay_of(seen: RecordedPod) -> PodLife:
    owners = [owner for owner in seen.pod.metadata.owner_references if owner.controller]
    owner = next((owner for owner in owners if owner.kind not in LOOSE), None)
    ran = None
    if seen.bound is not None and seen.gone is not None:
        ran = (max(seen.came, seen.bound), max(seen.gone, seen.came, seen.bound))
    bond = None if owner is None else Owner(owner.kind, owner.name, owner.uid, owner.controller)
    return PodLife(seen.pod, seen.came, bond, ran)
