"""A replay for people."""

from collections.abc import Iterator

from rich.text import Text

from maitred.explain.replay import Difference, Replay
from maitred.model.words import counted, printable


def replay_lines(replay: Replay, other_policy: bool, width: int | None) -> Iterator[Text]:
    yield Text(_summary(replay, other_policy), style="bold")
    if replay.first is not None:
        first, last = _short(replay.first), _short(replay.last)
        yield Text(f"from {first} to {last}, in {counted(replay.segments, 'segment')}")
    if replay.recorded_by and replay.recorded_by != (replay.replayed_by,):
        then = ", ".join(replay.recorded_by)
        yield Text(f"recorded by maitred {then}, replayed by {replay.replayed_by}")
    for difference in replay.differences:
        yield from _difference(difference)
    untold = replay.differing_groups - len({one.group for one in replay.differences})
    if untold > 0:
        yield Text(f"... and {counted(untold, 'more group')}; -o json has the first hundred differences only")


def _summary(replay: Replay, other_policy: bool) -> str:
    made = counted(replay.decisions, "decision")
    if replay.same == replay.decisions:
        would = "would be the same by the other policy" if other_policy else "replayed, all the same"
        return f"{made} {would}"
    differ = f"{replay.decisions - replay.same} of {made}"
    groups = counted(replay.differing_groups, "group")
    if other_policy:
        return f"{differ} would have been different, for {groups}"
    return f"{differ} came out differently, for {groups}: please report it, with the record"


def _short(moment: str | None) -> str:
    """Without the fractions of a second, which the decision was made for and nobody reads."""
    return f"{moment[:19]}Z" if moment else "?"


def _difference(difference: Difference) -> Iterator[Text]:
    yield Text("")
    yield Text(printable(f"{_short(difference.at)}  {difference.group or 'outside the groups'}"))
    yield Text(printable(f"  recorded: {difference.recorded or 'not decided'}"))
    yield Text(printable(f"  replayed: {difference.replayed or 'not decided'}"))
