"""From raw objects to a loaded state."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

import msgspec

from benchmarks.objects import Obj
from maitred.cluster.state import ClusterState, Put
from maitred.model.manifest import Reader
from maitred.model.objects import Object

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Loaded:
    state: ClusterState
    objects: list[Object]

    def put(self, kind: type[Object], most: int) -> None:
        """See the first `most` objects of a kind again, as a watch that starts anew shows them."""
        for item in islice((item for item in self.objects if isinstance(item, kind)), most):
            self.state.apply(Put(item))

    def show(self, item: Obj) -> None:
        """See an object that is new, or has changed."""
        for one in read([item]):
            self.state.apply(Put(one))


def loaded(objects: Iterable[Obj]) -> Loaded:
    """A state with these objects, read and checked as `maitred decide` reads them."""
    state, items = ClusterState(), read(objects)
    for item in items:
        state.apply(Put(item))
    return Loaded(state, items)


def read(objects: Iterable[Obj]) -> list[Object]:
    reader = Reader()
    reader.read(listed(objects), "benchmark")
    return reader.objects


def listed(objects: Iterable[Obj]) -> bytes:
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": list(objects)})
