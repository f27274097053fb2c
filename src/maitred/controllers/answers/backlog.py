"""What the process that answers has yet to hear from the one that schedules.

The scheduling process writes down every change once, as it comes (see `recording.chronicle`), and this keeps
the lines that were not handed over yet, the latest of each object. So a question costs the scheduling loop no
snapshot and no search: it passes on bytes that are there already.
"""

from collections.abc import Callable

import msgspec

from maitred.controllers.answers.orders import OrderBox, OrderOutcome
from maitred.controllers.recording.change_lines import LEAVING, ChangeLines, Subject
from maitred.model.policy import Policy


class Update(msgspec.Struct, frozen=True):
    """What is new. Lines are those of a record."""

    leading: bool
    """Whether anything is known: another scheduler leads, or the cluster is being read."""
    afresh: bool = False
    """Forget what was said before: this is everything."""
    scheduler: str | None = None
    policy: Policy | None = None
    """None if it is the one before."""
    lines: tuple[bytes, ...] = ()
    group_api: bool | None = None
    """Whether the API server has PodGroups."""
    done: tuple[OrderOutcome, ...] = ()
    """What has become of orders."""


class Backlog:
    """On the event loop alone, for one listener."""

    def __init__(self) -> None:
        self.orders = OrderBox()
        """What the listener orders."""
        self._chronicle: ChangeLines | None = None
        self._policy: Callable[[], Policy] = Policy
        self._scheduler: str | None = None
        self._group_api: bool | None = None
        self._unsaid: dict[Subject, bytes] | None = None
        """None: nothing was said yet, so all of the chronicle is to be."""
        self._said_policy: Policy | None = None

    def begin(
        self,
        chronicle: ChangeLines,
        policy: Callable[[], Policy],
        scheduler: str | None,
        group_api: bool | None = None,
    ) -> None:
        """A term has read the cluster."""
        self._chronicle, self._policy, self._scheduler = chronicle, policy, scheduler
        self._group_api = group_api
        chronicle.readers.append(self)
        self.start_over()

    def end(self) -> None:
        self._chronicle = None
        self.start_over()

    def start_over(self) -> None:
        """Whoever listens now has heard nothing."""
        self._unsaid = self._said_policy = None

    def note(self, subject: Subject, line: bytes) -> None:
        if self._unsaid is None:
            return
        self._unsaid.pop(subject, None)  # the later line goes to the end
        self._unsaid[subject] = line
        if subject[0] == "Pod":
            self._unsaid.pop((LEAVING, subject[1]), None)

    def update(self) -> Update:
        if self._chronicle is None:
            return Update(leading=False, done=self.orders.outcomes())
        unsaid, self._unsaid = self._unsaid, {}
        policy = self._policy()
        news = None if policy is self._said_policy else policy
        self._said_policy = policy
        lines = self._chronicle.lines() if unsaid is None else unsaid.values()
        done = self.orders.outcomes()
        return Update(True, unsaid is None, self._scheduler, news, tuple(lines), self._group_api, done)
