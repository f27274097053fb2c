"""Who would start if groups that wait might sit elsewhere: each for itself, or all of them in one cycle."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

import msgspec

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import ask_of
from maitred.explain.capacity.survey import Survey
from maitred.explain.remedies.rehearsal import SEARCH_STEPS_PER_UNIT, RankedGroup
from maitred.explain.remedies.rerun import rerun
from maitred.model.group import TopologyRequest

Widening = Callable[[TopologyRequest], TopologyRequest]
HELD = "maitred.dev/held"
"""A gate that keeps a group from having a turn."""


def seated_alone(survey: Survey, ranked_groups: Iterable[RankedGroup], change: Widening) -> list[RankedGroup]:
    """Who would be seated in its turn, if only this group were changed."""
    return _fitting(survey, survey.in_turn(ranked_groups), change)


def started_together(
    survey: Survey, ranked_groups: Sequence[RankedGroup], change: Widening
) -> list[RankedGroup] | None:
    """Who would start if all of them were changed: the cycle is run again. None if that takes too long.

    Where nobody of these fits even before the cycle has seated anybody, there is no need to.
    """
    empty = Trial.of(survey.snapshot)
    fitting = {
        ranked.number for ranked in _fitting(survey, ((ranked, empty) for ranked in ranked_groups), change)
    }
    hopeful = [
        ranked for ranked in ranked_groups if ranked.number in fitting or not survey.rehearsal.plain(ranked)
    ]
    if not hopeful or survey.effort.spent:
        return None if survey.effort.spent else []
    turns = [*_standing(survey), *hopeful, *_rivals(survey, ranked_groups, hopeful)]
    if survey.units(len({survey.rehearsal.kin(ranked) for ranked in turns})) > survey.effort.left:
        survey.note_effort()
        return None
    return _rerun(survey, ranked_groups, turns, change)


def _fitting(
    survey: Survey, trials: Iterable[tuple[RankedGroup, Trial]], change: Widening
) -> list[RankedGroup]:
    """Who fits on the trial that comes with it; on each there is as little room as on the one before."""
    found, too_large = list[RankedGroup](), set[Hashable]()
    for ranked, trial in trials:
        if survey.effort.spent:
            survey.note_effort()
            break
        kin = survey.rehearsal.kin(ranked)
        if kin in too_large:
            continue
        ask = ask_of(ranked.view)
        ask = replace(ask, topology=change(ask.topology))
        if survey.rehearsal.seats(trial, ask, survey.quick_context):
            found.append(ranked)
        elif survey.rehearsal.plain(ranked):
            too_large.add(kin)
    return found


def _standing(survey: Survey) -> list[RankedGroup]:
    return [ranked for ranked in survey.rehearsal.ranked_groups if not ranked.waits]


def _rivals(
    survey: Survey, ranked_groups: Sequence[RankedGroup], hopeful: Sequence[RankedGroup]
) -> list[RankedGroup]:
    """Others who wait, and may not if someone sits elsewhere, before the last of these has had its turn.

    Room only shrinks where nobody else is seated in the cycle: then who finds none finds none again.
    """
    rehearsal, theirs = survey.rehearsal, {ranked.number for ranked in ranked_groups}
    last = max(map(rehearsal.last_to_matter, hopeful))
    may_move = any(other.place > hopeful[0].place for other in _standing(survey))
    between = (other for other in survey.waiting if hopeful[0].place < other.place < last)
    return [
        other for other in between if other.number not in theirs and (may_move or not rehearsal.plain(other))
    ]


def _rerun(
    survey: Survey, ranked_groups: Sequence[RankedGroup], turns: Sequence[RankedGroup], change: Widening
) -> list[RankedGroup]:
    """The cycle again, in which only these have a turn."""
    live, changed = {ranked.number for ranked in turns}, {ranked.number for ranked in ranked_groups}
    views = tuple(
        _view(view, number in live, change if number in changed else None)
        for number, view in enumerate(survey.snapshot.groups)
    )
    snapshot: Snapshot = replace(survey.snapshot, groups=views)
    again = rerun(snapshot, survey.policy, survey.situation.now, known={})
    survey.spend(again.tried)
    survey.effort.spend(again.steps // SEARCH_STEPS_PER_UNIT)
    return [ranked for ranked in ranked_groups if again.standings[ranked.number] == "Scheduled"]


def _view(view: GroupView, live: bool, change: Widening | None) -> GroupView:
    if change is not None:
        topology = change(view.group.topology)
        view = replace(view, group=msgspec.structs.replace(view.group, topology=topology))
    return view if live else replace(view, gates=((HELD,),) * len(view.pods))
