"""How much: the six questions of capacity, and why devices are idle.

Free devices do not say whether the next gang can be placed. `capacity(scene)` asks the engine: it counts as
the engine counts, and whatever it says would happen, the engine has tried.
"""

from maitred.explain.capacity.constraints import constraints
from maitred.explain.capacity.document import Capacity
from maitred.explain.capacity.gangs import asked_about, placeable
from maitred.explain.capacity.idle import idle
from maitred.explain.capacity.moves import fragmented
from maitred.explain.capacity.partial import incomplete
from maitred.explain.capacity.survey import Survey
from maitred.explain.capacity.worth import preemption
from maitred.explain.scene import Scene

__all__ = ["Capacity", "asked_about", "capacity"]


def capacity(scene: Scene) -> Capacity:
    """A pure function: the same scene gives the same answer. All tries together are bounded, and counted."""
    nodes = int(scene.snapshot.nodes.alive.sum())
    if not nodes:
        return Capacity(waiting=len(scene.snapshot.groups))
    survey = Survey(scene)
    priced = bool(scene.policy.prices.devices)
    return Capacity(
        nodes=nodes,
        waiting=len(survey.waiting),
        resources=survey.resources,
        currency=scene.policy.prices.currency if priced else None,
        placeable=placeable(survey),
        fragmented=fragmented(survey),
        incomplete=incomplete(survey),
        preemption=preemption(survey),
        constraints=constraints(survey),
        idle=idle(survey),
        notes=tuple(survey.notes),
    )
