"""When a group that has its places ends, and by whose word."""

from itertools import chain

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, Snapshot
from maitred.explain.situation import Situation
from maitred.explain.why.answer import EndAnswer
from maitred.model.runtime import NO_TERMS, End, EndSource, ends_of, with_stay
from maitred.model.words import moment

WORDS: dict[EndSource, str] = {
    "job-deadline": "by {}",
    "pod-deadline": "by {}",
    "asked": "by its limit, {}",
    "queue-default": "by the default of queue {}",
    "queue-most": "by the most that queue {} allows",
    "expected": "by its own estimate, {}",
}


def end_of(situation: Situation, rows: Rows) -> EndAnswer | None:
    """Of the group with members in these rows: what somebody enforces, or else the earliest estimate."""
    snapshot, bound = situation.snapshot, situation.snapshot.bound
    staying = rows[~bound.terminating[rows]]
    started = bound.started[staying][bound.started[staying] != UNKNOWN_TIME]
    if not len(started):
        return None
    ends = stated_ends(snapshot, int(staying[0]), int(np.min(started)))
    found = next(chain((one for one in ends if one.enforced), ends), None)
    if found is None:
        return None
    return EndAnswer(moment(found.at // 1000), found.source, found.enforced, words_of(found))


def stated_ends(snapshot: Snapshot, pod: int, started: int) -> tuple[End, ...]:
    """When the group of a pod, or a lone pod, ends by all who say so, the earliest first. `started`: when its
    first member did, in milliseconds since 1970."""
    bound, book = snapshot.bound, snapshot.book
    seated = snapshot.seated[bound.group[pod]] if bound.group[pod] != NO_GROUP else None
    lone, stay = snapshot.standings[bound.standing[pod]].runtime, snapshot.stays[bound.stay[pod]]
    runtime = with_stay(lone, stay) if seated is None else seated.runtime
    terms = NO_TERMS if book is None else book.run_terms(int(book.account_of_bound[pod]))
    return ends_of(started, runtime, terms)


def words_of(end: End) -> str:
    at, whose = moment(end.at // 1000), WORDS[end.source].format(end.said)
    if end.enforced:
        return f"at {at} at the latest, {whose}"
    return f"about {at}, {whose}: an estimate, nothing ends it then"
