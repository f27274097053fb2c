"""Who would start if groups that wait might sit elsewhere: each for itself, or all of them in one cycle."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

import msgspec

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import ask_of
from maitred.explain.capacity.survey import Survey
from maitred.explain.remedies.rehearsal import SEARCH_STEPS_PER_UNIT, Entry
from maitred.explain.remedies.rerun import rerun
from maitred.model.group import TopologyRequest

Change = Callable[[TopologyRequest], TopologyRequest]
HELD = "maitred.dev/held"
"""A gate that keeps a group from having a turn."""


def seated_alone(survey: Survey, entries: Iterable[Entry], change: Change) -> list[Entry]:
    """Who would be seated in its turn, if only this group were changed."""
    return _fitting(survey, survey.in_turn(entries), change)


def started_together(survey: Survey, entries: Sequence[Entry], change: Change) -> list[Entry] | None:
    """Who would start if all of them were changed: the cycle is run again. None if that takes too long.

    Where nobody of these fits even before the cycle has seated anybody, there is no need to.
    """
    empty = Trial.of(survey.snapshot)
    fitting = {entry.number for entry in _fitting(survey, ((entry, empty) for entry in entries), change)}
    hopeful = [entry for entry in entries if entry.number in fitting or not survey.stage.plain(entry)]
    if not hopeful or survey.effort.spent:
        return None if survey.effort.spent else []
    turns = [*_standing(survey), *hopeful, *_rivals(survey, entries, hopeful)]
    if survey.units(len({survey.stage.kin(entry) for entry in turns})) > survey.effort.left:
        survey.note_effort()
        return None
    return _rerun(survey, entries, turns, change)


def _fitting(survey: Survey, trials: Iterable[tuple[Entry, Trial]], change: Change) -> list[Entry]:
    """Who fits on the trial that comes with it; on each there is as little room as on the one before."""
    found, too_large = list[Entry](), set[Hashable]()
    for entry, trial in trials:
        if survey.effort.spent:
            survey.note_effort()
            break
        kin = survey.stage.kin(entry)
        if kin in too_large:
            continue
        ask = ask_of(entry.view)
        ask = replace(ask, topology=change(ask.topology))
        if survey.stage.seats(trial, ask, survey.quick_house):
            found.append(entry)
        elif survey.stage.plain(entry):
            too_large.add(kin)
    return found


def _standing(survey: Survey) -> list[Entry]:
    return [entry for entry in survey.stage.entries if not entry.waits]


def _rivals(survey: Survey, entries: Sequence[Entry], hopeful: Sequence[Entry]) -> list[Entry]:
    """Others who wait, and may not if someone sits elsewhere, before the last of these has had its turn.

    Room only shrinks where nobody else is seated in the cycle: then who finds none finds none again.
    """
    stage, theirs = survey.stage, {entry.number for entry in entries}
    last = max(map(stage.last_to_matter, hopeful))
    may_move = any(other.place > hopeful[0].place for other in _standing(survey))
    between = (other for other in survey.waiting if hopeful[0].place < other.place < last)
    return [other for other in between if other.number not in theirs and (may_move or not stage.plain(other))]


def _rerun(survey: Survey, entries: Sequence[Entry], turns: Sequence[Entry], change: Change) -> list[Entry]:
    """The cycle again, in which only these have a turn."""
    live, changed = {entry.number for entry in turns}, {entry.number for entry in entries}
    views = tuple(
        _view(view, number in live, change if number in changed else None)
        for number, view in enumerate(survey.snapshot.groups)
    )
    snapshot: Snapshot = replace(survey.snapshot, groups=views)
    again = rerun(snapshot, survey.policy, survey.scene.now, known={})
    survey.spend(again.tried)
    survey.effort.spend(again.steps // SEARCH_STEPS_PER_UNIT)
    return [entry for entry in entries if again.standings[entry.number] == "Scheduled"]


def _view(view: GroupView, live: bool, change: Change | None) -> GroupView:
    if change is not None:
        topology = change(view.group.topology)
        view = replace(view, group=msgspec.structs.replace(view.group, topology=topology))
    return view if live else replace(view, gates=((HELD,),) * len(view.pods))
