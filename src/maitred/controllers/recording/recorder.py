"""What is recorded: a journal of the cluster state, and each decision with all that it was asked."""

import time
from datetime import datetime

import msgspec

from maitred import __version__
from maitred.cluster.snapshot import Snapshot
from maitred.controllers.recording.ring import Ring
from maitred.controllers.scheduling.agenda import Selection
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.recording import (
    KINDS,
    VERSION,
    Came,
    Decision,
    Gone,
    Leaving,
    Look,
    Opening,
    Rules,
    encode,
    recorded,
)


class Recorder:
    """Of one term: a new term reads the cluster anew. On the event loop, but for the writing itself."""

    def __init__(self, ring: Ring, scheduler: str | None) -> None:
        self._ring = ring
        self._scheduler = scheduler
        self._known: dict[tuple[str, str], bytes] = {}
        """What there is, each as the line that says so: the start of the next segment."""
        self._leaving: dict[str, bytes] = {}
        """And what was said of pods since they were last put."""
        self._lines: list[bytes] = []
        self._policy: Policy | None = None
        self._is_open = False

    # -- the journal of the state ----------------------------------------------------------------------

    def put(self, item: Object) -> None:
        kind, bare = recorded(item)
        key = key_of(item.metadata)
        line = self._known[kind, key] = encode(Came(kind, msgspec.Raw(encode(bare)), time.time()))
        if kind == "Pod":
            self._leaving.pop(key, None)
        self._note(line)

    def delete(self, kind: type[Object], key: str) -> None:
        name = next(name for name, model in KINDS.items() if issubclass(kind, model))
        self._known.pop((name, key if "/" in key else f"default/{key}"), None)
        if name == "Pod":
            self._leaving.pop(key, None)
        self._note(encode(Gone(name, key, time.time())))

    def set_leaving(self, pod: str, uid: str, leaving: bool) -> None:
        line = self._leaving[pod] = encode(Leaving(pod, uid, leaving))
        self._note(line)

    def _note(self, line: bytes) -> None:
        if self._is_open:
            self._lines.append(line)

    # -- decisions -------------------------------------------------------------------------------------

    def look(self, snapshot: Snapshot, policy: Policy, now: datetime, selection: Selection) -> None:
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
            self._lines.append(encode(Rules(policy)))
        groups = tuple(view.group.key for view in snapshot.groups if view.group.key in selection)
        explained = None if selection.explained is None else tuple(sorted(selection.explained))
        self._lines.append(encode(Look(now.isoformat(), groups, explained)))

    def decided(self, plan: Plan) -> None:
        if self._is_open:
            self._lines.append(encode(Decision(plan)))
            self._ring.write(self._lines)
            self._lines = []

    def _begin(self) -> None:
        opening = encode(Opening(VERSION, __version__, self._scheduler, time.time()))
        self._ring.begin([opening, *self._known.values(), *self._leaving.values()])
        self._lines, self._policy, self._is_open = [], None, True
