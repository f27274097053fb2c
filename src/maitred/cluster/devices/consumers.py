"""Who uses allocated claims: once all of them are gone, the devices are free."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.load import Load
from maitred.cluster.snapshot import BoundPods, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """Of claims that only bound pods use; claims that are kept for others are left out."""

    of_claim: dict[str, Rows]
    """Their places among the bound pods."""
    claims_of: dict[int, tuple[str, ...]]


def claims_without_users(load: Load, pods: Rows, gone: bool = True) -> set[str]:
    """Claims of these pods that nobody uses any more, now that they are gone; or that are used again."""
    users = _users(load)
    claims = {claim for pod in pods.tolist() for claim in users.claims_of.get(pod, ())}
    return {claim for claim in claims if load.here[users.of_claim[claim]].any() != gone}


def claims_by_pod(load: Load) -> dict[int, tuple[str, ...]]:
    """Claims that only bound pods use, by the places of these among them."""
    return _users(load).claims_of


def kept_when_empty(load: Load) -> set[str]:
    """Claims of pods that belong to their nodes: a load without others has only these."""
    return set(_users(load).of_claim)


def _users(load: Load) -> Users:
    derived, key = load.snapshot.allocated.derived, "users" if load.occupied else "users when empty"
    known: tuple[object, Users] | None = derived.get(key)
    if known is None or (load.occupied and known[0] is not load.bound):
        known = derived[key] = (load.bound, _find_users(load))
    return known[1]


def _find_users(load: Load) -> Users:
    of_claim, claims_of = dict[str, Rows](), dict[int, list[str]]()
    for claim, found, others in claim_users(load.snapshot, load.bound):
        if found and not others:
            of_claim[claim] = np.array(sorted(found), dtype=np.intp)
            for place in found:
                claims_of.setdefault(place, []).append(claim)
    return Users(of_claim, {place: tuple(claims) for place, claims in claims_of.items()})


def claim_users(snapshot: Snapshot, bound: BoundPods) -> Iterator[tuple[str, set[int], bool]]:
    """Every allocated claim, the places of the bound pods that use it, and whether it is kept for others."""
    places = {
        (occupant.key, occupant.uid): place
        for place, occupant in enumerate(bound.occupants)
        if occupant is not None
    }
    by_key = {key: place for (key, _), place in places.items()}
    groups = {one.group.key: number for number, one in enumerate(snapshot.seated) if one is not None}
    for claim, status in snapshot.allocated.claims.items():
        consumers = status.reserved_for
        namespace, found, others = claim.partition("/")[0], set[int](), not consumers
        for consumer in consumers:
            key = f"{namespace}/{consumer.name}"
            if consumer.resource == "pods":
                place = places.get((key, consumer.uid)) if consumer.uid else by_key.get(key)
                members = [] if place is None else [place]
            else:
                number = groups.get(key)
                members = [] if number is None else np.flatnonzero(bound.group == number).tolist()
            found.update(members)
            others |= not members
        yield claim, found, others
