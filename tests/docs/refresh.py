"""`python -m tests.docs.refresh`: write into the pages what their commands print now.

Outputs with a line of `...` are left as they are: which lines to leave out is for the author to say. Those
that no longer agree are named.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.console import ANY_LINES, Block, agrees, blocks, pages, replay


def refreshed(block: Block) -> str:
    with TemporaryDirectory() as folder:
        actual = dict(replay(block, Path(folder)))
    text = ""
    for step in block.steps:
        shown = "".join(f"{line}\n" for line in step.shown)
        if step in actual and ANY_LINES not in map(str.strip, step.shown):
            shown = "".join(f"{line.rstrip()}\n" for line in actual[step].splitlines())
        elif step in actual and not agrees(step.shown, actual[step]):
            sys.stdout.write(f"{block}: {step.command}: look at this one yourself\n{actual[step]}")
        text += f"{step.written}\n{shown}"
    return text


def main() -> None:
    for page in pages():
        text = page.read_text()
        for block in blocks(page):
            text = text.replace(f"```console\n{block.text}```", f"```console\n{refreshed(block)}```")
        page.write_text(text)


if __name__ == "__main__":
    main()
