"""What a lone pod asks for, and what is asked for most."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

from maitred.model.quantity import CPU, MEMORY
from maitred.simulate.jobs import WHOLE, Crew, Workload
from maitred.simulate.seating.columns import PodKind, kind_of

TYPICAL = 0.95
"""The part of all pods that the commonest asks have to cover to stand for the whole demand."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    kind: PodKind
    cpu: int
    memory: int
    devices: int
    """How many it takes of: several only as a whole."""
    each: int
    """Thousandths that it takes of each of them."""

    @property
    def load(self) -> int:
        return self.devices * self.each

    @property
    def shares(self) -> bool:
        return 0 < self.each < WHOLE


def ask_of(crew: Crew) -> DeviceRequest:
    kind = kind_of(crew.spec)
    requests = dict(kind.requests)
    devices, each = (1, crew.share) if crew.share else (crew.devices, WHOLE if crew.devices else 0)
    return DeviceRequest(kind, requests.get(CPU, 0), requests.get(MEMORY, 0), devices, each)


def asks_of(workload: Workload) -> Counter[DeviceRequest]:
    """What all pods of a workload ask for. Alike specs are often one object, and are then read once."""
    known: dict[tuple[int, int, int], DeviceRequest] = {}
    asks: Counter[DeviceRequest] = Counter()
    for job in workload:
        for crew in job.crews:
            key = id(crew.spec), crew.devices, crew.share
            if key not in known:
                known[key] = ask_of(crew)
            asks[known[key]] += crew.count
    return asks


def commonest(counts: Counter[K]) -> Counter[K]:
    """Those that come most often, as few as are typical of the whole."""
    found, covered, total = Counter[K](), 0, counts.total()
    for key, count in counts.most_common():
        if covered >= TYPICAL * total:
            break
        found[key] = count
        covered += count
    return found
