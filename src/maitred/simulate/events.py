"""The event loop under simulations and forecasts: what is to come, and one moment after another.

A run on it says what may happen, in the order in which it does at one moment, what each event does, and
whether what was expected still comes true. All of a moment happens before what follows from it does, so that
a run does not depend on how its events came to be known.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T", int, float)
Handler = Callable[[Any], None]


class EventLoop(Generic[T]):
    def __init__(self, now: T, handlers: Mapping[Any, Handler]) -> None:
        self.now: T = now
        self._handlers = handlers
        self._events: list[tuple[T, IntEnum, int, Any]] = []
        self._pushed = 0

    def __len__(self) -> int:
        """How much is to come, as far as it is known."""
        return len(self._events)

    def expect(self, time: T, kind: IntEnum, what: object = None) -> None:
        """Of what comes as a stream, only the next is expected at a time."""
        self._pushed += 1
        heapq.heappush(self._events, (time, kind, self._pushed, what))

    def next_event(self) -> tuple[T, IntEnum] | None:
        """What does not come true any more is no moment. Where many are interrupted, that is most of it."""
        while self._events:
            time, kind, _, what = self._events[0]
            if self.is_due(kind, what):
                return time, kind
            heapq.heappop(self._events)
        return None

    def times_of(self, *kinds: IntEnum) -> Iterator[T]:
        return (time for time, kind, _, _ in self._events if kind in kinds)

    def advance(self, until: T) -> None:
        """All that happens until then is one moment: it happens, and then what follows from it."""
        while self._events and self._events[0][0] <= until:
            time, kind, _, what = heapq.heappop(self._events)
            if self.is_due(kind, what):
                self.now = time
                self._handlers[kind](what)
        self.settle()

    def is_due(self, kind: IntEnum, what: Any) -> bool:
        """Whether what was expected still comes true."""
        return True

    def settle(self) -> None:
        """What follows from a moment."""
