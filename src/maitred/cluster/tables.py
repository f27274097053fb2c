"""Objects that the state keeps as they are, by kind and key.

Whoever tells which pods belong together looks up here what operators and other schedulers have written:
`find(JobSet, "ml/train")`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from maitred.cluster.snapshot import NAMESPACE_NAME
from maitred.model.budget import PodDisruptionBudget
from maitred.model.group import PodGroup
from maitred.model.kinds import KINDS, OPERATED, row_of
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.objects import Namespace, Object
from maitred.model.pod import Pod
from maitred.model.selector import Labels

T = TypeVar("T", bound=Object)

ELSEWHERE = (Pod, Node, PodGroup, PodDisruptionBudget)
"""Kinds of which the state keeps something else."""


class Tables:
    """A table for each kind. Keys are `namespace/name`, or the name of what is cluster-wide."""

    def __init__(self) -> None:
        self._tables: dict[type[Object], dict[str, Any]] = {
            row.type: {} for row in KINDS if row.type not in ELSEWHERE
        }
        self._operated: Mapping[type[Object], Mapping[str, Object]] | None = None

    def __getitem__(self, kind: type[Object]) -> dict[str, Any]:
        return self._tables[kind]

    def put(self, item: Object) -> bool:
        """Whether this is news, as far as a decision reads it."""
        row = row_of(type(item))
        key = key_of(item.metadata) if row.namespaced else item.metadata.name
        table = self._tables[row.type]
        known, table[key] = table.get(key), item
        return self._changed(not same(known, item))

    def remove(self, kind: type[Object], key: str) -> bool:
        """Whether it was there."""
        return self._changed(self._tables[kind].pop(key, None) is not None)

    def _changed(self, changed: bool) -> bool:
        if changed:
            self._operated = None
        return changed

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """With a UID: this object, and no other of its name."""
        found: T | None = self._tables[kind].get(key)
        return found if found is None or not uid or found.metadata.uid in ("", uid) else None

    def every(self, kind: type[T]) -> Iterator[T]:
        return iter(self._tables[kind].values())

    def operated(self) -> Mapping[type[Object], Mapping[str, Object]]:
        """What there is of operators and of other schedulers, as it is now."""
        if self._operated is None:
            tables = {row.type: self._tables[row.type] for row in OPERATED}
            self._operated = {kind: dict(table) for kind, table in tables.items() if table}
        return self._operated


def same(known: Any, item: Object) -> bool:
    """Whether an object is as it was, as far as a decision reads it."""
    if isinstance(item, Namespace):
        return known is not None and labels_of(known) == labels_of(item)
    return bool(known == item)


def labels_of(namespace: Namespace) -> Labels:
    return {NAMESPACE_NAME: namespace.metadata.name, **namespace.metadata.labels}
