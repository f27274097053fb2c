"""What a lone pod asks for."""

from collections import Counter
from dataclasses import dataclass

from maitred.model.quantity import CPU, MEMORY
from maitred.simulate.jobs import WHOLE, Crew, Workload
from maitred.simulate.seating.columns import PodKind, kind_of


@dataclass(frozen=True, slots=True)
class ShareRequest:
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


def ask_of(crew: Crew) -> ShareRequest:
    kind = kind_of(crew.spec)
    requests = dict(kind.requests)
    devices, each = (1, crew.share) if crew.share else (crew.devices, WHOLE if crew.devices else 0)
    return ShareRequest(kind, requests.get(CPU, 0), requests.get(MEMORY, 0), devices, each)


def asks_of(workload: Workload) -> Counter[ShareRequest]:
    """What all pods of a workload ask for. Alike specs are often one object, and are then read once."""
    known: dict[tuple[int, int, int], ShareRequest] = {}
    asks: Counter[ShareRequest] = Counter()
    for job in workload:
        for crew in job.crews:
            key = id(crew.spec), crew.devices, crew.share
            if key not in known:
                known[key] = ask_of(crew)
            asks[known[key]] += crew.count
    return asks
