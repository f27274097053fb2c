"""`python -m tests.docs.refresh [PAGE ...]`: write into the pages what their commands print now.

Outputs that agree stay as they are, ages and all. Those with a line of `...`, or with `…`, do too: what to
leave out is for the author to say, so if they no longer agree they are named. A page on which a sandbox is
started takes about a minute.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.versions import RELEASES
from tests.docs import evening
from tests.docs.console import ANY_LINES, ANY_WORDS, Block, Step, agrees, blocks, has_evening, pages, replay


def refreshed(block: Block, fresh: Mapping[Step, str]) -> str:
    text = ""
    for step in block.steps:
        shown = "".join(f"{line}\n" for line in step.shown)
        if step in fresh and not has_gaps(step):
            shown = "".join(f"{line.rstrip()}\n" for line in fresh[step].splitlines())
        elif step in fresh:
            sys.stdout.write(f"{block}: {step.command}: look at this one yourself\n{fresh[step]}")
        text += f"{step.written}\n{shown}"
    return text


def has_gaps(step: Step) -> bool:
    return any(line.strip() == ANY_LINES or ANY_WORDS in line for line in step.shown)


def changed(page: Path) -> dict[Block, dict[Step, str]]:
    """The commands of a page that do not print what it shows, with what they print."""
    found: dict[Block, dict[Step, str]] = {block: {} for block in blocks(page)}
    if has_evening(page):
        kubectl = programs(RELEASES["1.37.1"], print) / "kubectl"
        with TemporaryDirectory() as folder:
            for block, step, text in evening.play(page, Path(folder), kubectl):
                if not evening.shows(step.shown, text):
                    found[block][step] = text
        return found
    for block in found:
        with TemporaryDirectory() as folder:
            fresh = replay(block, Path(folder))
        found[block] = {step: text for step, text in fresh if not agrees(step.shown, text)}
    return found


def main() -> None:
    for page in map(Path.absolute, map(Path, sys.argv[1:])) if sys.argv[1:] else pages():
        text = page.read_text()
        for block, fresh in changed(page).items():
            text = text.replace(f"```console\n{block.text}```", f"```console\n{refreshed(block, fresh)}```")
        page.write_text(text)


if __name__ == "__main__":
    main()
