"""What has been seen of a cluster: once, or over a time, as a watch tells of it."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from maitred.explain.audit.pod_times import PodTimes, stay_of
from maitred.explain.audit.seen import SeenPod
from maitred.model.kinds import KINDS
from maitred.model.membership import SAYING, SILENT
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.pod import is_node_bound
from maitred.model.policy import Policy

MOST_PAST = 200_000
"""What is gone is remembered up to so many of each kind: the last ones."""

CLUSTER_WIDE = tuple(row.type for row in KINDS if not row.namespaced)
T = TypeVar("T", bound=Object)
K = TypeVar("K")
V = TypeVar("V")


class Observer:
    """Is told of every object as it is, and when it is no more. Times are in seconds since 1970."""

    def __init__(self, policy: Policy, watched_since: float | None = None) -> None:
        self.policy = policy
        self.watched_since = watched_since
        """From when on nothing that happened was missed; None where the cluster was looked at once."""
        self.forgotten = 0
        """Pods that are gone and were too many to be remembered."""
        self._stays: dict[str, PodTimes] = {}
        self._past: dict[int, PodTimes] = {}
        self._numbered = 0
        self._others: dict[type, dict[str, Object]] = {}
        self._gone: dict[type, dict[str, Object]] = {}
        """What pods that are remembered may speak of."""

    def see(self, item: Object, at: float) -> str:
        """The key that it has from now on."""
        key = item.metadata.name if isinstance(item, CLUSTER_WIDE) else key_of(item.metadata)
        if isinstance(item, SeenPod):
            self._see_pod(key, item, at)
        else:
            self._others.setdefault(type(item), {})[key] = item
        return key

    def gone(self, kind: type[Object], key: str, at: float) -> None:
        """`key` as the API has it: `namespace/name`, or the name of what is cluster-wide."""
        if kind is not SeenPod:
            item = self._others.get(kind, {}).pop(key, None)
            if item is not None and issubclass(kind, SAYING):
                self._remember(self._gone.setdefault(kind, {}), key, item)
        elif (stay := self._stays.pop(key, None)) is not None:
            self._bury(stay, at)

    def _see_pod(self, key: str, pod: SeenPod, at: float) -> None:
        known = self._stays.get(key)
        if known is not None and known.pod.metadata.uid != pod.metadata.uid:
            self.gone(SeenPod, key, at)
            known = None
        if known is None:
            self._stays[key] = stay_of(pod, at, self.policy)
        else:
            known.update(pod, at)

    def _bury(self, stay: PodTimes, at: float) -> None:
        """A pod on its own that had no devices is of no interest any more."""
        if stay.said is SILENT and (stay.bound is None or not stay.devices):
            return
        stay.ended = at if stay.ended is None else stay.ended
        stay.leaving = at if stay.leaving is None else stay.leaving
        self._numbered += 1
        self.forgotten += self._remember(self._past, self._numbered, stay)

    @staticmethod
    def _remember(past: dict[K, V], key: K, item: V) -> bool:
        """Whether another one had to be forgotten for it."""
        past.pop(key, None)
        past[key] = item
        if len(past) <= MOST_PAST:
            return False
        del past[next(iter(past))]
        return True

    # -- what is known ---------------------------------------------------------------------------------

    @property
    def present(self) -> Mapping[str, PodTimes]:
        """The pods that are there, finished ones among them, by their keys."""
        return self._stays

    def stays(self) -> Iterator[PodTimes]:
        """Every pod that is there, or was; not those that belong to their nodes."""
        for stay in (*self._past.values(), *self._stays.values()):
            if not is_node_bound(stay.pod.metadata):
                yield stay

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """The object, be it gone. With a UID: this one, and no other of its name."""
        for known in (self._others, self._gone):
            found = known.get(kind, {}).get(key)
            if isinstance(found, kind) and (not uid or found.metadata.uid in ("", uid)):
                return found
        return None

    def every(self, kind: type[T]) -> Iterator[T]:
        """Those that there are."""
        return (item for item in self._others.get(kind, {}).values() if isinstance(item, kind))

    def objects(self) -> Iterator[Object]:
        """All that a decision reads, but for pods."""
        for found in self._others.values():
            yield from found.values()
