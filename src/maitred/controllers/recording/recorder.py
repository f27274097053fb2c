"""What is recorded: the chronicle of the cluster state, and each decision with all that it was asked."""

import time
from datetime import datetime

from maitred import __version__
from maitred.cluster.snapshot import Snapshot
from maitred.controllers.recording.change_lines import ChangeLines, Subject
from maitred.controllers.recording.ring import Ring
from maitred.controllers.scheduling.worklist import CycleSelection
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.recording import VERSION, Decision, Look, Opening, PolicyInForce, encode
from maitred.model.rotation import Rotation


class DecisionRecorder:
    """Of one term: a new term reads the cluster anew. On the event loop, but for the writing itself."""

    def __init__(self, ring: Ring, chronicle: ChangeLines, scheduler: str | None) -> None:
        self._ring = ring
        self._chronicle = chronicle
        self._scheduler = scheduler
        self._lines: list[bytes] = []
        self._policy: Policy | None = None
        self._is_open = False
        chronicle.readers.append(self)

    def note(self, subject: Subject, line: bytes) -> None:
        if self._is_open:
            self._lines.append(line)

    def look(
        self, snapshot: Snapshot, policy: Policy, now: datetime, selection: CycleSelection, rotation: Rotation
    ) -> None:
        """Before a decision, while the state is what the snapshot says."""
        if self._ring.behind:
            self._is_open = False
        elif not self._is_open or self._ring.wants_segment:
            self._begin()
        if not self._is_open:
            self._lines.clear()
            return
        if policy != self._policy:
            self._policy = policy
            self._lines.append(encode(PolicyInForce(policy)))
        groups = tuple(view.group.key for view in snapshot.groups if view.group.key in selection)
        explained = None if selection.explained is None else tuple(sorted(selection.explained))
        self._lines.append(encode(Look(now.isoformat(), groups, explained, rotation)))

    def decided(self, plan: Plan) -> None:
        if self._is_open:
            self._lines.append(encode(Decision(plan)))
            self._ring.write(self._lines)
            self._lines = []

    def _begin(self) -> None:
        opening = encode(Opening(VERSION, __version__, self._scheduler, time.time()))
        self._ring.begin([opening, *self._chronicle.lines()])
        self._lines, self._policy, self._is_open = [], None, True
