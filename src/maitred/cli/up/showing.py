"""What people see of the sandbox: the floor on a terminal, or a line for everything that happens."""

import asyncio
import logging
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import click
from rich.console import Console
from rich.live import Live

from maitred.cli.floor import FloorView, check_terminal, pause_since
from maitred.explain.floorplan import UNDECIDED, FloorRow
from maitred.explain.floorplan_tables import by_verdict
from maitred.model.words import counted, printable
from maitred.sandbox.world.player import row_words
from maitred.sandbox.world.watcher import WorldWatcher

OWN = "maitred"
LINES_OF_STORY = 3


class FloorDisplay(Protocol):
    def say(self, line: str) -> None:
        """Something that happens beside what the floor shows."""

    async def run(self) -> None:
        """Until it is cancelled."""


@contextmanager
def showing(watcher: WorldWatcher, kubeconfig: Path, url: str, verb: str) -> Iterator[FloorDisplay]:
    """`verb`: what of `maitred sandbox` to try on this one."""
    lines = welcome(kubeconfig, url, verb)
    if not sys.stdout.isatty():
        click.echo("\n".join(lines), err=False)
        yield FloorLines(watcher)
        return
    screen = Screen(watcher, lines)
    root = logging.getLogger()
    root.addHandler(screen.log)
    try:
        yield screen
    finally:
        root.removeHandler(screen.log)


def welcome(kubeconfig: Path, url: str, verb: str) -> list[str]:
    """Where everything is, and what to try next. Only commands that will work here."""
    path, program = shown(kubeconfig), own_name()
    if shutil.which("kubectl"):
        look = f"kubectl --kubeconfig {path} get podgroups,pods"
    else:
        look = f"{program} sandbox floor"
    return [
        f"The sandbox runs at {url}, its kubeconfig is {path}.",
        "Ctrl-C stops it. In another terminal:",
        f"  {look}",
        f"  {program} sandbox {verb}",
        f"  {program} sandbox fail rack=r1 --for 30s",
        "",
    ]


def own_name() -> str:
    """As it was called, unless the short name would do."""
    found = shutil.which(OWN)
    called = sys.argv[0]
    same = found is not None and Path(called).exists() and Path(found).samefile(called)
    return OWN if same or Path(called).name != OWN else called


def shown(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


class FloorLines:
    """For pipes and logs: a line whenever a group stands differently, and for more than a moment."""

    def __init__(self, watcher: WorldWatcher) -> None:
        self._watcher = watcher
        self._began = time.monotonic()
        self._seen: dict[str, str] = {}
        self._told: dict[str, str] = {}

    def say(self, line: str) -> None:
        click.echo(printable(f"{time.monotonic() - self._began:6.1f}s  {line}"))

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            now = words_of(self._watcher.floor().groups)
            for group, words in now.items():
                if self._seen.get(group) == words != self._told.get(group):
                    self._told[group] = words
                    self.say(words)
            self._seen = now
            await asyncio.sleep(pause_since(began))


def words_of(groups: Iterable[FloorRow]) -> dict[str, str]:
    """By group. Lone pods are told of in sum: a cluster may have thousands."""
    rows = [row for row in groups if row.members and row.why != UNDECIDED]
    words = {row.group: row_words(row, row.group) for row in rows if not row.lone}
    if alone := [row for row in rows if row.lone]:
        words[""] = f"{counted(len(alone), 'pod')} of no group: {by_verdict(alone)}"
    return words


class Screen:
    """The floor, drawn a few times a second, with the last words of the story and of the log below it."""

    def __init__(self, watcher: WorldWatcher, lines: list[str]) -> None:
        self.log = Log(self)
        self._lines = ["", *lines]
        self._story: list[str] = []
        self._below = list(self._lines)
        self._view = FloorView(watcher, self._below)

    def say(self, line: str) -> None:
        self._story = [*self._story, printable(line)][-LINES_OF_STORY:]
        self._below[:] = [*self._lines, *self._story]

    async def run(self) -> None:
        with Live(self._view, console=Console(), auto_refresh=False, screen=True) as live:
            while True:
                began = time.monotonic()
                check_terminal()
                live.update(self._view, refresh=True)
                await asyncio.sleep(pause_since(began))


class Log(logging.Handler):
    """Warnings go where the story goes: on a terminal that is drawn over, they could not be read."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        self._screen.say(f"{record.levelname.lower()}: {record.getMessage()}")
