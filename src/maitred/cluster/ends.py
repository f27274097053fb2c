"""When those who run end for certain, one moment for each pod on a node: by limits and deadlines that
somebody enforces."""

from functools import lru_cache

import numpy as np

from maitred.cluster.leaving import LATE, stuck_pods
from maitred.cluster.nodes import Ints
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, Snapshot
from maitred.model.runtime import NO_STAY, NO_TERMS, RunTerms, Runtime, limits_of, with_stay

NEVER = int(np.iinfo(np.int64).max // 4)
"""What is not known to come. Times and spans can be added up without an overflow."""

SERVICES = ("ReplicaSet", "StatefulSet", "ReplicationController")
"""What these own does not end by itself, and another would take its place."""


@lru_cache(maxsize=4096)
def enforced_spans(runtime: Runtime, terms: RunTerms) -> tuple[int, int]:
    """How long a pod keeps its place at most, from its own start, and from that of its group."""
    own, whole = NEVER, NEVER
    for limit in limits_of(runtime, terms):
        if limit.enforced and limit.source == "pod-deadline":
            own = min(own, limit.span)
        elif limit.enforced:
            whole = min(whole, limit.span)
    return own, whole


def end_of_start(start: int, runtime: Runtime, terms: RunTerms) -> int:
    """By when a group has ended for certain that starts then. Of a Job that had to end before nobody knows
    when it does."""
    known = runtime.stay.deadline
    deadline = NEVER if known is None or known <= start else known
    return min(start + min(enforced_spans(runtime, terms)), deadline, NEVER)


def enforced_ends(snapshot: Snapshot, now: int) -> Ints:
    """In milliseconds since 1970, all of them after `now`; NEVER where it is not known, or where nobody ends
    what should have ended."""
    ends = ends_as_said(snapshot, now)
    late = ends <= now
    ends[late] += LATE
    ends[snapshot.bound.fixed | stuck_pods(snapshot, now) | (ends <= now)] = NEVER
    return ends


def ends_as_said(snapshot: Snapshot, now: int) -> Ints:
    """The same as they were said, whether or not they have passed."""
    bound = snapshot.bound
    own, whole, deadline = _said(snapshot)
    started = np.where(bound.started == UNKNOWN_TIME, now, bound.started)
    grouped = bound.group != NO_GROUP
    first = np.full(len(snapshot.seated), NEVER, dtype=np.int64)
    np.minimum.at(first, bound.group[grouped], started[grouped])
    begun = started.copy()
    begun[grouped] = first[bound.group[grouped]]
    ends = np.minimum(np.minimum(started + own, begun + whole), deadline)
    leaves = bound.terminating & (bound.due != UNKNOWN_TIME)
    ends[leaves] = np.minimum(ends, bound.due)[leaves]
    return np.minimum(ends, NEVER)


def guessed_ends(snapshot: Snapshot, enforced: Ints, now: int) -> Ints:
    """The ends that are enforced, and a guess where that is sooner or there is none. Whoever says how long it
    runs is believed; of others, who has run for long will run for as long again. NEVER for those who do not
    end by themselves."""
    bound, spans = snapshot.bound, _expected(snapshot)
    started = np.where(bound.started == UNKNOWN_TIME, now, bound.started)
    guess = started + spans
    late = guess <= now
    guess[late | (spans == NEVER)] = (2 * now - started + 1)[late | (spans == NEVER)]
    found = np.minimum(enforced, guess)
    kinds = ("" if one is None else one.owner[0] for one in bound.occupants)
    services = np.array([kind in SERVICES for kind in kinds], dtype=np.bool_)
    found[bound.fixed | services | stuck_pods(snapshot, now)] = NEVER
    return found


def _expected(snapshot: Snapshot) -> Ints:
    """How long each says that it runs, in milliseconds; NEVER where it does not."""

    def told(runtime: Runtime | None) -> int:
        return NEVER if runtime is None or runtime.expected is None else runtime.expected

    bound = snapshot.bound
    groups = [told(None if one is None else one.runtime) for one in snapshot.seated]
    alone = np.array([*(told(one.runtime) for one in snapshot.standings), NEVER], dtype=np.int64)
    whole = np.array([*groups, NEVER], dtype=np.int64)[bound.group]
    found: Ints = np.where(bound.group == NO_GROUP, alone[bound.standing], whole)
    return found


def _said(snapshot: Snapshot) -> tuple[Ints, Ints, Ints]:
    """For each pod on a node: how long it may stay from its own start, and from that of its group, and until
    when. What is said alike is looked at once."""
    bound, book = snapshot.bound, snapshot.book
    account = np.zeros(len(bound.node), dtype=np.int64) if book is None else book.account_of_bound
    alone = bound.group == NO_GROUP
    said = (bound.standing.astype(np.int64) * len(snapshot.stays) + bound.stay) * (account.max(initial=0) + 1)
    said = np.where(alone, len(snapshot.seated) + said + account, bound.group)
    _, first, place = np.unique(said, return_index=True, return_inverse=True)
    found = np.full((3, len(first)), NEVER, dtype=np.int64)
    for number, pod in enumerate(first.tolist()):
        seated = None if alone[pod] else snapshot.seated[bound.group[pod]]
        lone, stay = snapshot.standings[bound.standing[pod]].runtime, snapshot.stays[bound.stay[pod]]
        runtime = with_stay(lone, stay) if seated is None else seated.runtime
        terms = NO_TERMS if book is None else book.run_terms(int(account[pod]))
        if runtime.limit is None and runtime.stay is NO_STAY and terms is NO_TERMS:
            continue
        until = NEVER if runtime.stay.deadline is None else runtime.stay.deadline
        found[:, number] = (*enforced_spans(runtime, terms), until)
    own, whole, deadline = found[:, place.reshape(-1)]
    return own, whole, deadline
