"""Which volume each claim gets: what the trial has given out, by the names of claims."""

from collections.abc import Iterable, Iterator, Sequence

from maitred.cluster.journal import Seated
from maitred.cluster.snapshot import GroupView
from maitred.cluster.supply.volumes import Volumes
from maitred.cluster.trial import Trial
from maitred.decide.ask import Assignment
from maitred.model.plan import VolumeChoice

Spare = dict[tuple[int, int, int], list[str]]
"""By shape, row and place among the volumes of the shape: volumes that exist, for pods that are alike."""


def choose_volumes(
    trial: Trial, view: GroupView, seats: Assignment, entries: Iterable[Seated]
) -> Iterator[VolumeChoice]:
    """What the claims of a group get that wait for their first pod. A claim that several members share comes
    once for each of them: the first counts.

    `entries` are those by which the members in `seats` were seated.
    """
    if not view.claims:
        return
    volumes, names = trial.supply(Volumes), trial.nodes.names
    spare = _spare(volumes, entries)
    for member, row in sorted(seats):
        shape = int(view.shapes[member])
        for place, (claim, need) in enumerate(
            zip(view.claims[member], trial.shape(shape).volumes, strict=True)
        ):
            if need.unbound and need.handle:
                yield VolumeChoice(claim, volumes.shared_volume(need.handle), names[row])
            elif need.unbound:
                left = spare.get((shape, row, place))
                yield VolumeChoice(claim, left.pop(0) if left else None, names[row])


def _spare(volumes: Volumes, entries: Iterable[Seated]) -> Spare:
    spare: Spare = {}
    for entry in entries:
        if volumes.asked_by(entry.shape):
            for row, given in volumes.given(entry):
                for place, found in enumerate(given):
                    spare.setdefault((entry.shape, row, place), []).extend(found)
    return spare


def each_once(choices: Iterable[VolumeChoice]) -> Sequence[VolumeChoice]:
    """By claim; of several choices for one claim the first."""
    first: dict[str, VolumeChoice] = {}
    for choice in choices:
        first.setdefault(choice.claim, choice)
    return [first[claim] for claim in sorted(first)]
