"""Who owns a pod in the end: its controller, the controller of that, and so on.

A pod of a JobSet is controlled by a Job, the Job by the JobSet, and that perhaps by a TrainJob. Only owner
references with `controller: true` lead upwards, within one namespace, and only to the object with the UID
that they name: a label or a name that a tenant may copy makes nobody an owner.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from maitred.model.kinds import KINDS, Kind
from maitred.model.meta import ObjectMeta, OwnerReference, controller_of
from maitred.model.objects import Object
from maitred.model.owners import api_group

LONGEST_CHAIN = 8
"""Owners may name each other in a circle. No operator makes a chain of more than four."""

T = TypeVar("T", bound=Object)


class Found(Protocol):
    """The objects that whoever asks knows of."""

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """The object with this key; with a UID, none but the one that has it."""


_ROWS = {(row.group, row.name): row for row in KINDS if row.namespaced}
_BY_NAME = {row.name: row for row in reversed(KINDS) if row.namespaced}


def row_of_owner(owner: OwnerReference) -> Kind | None:
    """The row of the kind that an owner reference names; None if we do not read that kind. A reference
    without an API version was written by hand, and means the best known kind of that name."""
    if not owner.api_version:
        return _BY_NAME.get(owner.kind)
    return _ROWS.get((api_group(owner.api_version), owner.kind))


def series_of(about: ObjectMeta) -> tuple[Kind, OwnerReference] | None:
    """The CronJob that makes a Job again and again, which is no part of it."""
    owner = controller_of(about)
    row = None if owner is None else row_of_owner(owner)
    return None if owner is None or row is None or not row.serial else (row, owner)


class Chain(NamedTuple):
    """Who controls something, nearest first, as far as that is known."""

    owners: tuple[Object, ...] = ()
    unseen: OwnerReference | None = None
    """The next one, if it is of a kind that we read and is not known."""


def climb(namespace: str, owner: OwnerReference | None, known: Found) -> Chain:
    """From the controller that something in a namespace names."""
    found = list[Object]()
    for _ in range(LONGEST_CHAIN):
        row = None if owner is None else row_of_owner(owner)
        if owner is None or row is None or row.serial:
            break
        next_one = known.find(row.type, f"{namespace}/{owner.name}", owner.uid)
        if next_one is None:
            return Chain(tuple(found), owner)
        found.append(next_one)
        owner = controller_of(next_one.metadata)
    return Chain(tuple(found))


def owners_above(about: ObjectMeta, known: Found) -> Sequence[Object]:
    """The objects that control this one, nearest first, as far as they are known."""
    return climb(about.namespace or "default", controller_of(about), known).owners
