"""Whether a scheduler runs that would seat a group, as far as Leases show, where no scheduler answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from maitred.explain.why.seen import Leases, SeenLease
from maitred.model.meta import key_of
from maitred.model.words import moment

LEASE_OF = {"default-scheduler": "kube-scheduler"}
"""Schedulers whose Leases are not called as they are."""
SLACK_SECONDS = 60.0
"""Beyond its duration, before a Lease that was not renewed counts as let go: clocks differ."""


@dataclass(frozen=True, slots=True)
class Absence:
    words: str
    sure: bool
    """Whether the scheduler would have been seen if it ran; else nobody can say."""


def lease_of(scheduler: str) -> str:
    return LEASE_OF.get(scheduler, scheduler)


def absence(leases: Leases | None, schedulers: Sequence[str]) -> Absence | None:
    """None if each of these schedulers runs, or if a scheduler answers."""
    if leases is None:
        return None
    for scheduler in schedulers:
        own = [lease for lease in leases.found if lease.metadata.name == lease_of(scheduler)]
        if any(is_held(lease, leases) for lease in own):
            continue
        named = f"its pods name scheduler {scheduler}"
        if not own and leases.doubt:
            return Absence(f"{named}; {leases.doubt}", sure=False)
        seen = let_go(own[0]) if own else f"there is no Lease {lease_of(scheduler)}"
        return Absence(
            f"no scheduler will place it: {named}, and no scheduler of that name seems to run ({seen})",
            sure=True,
        )
    return None


def is_held(lease: SeenLease, leases: Leases) -> bool:
    renewed = lease.spec.renew_time
    if not lease.spec.holder_identity or renewed is None:
        return False
    age = 0.0 if leases.at is None else (leases.at - renewed).total_seconds()
    return age <= lease.spec.lease_duration_seconds + SLACK_SECONDS


def let_go(lease: SeenLease) -> str:
    name, renewed = key_of(lease.metadata), lease.spec.renew_time
    if not lease.spec.holder_identity or renewed is None:
        return f"Lease {name} has no holder"
    return f"Lease {name} was last renewed at {moment(int(renewed.timestamp()))}"
