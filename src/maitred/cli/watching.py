"""The same question again and again, for as long as someone watches."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.text import Text

T = TypeVar("T")

SECONDS_BETWEEN = 5.0


def watch(
    look: Callable[[], T],
    lines: Callable[[T, int | None], "Iterator[Text]"] | None,
    write: Callable[[T], None],
    alike: Callable[[T], object],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Until Ctrl-C. On a terminal lines are drawn again in the same place; without any, and in a pipe, an
    answer is written whenever it is another one: when something differs that `alike` leaves of it."""
    with suppress(KeyboardInterrupt):
        if lines is not None and sys.stdout.isatty():
            _draw(look, lines, pause)
        last: object = None
        while True:
            found = look()
            if alike(found) != last:
                write(found)
            last = alike(found)
            pause(SECONDS_BETWEEN)


def _draw(
    look: Callable[[], T],
    lines: Callable[[T, int | None], "Iterator[Text]"],
    pause: Callable[[float], None],
) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, screen=True) as live:
        while True:
            live.update(Text("\n").join(lines(look(), live.console.width)), refresh=True)
            pause(SECONDS_BETWEEN)
