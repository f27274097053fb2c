"""The state of the scheduling process, made again in the one that answers.

It belongs to the thread in which answers are worked out: there it is brought up to date, and there snapshots
of it are taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import msgspec

from maitred.cluster.state import ClusterState, Delete, Depart, Put
from maitred.controllers.answers.backlog import Update
from maitred.model import recording
from maitred.model.group import PodGroup
from maitred.model.meta import key_of
from maitred.model.policy import Policy


@dataclass(frozen=True, slots=True)
class View:
    """What a scheduler knows while it leads or watches, for those who answer questions, to read only."""

    state: ClusterState
    groups: Mapping[str, PodGroup]
    policy: Policy
    scheduler: str | None
    term: int = 0
    """Views of one term are of one state."""


class Replica:
    def __init__(self) -> None:
        self._terms = count(1)
        self._view: View | None = None

    @property
    def is_lost(self) -> bool:
        """Whether it has to hear everything."""
        return self._view is None

    def follow(self, update: Update) -> View | None:
        """What is known after this; None while the scheduling process stands by for another."""
        try:
            self._view = self._followed(update)
        except BaseException:
            self._view = None  # what was half done is no state of any cluster
            raise
        return self._view

    def _followed(self, update: Update) -> View | None:
        if not update.leading:
            return None
        view = self._view
        if update.afresh or view is None:
            if not (update.afresh and update.policy):
                raise ValueError("the first update of a term must be complete")
            state = ClusterState(workloads=update.policy.workloads, waits_for_owners=True)
            view = View(state, {}, update.policy, update.scheduler, next(self._terms))
            view.state.group_makers.served = update.group_api
        elif update.policy is not None:
            view.state.follow(update.policy.workloads)
            view = View(view.state, view.groups, update.policy, view.scheduler, view.term)
        groups = dict(view.groups)
        for line in update.lines:
            self._take(recording.decode(line), view.state, groups)
        return View(view.state, groups, view.policy, view.scheduler, view.term)

    def _take(self, line: recording.AnyLine, state: ClusterState, groups: dict[str, PodGroup]) -> None:
        if isinstance(line, recording.Came):
            item = msgspec.json.decode(line.object, type=recording.RECORDED[line.kind])
            state.apply(Put(item))
            if isinstance(item, PodGroup):
                groups[key_of(item.metadata)] = item
        elif isinstance(line, recording.Gone):
            kind = recording.RECORDED[line.kind]
            state.apply(Delete(kind, line.key))
            if kind is PodGroup:
                groups.pop(line.key, None)
        elif isinstance(line, recording.Leaving):
            state.apply(Depart(line.pod, line.uid, line.leaving))
