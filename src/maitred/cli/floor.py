"""The floor on a terminal: once, or for as long as someone watches."""

import asyncio
import errno
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import click
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from maitred.explain.floorplan import ClusterFloor
from maitred.explain.floorplan_tables import floor_lines
from maitred.sandbox.world.watcher import WorldWatcher

REFRESH_SECONDS = 0.25
PIPE_SECONDS = 1.0
REST = 9
"""Times as long as a picture took, nothing is drawn after it."""


def render(
    floor: ClusterFloor, now: datetime, width: int | None = None, height: int | None = None
) -> RenderableType:
    return Text("\n").join(floor_lines(floor, now, width, height))


class FloorView:
    """For `rich`: the floor as it is whenever it is drawn, in the space that there is, and lines below it."""

    def __init__(self, watcher: WorldWatcher, below: Sequence[str] = ()) -> None:
        self._watcher = watcher
        self._below = below

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = (options.height or console.height) - len(self._below) - 1
        yield render(self._watcher.floor(), datetime.now(UTC), options.max_width, height)
        yield from map(Text, self._below)


async def show(watcher: WorldWatcher) -> None:
    """Until it is cancelled. Ages go on growing, so a terminal is drawn again although nothing happened."""
    if not sys.stdout.isatty():
        await print_changes(watcher)
        return
    view = FloorView(watcher)
    with Live(view, auto_refresh=False, screen=True) as live:
        while True:
            began = time.monotonic()
            check_terminal()
            live.update(view, refresh=True)
            await asyncio.sleep(pause_since(began))


def check_terminal() -> None:
    """Raises OSError once what is drawn cannot be seen: `rich` draws nothing then, and does not tell."""
    if not sys.stdout.isatty():
        raise OSError(errno.EIO, "the terminal was closed")


def pause_since(began: float) -> float:
    """After a picture that was begun then. A large floor takes long to draw, and others need the core."""
    return max(REFRESH_SECONDS, REST * (time.monotonic() - began))


async def print_changes(watcher: WorldWatcher) -> None:
    seen = -1
    while True:
        seen = await watcher.news.after(seen)
        click.echo("\n".join(line.plain for line in floor_lines(watcher.floor(), datetime.now(UTC))) + "\n")
        await asyncio.sleep(PIPE_SECONDS)
