"""`python -m tests.docs.refresh [PAGE ...]`: write into the pages what their commands print now.

Outputs that agree stay as they are, ages and all. Those with a line of `...`, or with `…`, do too: what to
leave out is for the author to say, so if they no longer agree they are named. A page on which a sandbox is
started takes about a minute.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.versions import RELEASES
from tests.docs import evening
from tests.docs.console import ANY_LINES, ANY_WORDS, Block, Step, agrees, blocks, has_evening, pages, replay


def refreshed(block: Block, outputs: Sequence[str | None]) -> str:
    """The block with these outputs of its commands; None is for one that stays as it is."""
    text = ""
    for step, output in zip(block.steps, outputs, strict=True):
        shown = "".join(f"{line}\n" for line in step.shown)
        if output is not None and has_gaps(step):
            sys.stdout.write(f"{block}: {step.command}: look at this one yourself\n{output}")
        elif output is not None:
            shown = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
        text += f"{step.written}\n{shown}"
    return text


def has_gaps(step: Step) -> bool:
    return any(line.strip() == ANY_LINES or ANY_WORDS in line for line in step.shown)


def changed(page: Path) -> Iterator[tuple[Block, list[str | None]]]:
    """Each block, with the outputs that the page does not show."""
    if has_evening(page):
        yield from after_an_evening(page)
        return
    for block in blocks(page):
        with TemporaryDirectory() as folder:
            fresh = dict(replay(block, Path(folder)))
        yield (
            block,
            [None if agrees(step.shown, fresh.get(step, "")) else fresh.get(step) for step in block.steps],
        )


def after_an_evening(page: Path) -> Iterator[tuple[Block, list[str | None]]]:
    kubectl = programs(RELEASES["1.37.1"], print) / "kubectl"
    with TemporaryDirectory() as folder:
        played = list(evening.play(page, Path(folder), kubectl))
    for block, steps in groupby(played, key=itemgetter(0)):
        yield block, [None if evening.shows(step.shown, text) else text for _, step, text in steps]


def main() -> None:
    for page in map(Path.absolute, map(Path, sys.argv[1:])) if sys.argv[1:] else pages():
        text = page.read_text()
        for block, outputs in changed(page):
            text = text.replace(f"```console\n{block.text}```", f"```console\n{refreshed(block, outputs)}```")
        page.write_text(text)


if __name__ == "__main__":
    main()
