"""Saying how far something is that takes minutes, and during which nothing else may have anything to say.

A tool that downloads or links is silent for a long time. Whoever reads a log cannot tell it from one that
hangs, so there is a line every so often, whatever the tool does.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

Progress = Callable[[str], None]

SECONDS_BETWEEN_LINES = 20.0


@contextmanager
def telling(say: Progress, words: Callable[[], str]) -> Iterator[None]:
    """Say it now, and again from time to time until the block ends, with how long it has taken."""
    began, ended = time.monotonic(), Event()

    def repeat() -> None:
        with suppress(OSError):  # Nobody reads any more: who does the work finds out too.
            while not ended.wait(SECONDS_BETWEEN_LINES):
                say(f"{words()}, {time.monotonic() - began:.0f} s so far")

    say(words())
    thread = Thread(target=repeat, name="telling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
