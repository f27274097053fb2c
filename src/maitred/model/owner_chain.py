"""Who owns a pod in the end: its controller, the controller of that, and so on.

A pod of a JobSet is controlled by a Job, the Job by the JobSet, and that perhaps by a TrainJob. Only owner
references with `controller: true` lead upwards, within one namespace, and only to the object with the UID
that they name: a label or a name that a tenant may copy makes nobody an owner.
"""

from collections.abc import Iterator
from typing import Protocol, TypeVar

from maitred.model.kinds import KINDS, Kind
from maitred.model.meta import ObjectMeta, OwnerReference, controller_of
from maitred.model.objects import Object
from maitred.model.owners import api_group

LONGEST_CHAIN = 8
"""Owners may name each other in a circle. No operator makes a chain of more than four."""

T = TypeVar("T", bound=Object)


class Found(Protocol):
    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """The object with this key; with a UID, none but the one that has it."""


_ROWS = {(row.group, row.name): row for row in KINDS if row.namespaced}


def row_of_owner(owner: OwnerReference) -> Kind | None:
    """The row of the kind that an owner reference names; None if we do not read that kind."""
    return _ROWS.get((api_group(owner.api_version), owner.kind))


def owners_above(about: ObjectMeta, known: Found) -> Iterator[Object]:
    """The objects that control this one, nearest first, as far as they are known."""
    for _ in range(LONGEST_CHAIN):
        owner = controller_of(about)
        row = None if owner is None else row_of_owner(owner)
        if owner is None or row is None:
            return
        found = known.find(row.type, f"{about.namespace or 'default'}/{owner.name}", owner.uid)
        if found is None:
            return
        yield found
        about = found.metadata
