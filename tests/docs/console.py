"""Console blocks of the documentation: commands and what they print, read from the pages and run again.

A block is fenced as ```console. A line that starts with `$ ` is a command; what follows, up to the next
command, is its output on a terminal of 100 columns, standard error included. Commands of maitred are run, in
a folder where `examples` is, and `ledger.db` for those who name it; others are not. A line of `...` stands
for any lines, and `…` within a line for any words. `> file` works, and `$ echo $?` shows the status of the
command before; without it, the status must be 0.

Pages on which a sandbox is started are played as a whole, with all their commands: see `evening`.
"""

import io
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from maitred.cli import cli
from tests.docs.shell import without_bars
from tests.ledger.month import write_month

ROOT = Path(__file__).parents[2]
COLUMNS = 100
ANY_LINES = "..."
PROMPT = "$ "
STATUS = "echo $?"
CTRL_C = "^C"
LEDGER = "ledger.db"
ANY_WORDS = "…"

_FENCE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_UP = re.compile(r"(make up|(\S*/)?maitred up( (?!.*--help).*)?)")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Step:
    """One command, as the page writes it, and the output that it shows."""

    written: str
    shown: tuple[str, ...]

    @property
    def command(self) -> str:
        return self.written.removeprefix(PROMPT).replace("\\\n", " ")

    @property
    def starts_a_sandbox(self) -> bool:
        return _UP.fullmatch(self.command) is not None

    @property
    def arguments(self) -> list[str] | None:
        """What to give to maitred; None if it is another command."""
        words = shlex.split(self.command)
        return words[1:] if words[0] in ("maitred", ".venv/bin/maitred") else None


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def steps(self) -> list[Step]:
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith(PROMPT) or line == CTRL_C:
                found.append((line, []))
            elif found and found[-1][0].endswith("\\"):
                found[-1] = (f"{found[-1][0]}\n{line}", [])
            else:
                assert found, f"{self}: output without a command"
                found[-1][1].append(line)
        return [Step(written, tuple(lines)) for written, lines in found]


class Terminal(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.seek(0)
        return _STYLE.sub("", without_bars(self.read()))


def pages() -> list[Path]:
    """Every page that is ours: the benchmarks have numbers that differ from run to run."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(page for page in found if page.name != "benchmarks.md")


def has_evening(page: Path) -> bool:
    """Whether a sandbox is started on it."""
    return any(step.starts_a_sandbox for block in blocks(page) for step in block.steps)


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in _FENCE.finditer(text):
        yield Block(page, text.count("\n", 0, match.start()) + 1, match[1])


def run(arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """The status of a command and what a terminal would show of it."""
    words, file = list(arguments), None
    if ">" in words:
        file = folder / words[words.index(">") + 1]
        words = words[: words.index(">")]
    terminal, pipe = Terminal(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        chdir(folder),
        # With a home of its own: a reader's cluster, or a sandbox that runs beside the tests, is not asked.
        patch.dict(os.environ, {"COLUMNS": str(COLUMNS), "HOME": str(folder), "KUBECONFIG": ""}),
        redirect_stdout(pipe if file else terminal),
        redirect_stderr(terminal),
    ):
        try:
            cli.main(words, prog_name="maitred")
        except SystemExit as end:
            status = int(end.code or 0)
    if file:
        pipe.seek(0)
        file.write_text(pipe.read())
    return status, terminal.text()


def replay(block: Block, folder: Path) -> list[tuple[Step, str]]:
    """The commands of maitred in a block, each with what it prints now."""
    (folder / "examples").symlink_to(ROOT / "examples")
    if LEDGER in block.text:
        write_month(str(folder / LEDGER))
    done, status, steps = list[tuple[Step, str]](), 0, block.steps
    for number, step in enumerate(steps):
        arguments = step.arguments
        if arguments is not None:
            status, text = run(arguments, folder)
            asked = steps[number + 1].command == STATUS if number + 1 < len(steps) else False
            assert asked or status == 0, f"{block}: {step.command}: status {status}\n{text}"
            done.append((step, text))
        elif step.command == STATUS:
            done.append((step, f"{status}\n"))
    return done


def agrees(shown: Sequence[str], actual: str) -> bool:
    """Whether the output is what the page shows, `...` standing for any lines and `…` for any words."""
    parts = [r"(?:.*\n)*?" if line.strip() == ANY_LINES else f"{pattern(line.rstrip())}\n" for line in shown]
    lines = "".join(f"{line.rstrip()}\n" for line in actual.splitlines())
    return re.fullmatch("".join(parts), lines) is not None


def pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split(ANY_WORDS)))
