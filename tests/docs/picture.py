"""`python -m tests.docs.picture`: the picture of a terminal in README.md, drawn anew from a real one.

`make up` is run until some gangs are seated and others wait; what its terminal shows becomes an SVG. It names
no font but the reader's own, and refers to nothing outside of itself.
"""

import re
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.versions import RELEASES
from tests.docs.console import ROOT
from tests.docs.evening import Evening
from tests.docs.shell import COLUMNS, plain

PICTURE = ROOT / "docs/images/floor.svg"
COMMAND = "make up"
_FONT_FACES = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def is_telling(frame: str) -> bool:
    """Four gangs have filled the floor, and the next two have been told what they wait for."""
    return frame.count("Scheduled") == 4 and frame.count("would fit") == 2


def svg(frame: str) -> str:
    """A frame, with its colours, as a picture."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    for line in Text.from_ansi(frame.rstrip()).split("\n"):
        line.rstrip()
        console.print(line, no_wrap=True)
    drawn = console.export_svg(title=COMMAND, theme=MONOKAI, unique_id="floor")
    own = (
        _FONT_FACES.sub("", drawn).replace("Fira Code, monospace", "monospace").replace("arial", "sans-serif")
    )
    return own.replace("    <!-- Generated with Rich https://www.textualize.io -->\n", "")


def main() -> None:
    kubectl = programs(RELEASES["1.37.1"], print) / "kubectl"
    with TemporaryDirectory() as folder, Evening(Path(folder), kubectl) as evening:
        frame = evening.watch(COMMAND, is_telling)
        assert is_telling(plain(frame)), plain(frame)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(svg(frame))
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
