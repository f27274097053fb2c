"""The floors: the arithmetic of a decision on bare arrays, without anything that has to be remembered."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.snapshot import Snapshot

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Request = Sequence[tuple[int, int]]
"""Column and amount of each resource that a pod asks for."""

NEVER = np.iinfo(np.int64).max


def free_of(snapshot: Snapshot) -> Ints:
    return snapshot.nodes.allocatable - snapshot.used


def request_of(snapshot: Snapshot, shape: int) -> Request:
    """Resources that no node has are left out, so that the floor has an answer for every shape."""
    columns = snapshot.nodes.resource_column
    requests = snapshot.needs[snapshot.shapes[shape].needs].requests
    return [(column, amount) for name, amount in requests if (column := columns(name)) is not None]


def copies_of(free: Ints, request: Request) -> Ints:
    copies: Ints | None = None
    for column, amount in request:
        fit = free[column] // amount
        copies = fit if copies is None else np.minimum(copies, fit, out=copies)
    assert copies is not None, "every pod takes one of `pods`"
    return np.maximum(copies, 0, out=copies)


def take(free: Ints, request: Request, copies: Ints, rows: NDArray[np.intp], count: int) -> int:
    """Fill these nodes in their order, as far as they go; how many were seated."""
    total = np.cumsum(copies[rows])
    last = min(int(np.searchsorted(total, count)), len(rows) - 1)
    taken = copies[rows[: last + 1]]
    taken[last] -= max(0, int(total[last]) - count)
    for column, amount in request:
        free[column, rows[: last + 1]] -= amount * taken
    return int(taken.sum())


def seat_in_one_domain(free: Ints, codes: NDArray[np.int32], request: Request, count: int) -> int:
    """The domain that is filled best, of all that hold the gang; every domain is counted exactly."""
    copies = copies_of(free, request)
    room = np.bincount(codes, weights=copies)
    best = int(np.where(room >= count, room, NEVER).argmin())
    take(free, request, copies, np.flatnonzero(codes == best), count)
    return best


def seat_anywhere(free: Ints, mask: Mask, request: Request, count: int) -> int:
    """The fullest nodes first, of those that the mask allows; nothing if they do not hold the gang."""
    copies = np.where(mask, copies_of(free, request), 0)
    rows = np.flatnonzero(copies)
    if int(copies.sum()) < count:
        return 0
    return take(free, request, copies, rows[np.argsort(copies[rows], kind="stable")], count)


def seat_all(free: Ints, gangs: Iterable[Sequence[tuple[Mask, Request, int]]]) -> int:
    """Gangs of one or more shapes, each shape in one pass."""
    return sum(seat_anywhere(free, mask, request, count) for gang in gangs for mask, request, count in gang)
