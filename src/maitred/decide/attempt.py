"""One attempt to seat a group on a trial, whatever its topology asks. The trial is left as it was."""

from maitred.cluster.nodes import Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.context import FULL_RULES, Context, Waiver
from maitred.decide.queues.admission import choices, is_limited, within_limits
from maitred.decide.seating import required_domain, seat_within
from maitred.decide.seats import Steps
from maitred.decide.slices import seat_slices, whole_slices
from maitred.decide.trees import TreeSeating, quorum_of_tree


def attempt(
    trial: Trial,
    ask: Ask,
    context: Context,
    steps: Steps,
    waiver: Waiver = FULL_RULES,
    among: Mask | None = None,
) -> Assignment | None:
    """Seats for at least `ask.need` members and as many more as fit; None if that cannot be.

    `among` limits the search to some of the nodes.
    """
    within = required_domain(trial, ask, context, waiver)
    if within is None:
        return None
    within = within if among is None else within & among
    if not is_limited(trial, ask, waiver):
        return _seat_apart(trial, ask, within, context, steps, waiver)
    return _seat_admitted(trial, ask, within, context, steps, waiver)


def _seat_admitted(
    trial: Trial, ask: Ask, within: Mask, context: Context, steps: Steps, waiver: Waiver
) -> Assignment | None:
    """On devices of the first model that its queue lets it use and that has seats for it."""
    assert trial.queues is not None
    for choice in choices(trial.queues, ask, context.policy):
        there = within if choice.nodes is None else within & choice.nodes
        found = _seat_apart(trial, choice.ask, there, context, steps, waiver)
        admitted = found and within_limits(trial.queues, ask, found)
        if admitted:
            return admitted
    return None


def _seat_apart(
    trial: Trial, ask: Ask, within: Mask, context: Context, steps: Steps, waiver: Waiver
) -> Assignment | None:
    """Not on nodes that it should avoid, if there are others."""
    if ask.avoided:
        elsewhere = within.copy()
        elsewhere[list(ask.avoided)] = False
        found = _seat(trial, ask, elsewhere, context, steps, waiver)
        if found:
            return found
    return _seat(trial, ask, within, context, steps, waiver)


def _seat(
    trial: Trial, ask: Ask, within: Mask, context: Context, steps: Steps, waiver: Waiver
) -> Assignment | None:
    if ask.parts is not None:
        return TreeSeating(trial, ask, ask.parts, context, steps, waiver).seat(within)
    if ask.topology.slice_size and "Topology" not in waiver.lift:
        return seat_slices(trial, ask, within, context, steps, waiver)
    return seat_within(trial, ask, within, context, steps, waiver)


def quorum_of(ask: Ask, found: Assignment) -> Assignment:
    """The seats to take first: the rest waits until the quorums of others have had their turn."""
    if ask.parts is not None:
        return quorum_of_tree(ask.parts, found)
    return whole_slices(ask, found) if ask.topology.slice_size else found[: ask.need]
