"""Who is above and below whom: pods, their controllers, and the owners of those.

A reference counts only with the namespace, the kind, the name and the UID of an object: a tenant may write
any of these, but cannot make an object that has all four of another one.
"""

from collections.abc import Iterator
from typing import NamedTuple

from maitred.model.meta import ObjectMeta, controller_of
from maitred.model.objects import Object
from maitred.model.owner_chain import LONGEST_CHAIN
from maitred.model.owners import kind_of
from maitred.model.suspending import OwnerName, row_of_suspendable


class OwnerId(NamedTuple):
    namespace: str
    kind: str
    name: str
    uid: str

    @property
    def owner(self) -> OwnerName:
        return OwnerName(self.kind, f"{self.namespace}/{self.name}")


def id_of(one: Object) -> OwnerId:
    """Of an object that can be suspended."""
    row = row_of_suspendable(type(one))
    kind = "" if row is None else row.title
    return OwnerId(one.metadata.namespace, kind, one.metadata.name, one.metadata.uid)


def controller_id(about: ObjectMeta) -> OwnerId | None:
    owner = controller_of(about)
    return None if owner is None else OwnerId(about.namespace, kind_of(owner), owner.name, owner.uid)


class Lineage:
    def __init__(self) -> None:
        self._parents: dict[OwnerId, OwnerId] = {}
        self._children: dict[OwnerId, set[OwnerId]] = {}

    def put(self, one: OwnerId, parent: OwnerId | None) -> bool:
        """Whether it has another parent than before."""
        known = self._parents.get(one)
        if known == parent:
            return False
        self.gone(one)
        if parent is not None:
            self._parents[one] = parent
            self._children.setdefault(parent, set()).add(one)
        return True

    def gone(self, one: OwnerId) -> None:
        parent = self._parents.pop(one, None)
        if parent is not None:
            self._children[parent].discard(one)
            if not self._children[parent]:
                del self._children[parent]

    def parent(self, one: OwnerId) -> OwnerId | None:
        return self._parents.get(one)

    def up_from(self, one: OwnerId) -> Iterator[OwnerId]:
        """It, and who is above it, as far as that is known."""
        found: OwnerId | None = one
        for _ in range(LONGEST_CHAIN):
            if found is None:
                return
            yield found
            found = self._parents.get(found)

    def down_from(self, one: OwnerId) -> Iterator[OwnerId]:
        """It, and all who are below it."""
        seen, level = {one}, [one]
        for _ in range(LONGEST_CHAIN):
            yield from level
            below = {child for each in level for child in self._children.get(each, ())} - seen
            seen |= below
            level = sorted(below)
