"""Whether a group will be done by its deadline, and what would save it if not."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import NO_GROUP, GroupView
from maitred.decide.deadlines import due, due_group
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.situation import Situation
from maitred.explain.why.answer import DueAnswer, EndAnswer
from maitred.model.deadlines import Due
from maitred.model.duration import written
from maitred.model.plan import Remedy
from maitred.model.runtime import EXPECTED_RUNTIME
from maitred.model.words import moment


def due_of_waiting(
    situation: Situation, view: GroupView, estimate: Estimate | None, remedies: Sequence[Remedy]
) -> DueAnswer | None:
    """By the forecast, and by what is certain: it does not start before now, or before it may."""
    found = due(view, situation.snapshot.book)
    if found is None:
        return None
    now = round(situation.now.timestamp() * 1000)
    certain = due_group(view, found, now)
    answer = DueAnswer(certain.deadline, certain.runs_for, certain.said, certain.latest_start)
    if found.deadline <= now:
        return with_words(answer, True, "it has passed")
    if found.latest_start is None:
        what = f"nobody says how long it runs, so it is not known when it must start: set {EXPECTED_RUNTIME}"
        return with_words(answer, None, what)
    must = f"it takes {certain.runs_for} by {found.said}, so it must start by {certain.latest_start}"
    late = lateness(found.latest_start, estimate, certain.at_risk)
    if not late:
        known = estimate is not None and estimate.likely is not None
        outlook = "it is expected to" if known else "it is not known whether it will"
        return with_words(answer, False if known else None, f"{must}; {outlook}")
    saved = "".join(f"; to save it, {one.change}" for one in remedies[: 0 if certain.at_risk else 1])
    return with_words(answer, True, f"{must}; at risk: {late}{saved}")


def lateness(latest_start: int, estimate: Estimate | None, certain: bool) -> str:
    """Why it will not start in time; empty if it may."""
    if certain:
        return "it cannot start by then any more"
    if estimate is None or estimate.earliest is None:
        return ""
    likely = estimate.likely or estimate.earliest
    if datetime.fromisoformat(likely).timestamp() * 1000 <= latest_start:
        return ""
    about = "about" if estimate.likely else "not before"
    return f"it is expected to start {about} {likely}"


def due_of_seated(situation: Situation, rows: Rows, ends: EndAnswer | None) -> DueAnswer | None:
    """Of a group that has its places: whether it ends in time, as far as its end is known."""
    snapshot, bound = situation.snapshot, situation.snapshot.bound
    staying = rows[~bound.terminating[rows]]
    if not len(staying):
        return None
    pod = int(np.min(staying))
    seated = snapshot.seated[bound.group[pod]] if bound.group[pod] != NO_GROUP else None
    stay = snapshot.stays[bound.stay[pod]] if seated is None else seated.runtime.stay
    at = stay.timing.deadline
    if at is None:
        return None
    answer = DueAnswer(moment(at // 1000))
    if ends is None:
        return with_words(answer, None, f"it is not known when it ends: set {EXPECTED_RUNTIME}")
    late = datetime.fromisoformat(ends.at).timestamp() * 1000 > at
    return with_words(answer, late, f"it ends {'later' if late else 'in time'}, {ends.words}")


def with_words(answer: DueAnswer, at_risk: bool | None, words: str) -> DueAnswer:
    return msgspec.structs.replace(answer, at_risk=at_risk, words=f"{answer.deadline}; {words}")


def words_of_start(found: Due, start: str | None) -> str:
    """Of something planned that would start then: whether it would be done in time."""
    at = moment(found.deadline // 1000)
    if found.runs_for is None or found.latest_start is None:
        return f"{at}; nobody says how long it runs: set {EXPECTED_RUNTIME}"
    takes = f"it takes {written(found.runs_for)} by {found.said}"
    if start is None:
        return f"{at}; {takes}, and it is not known when it would start"
    begun = round(datetime.fromisoformat(start).timestamp() * 1000)
    end, kept = moment((begun + found.runs_for) // 1000), begun <= found.latest_start
    return f"{at}; {takes}: it would be done about {end}, {'in time' if kept else 'too late'}"
