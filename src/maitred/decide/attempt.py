"""One attempt to seat a group on a trial, whatever its topology asks. The trial is left as it was."""

from maitred.cluster.nodes import Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.house import FULL_RULES, House, Leave
from maitred.decide.seating import required_domain, seat_within
from maitred.decide.seats import Steps
from maitred.decide.slices import seat_slices, whole_slices


def attempt(
    trial: Trial,
    ask: Ask,
    house: House,
    steps: Steps,
    leave: Leave = FULL_RULES,
    among: Mask | None = None,
) -> Assignment | None:
    """Seats for at least `ask.need` members and as many more as fit; None if that cannot be.

    `among` limits the search to some of the nodes.
    """
    within = required_domain(trial, ask, house, leave)
    if within is None:
        return None
    within = within if among is None else within & among
    if ask.topology.slice_size and "Topology" not in leave.lift:
        return seat_slices(trial, ask, within, house, steps, leave)
    return seat_within(trial, ask, within, house, steps, leave)


def quorum_of(ask: Ask, found: Assignment) -> Assignment:
    """The seats to take first: the rest waits until the quorums of others have had their turn."""
    return whole_slices(ask, found) if ask.topology.slice_size else found[: ask.need]
