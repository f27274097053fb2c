"""The answer as a whole."""

from collections.abc import Collection

from msgspec import UNSET

from maitred.explain.capacity.constraints import constraints
from maitred.explain.capacity.document import Capacity
from maitred.explain.capacity.gangs import placeable
from maitred.explain.capacity.idle_claims import idle
from maitred.explain.capacity.moves import fragmented
from maitred.explain.capacity.partial import incomplete
from maitred.explain.capacity.precedence import precedence
from maitred.explain.capacity.queues import queue_rooms
from maitred.explain.capacity.survey import Survey
from maitred.explain.capacity.worth import preemption
from maitred.explain.situation import Situation


def capacity(situation: Situation, namespaces: Collection[str] | None = None) -> Capacity:
    """A pure function of the situation. All tries together are bounded, and counted. Of queues only those are
    told that these namespaces may use; None for all."""
    nodes = int(situation.snapshot.nodes.alive.sum())
    if not nodes:
        return Capacity(waiting=len(situation.snapshot.groups))
    survey = Survey(situation)
    has_queues = situation.snapshot.book is not None
    queues = queue_rooms(survey, namespaces) if has_queues else UNSET
    priced, orders = bool(situation.policy.prices.devices), precedence(survey)
    return Capacity(
        nodes=nodes,
        waiting=len(survey.waiting),
        resources=survey.everything,
        currency=situation.policy.prices.currency if priced else None,
        placeable=placeable(survey),
        fragmented=fragmented(survey),
        incomplete=incomplete(survey),
        orders=orders,
        preemption=preemption(survey, orders),
        constraints=constraints(survey),
        idle=idle(survey),
        kept_back=len(survey.kept_back_groups) if has_queues else UNSET,
        notes=tuple(dict.fromkeys(survey.notes)),
        queues=queues,
    )
