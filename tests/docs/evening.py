"""Pages on which a sandbox is started are played as a reader would: from top to bottom, every command.

`maitred up` and `make up` have a terminal of their own, until `^C`. What the page shows of them is what the
screen shows at some moment. All other commands go to a second terminal, one after the other; settings
(`export`, and `.` of a file) are made on both. A command that only looks is given again until it shows what
the page shows, for half a minute at most: a reader is not as quick.

What differs between any two evenings is not compared: see `ALWAYS_DIFFERENT`.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.console import CTRL_C, ROOT, STATUS, Block, Step, agrees, blocks
from tests.docs.shell import Screen, Shell, plain

CHECKOUT = ("Makefile", "constraints.txt", "examples", "pyproject.toml", "src")
LOOKS_FOR_S = 30.0
PAUSE_S = 0.3
ALWAYS_DIFFERENT = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"(Resource Version: +)\d+"), r"\1<version>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
    (re.compile(r"(-\d+-)[a-z0-9]{5}\b"), r"\1<random>"),
    (re.compile(r"\b(\d+h)?(\d+m)?\d+(\.\d)?s\b|\b\d+m\b"), "<age>"),
    (re.compile(r"[ \t]+"), " "),
)
"""Times, ages and what is made up; columns are as wide as these. And what kubectl warns of all the time."""

_SETTING = re.compile(r"(export|\.) .*")
_LOOK = re.compile(r"(maitred (sandbox floor|health)|kubectl (get|describe))\b[^>]*")


class Evening:
    """A reader who has a checkout, with maitred installed in its `.venv`, and kubectl on the PATH."""

    def __init__(self, folder: Path, kubectl: Path) -> None:
        self._folder = folder / "maitred"
        self._environment = surroundings(folder, kubectl)
        self._settings: list[str] = []
        self.status = 0
        """Of the last command in the second terminal."""
        self._screen: Screen | None = None
        self._stack = ExitStack()
        check_out(self._folder)

    def __enter__(self) -> Self:
        self._shell = self._stack.enter_context(closing(Shell(self._folder, self._environment)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def do(self, step: Step) -> str:
        """What the reader sees."""
        if step.starts_a_sandbox:
            return self._start(step)
        if step.written == CTRL_C:
            return self._stop()
        if step.command == STATUS:
            return f"{self.status}\n"
        if _SETTING.fullmatch(step.command):
            self._settings.append(step.command)
        return self._look(step) if _LOOK.fullmatch(step.command) else self._run(step)

    def watch(self, command: str, holds: Callable[[str], bool]) -> str:
        """What a program draws as soon as this holds of its words, colours included."""
        assert self._screen is None, f"{command}: the terminal is taken until {CTRL_C}"
        lines = "\n".join([*self._settings, f"exec {command}"])
        self._screen = self._stack.enter_context(closing(Screen(lines, self._folder, self._environment)))
        return self._screen.show(holds)

    def _start(self, step: Step) -> str:
        return plain(self.watch(step.command, lambda frame: shows(step.shown, frame)))

    def _stop(self) -> str:
        assert self._screen is not None, f"{CTRL_C} of what?"
        left, self._screen = self._screen.leave(), None
        return left

    def _look(self, step: Step) -> str:
        deadline = time.monotonic() + LOOKS_FOR_S
        while not shows(step.shown, text := self._run(step)) and step.shown and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        return text

    def _run(self, step: Step) -> str:
        self.status, text = self._shell.run(step.command)
        return text


def play(page: Path, folder: Path, kubectl: Path) -> Iterator[tuple[Block, Step, str]]:
    """Every command of the page with what it shows now. Raises AssertionError if one fails unexpectedly."""
    steps = [(block, step) for block in blocks(page) for step in block.steps]
    after = [step.command for _, step in steps[1:]] + [""]
    with Evening(folder, kubectl) as evening:
        for (block, step), following in zip(steps, after, strict=True):
            text = evening.do(step)
            told = f"{block}: {step.command}: status {evening.status}\n{text}"
            assert evening.status == 0 or STATUS in (step.command, following), told
            yield block, step, text


def shows(shown: Sequence[str], actual: str) -> bool:
    return agrees(normal("".join(f"{line}\n" for line in shown)).splitlines(), normal(actual))


def normal(text: str) -> str:
    for always_different, instead in ALWAYS_DIFFERENT:
        text = always_different.sub(instead, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def surroundings(folder: Path, kubectl: Path) -> dict[str, str]:
    home, tools = folder / "home", folder / "tools"
    home.mkdir()
    tools.mkdir()
    (tools / "kubectl").symlink_to(kubectl)
    path = [part for part in os.environ["PATH"].split(":") if not Path(part, "maitred").exists()]
    known = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
    return {**known, "HOME": str(home), "PATH": ":".join([str(tools), *path])}


def check_out(folder: Path) -> None:
    """As a clone is after its first `make up`. What the page writes stays within the folder."""
    (folder / ".venv").mkdir(parents=True)
    (folder / ".venv/bin").symlink_to(Path(sys.prefix) / "bin")
    for name in CHECKOUT:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv/.runs").touch()
