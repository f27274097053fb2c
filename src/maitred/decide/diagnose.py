"""Why a group is not seated: one constraint at a time is lifted to see whether it is the one in the way."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide import blockers as say
from maitred.decide.ask import Ask, Assignment, ask_anew
from maitred.decide.attempt import attempt
from maitred.decide.compile import Lift, make_rules
from maitred.decide.empty import empty_healthy_cluster
from maitred.decide.house import FULL_RULES, House, Leave
from maitred.model.plan import Blocker, Category
from maitred.model.policy import health_taints

Found = tuple[tuple[Blocker, ...], bool]
Seating = tuple[tuple[int, int], ...]
"""Shapes and the rows they were seated on."""
Ahead = say.Ahead


class Diagnosis:
    """Verdicts on the groups that a cycle left waiting. `trial` is the cluster after its binds."""

    def __init__(self, snapshot: Snapshot, trial: Trial, house: House) -> None:
        self.snapshot, self.trial, self.house = snapshot, trial, house
        self.exhausted = False
        self._known: dict[tuple[Ask, Seating, Ahead], tuple[Blocker, ...]] = {}
        self._hopeless: dict[Ask, bool] = {}

    def of(self, view: GroupView, ask: Ask, own: Seating, ahead: Ahead) -> Found:
        """Blockers, weightiest first, and whether the group could never be seated at all.

        `own` are the members of the group that were seated in this cycle, `ahead` who was seated before it.
        """
        ask, whole = replace(ask, need=max(1, ask.need)), ask_anew(view)
        here, anywhere = (ask.unnamed(), own, ahead), whole.unnamed()
        if here not in self._known:
            self._known[here] = tuple(self._blockers(ask, own, ahead))
        if anywhere not in self._hopeless:
            self._hopeless[anywhere] = self._impossible(whole)
        return self._known[here], self._hopeless[anywhere]

    def _blockers(self, ask: Ask, own: Seating, ahead: Ahead) -> list[Blocker]:
        request = say.oversized(self.snapshot, self.house, ask)
        if request is not None:
            return [request]
        scene = say.Scene(self.trial, self.house, ask, self._nearest(ask))
        found = []
        if ahead and self._fitted_before(ask, own):
            found.append(say.priority(scene, ahead))
        found += [
            say.LIFTED[category](scene) for category in self._suspects(ask) if self._in_the_way(category, ask)
        ]
        return found or [say.shortage(scene), *self._besides(scene)]

    def _besides(self, scene: say.Scene) -> list[Blocker]:
        """What is wrong whatever room there is, and would still be in the way."""
        trial, ask = self.trial, scene.ask
        besides = []
        level = ask.topology.required or ask.topology.slice_level
        if level and not trial.nodes.column(self.house.key(level)).values:
            besides.append(say.topology(scene))
        if any(trial.needs(shape).device_claims for shape in ask.distinct):
            besides.append(say.devices(scene))
        if any(need.problem for shape in ask.distinct for need in trial.shape(shape).volumes):
            besides.append(say.volume(scene))
        return besides

    def _suspects(self, ask: Ask) -> list[Category]:
        """Constraints that the group is under at all, in the order in which they are named."""
        needs = [self.trial.needs(shape) for shape in ask.distinct]
        suspects: list[Category] = []
        if ask.topology.required or ask.topology.slice_size:
            suspects.append("Topology")
        if any(need.device_claims for need in needs):
            suspects.append("Devices")
        if self._healed.nodes is not self.trial.nodes:
            suspects.append("Health")
        if self._has_affinity(ask):
            suspects.append("Affinity")
        if any(self.trial.shape(shape).volumes for shape in ask.distinct):
            suspects.append("Volume")
        return suspects

    def _has_affinity(self, ask: Ask) -> bool:
        lifted: Lift = frozenset({"Affinity"})
        bound = make_rules(self.trial, ask.distinct, self.house.policy)
        free = make_rules(self.trial, ask.distinct, self.house.policy, lifted)
        closed = any(bool((f & ~b).any()) for f, b in zip(free.masks, bound.masks, strict=True))
        return closed or bound.ordered or len(bound.conflicts) > len(free.conflicts)

    def _in_the_way(self, category: Category, ask: Ask) -> bool:
        """Whether the group would be seated if this constraint alone were lifted."""
        trial = self._healed if category == "Health" else self.trial
        return self._fits(trial, ask, Leave(frozenset({category})))

    @cached_property
    def pristine(self) -> Trial:
        """The cluster before this cycle bound anything."""
        return Trial.of(self.snapshot)

    @cached_property
    def _healed(self) -> Trial:
        """The cluster with every node open and well."""
        well = self.trial.nodes.without_taints(health_taints(self.house.policy))
        return self.trial if well is self.trial.nodes else self.trial.on(well)

    @cached_property
    def _empty(self) -> Trial:
        return empty_healthy_cluster(self.snapshot, self.house.policy)

    def _fitted_before(self, ask: Ask, own: Seating) -> bool:
        """Whether the group would be seated if nobody else had been."""
        checkpoint = self.pristine.checkpoint()
        for shape, row in own:
            self.pristine.seat(shape, np.array([row], dtype=np.intp), np.ones(1, dtype=np.int64))
        fitted = self._fits(self.pristine, ask, FULL_RULES)
        self.pristine.rollback(checkpoint)
        return fitted

    def _fits(self, trial: Trial, ask: Ask, leave: Leave) -> bool:
        steps = self.house.steps()
        found = attempt(trial, ask, self.house, steps, leave)
        self.exhausted |= steps.exhausted
        return bool(found)

    def _nearest(self, ask: Ask) -> Assignment:
        """As many members as can be seated together now."""
        steps = self.house.steps()
        found = attempt(self.trial, replace(ask, need=1), self.house, steps) or []
        return found[: ask.need - 1]

    def _impossible(self, whole: Ask) -> bool:
        """Proven only if no seating exists on the empty healthy cluster, and none was overlooked."""
        steps = self.house.steps()
        leave = Leave(frozenset({"Devices"}), others_may_help=True)
        found = attempt(self._empty, whole, self.house, steps, leave)
        self.exhausted |= steps.exhausted
        return not found and not steps.exhausted
