"""The tables of docs/simulate.md have the columns that readers ask for."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from maitred.model.manifest import InputError
from maitred.model.world import Levels
from maitred.simulate.traces.causes import read_causes
from maitred.simulate.traces.gangs import Split, read_itp, read_muri
from maitred.simulate.traces.nodes import read_lingjun, read_openb_nodes
from maitred.simulate.traces.openb import read_openb_pods
from maitred.simulate.traces.workers import WorkerRequests

PAGE = Path(__file__).parents[3] / "docs" / "simulate.md"
SPLIT = Split(8, WorkerRequests())

READERS: dict[str, Callable[[bytes], object]] = {
    "Nodes: lingjun": lambda data: read_lingjun(data, "f", {}, Levels()),
    "Nodes: openb": lambda data: read_openb_nodes(data, "f"),
    "Jobs: itp": lambda data: read_itp(data, "f", SPLIT),
    "Jobs: muri": lambda data: read_muri(data, "f", SPLIT),
    "Jobs: openb": lambda data: read_openb_pods(data, "f", timed=True),
    "Causes of faults": lambda data: read_causes(data, "f"),
}


def columns(title: str) -> list[str]:
    """Those that are required."""
    (section,) = re.findall(rf"^#### {title}\n(.*?)(?=^##)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|(?!.*\| no \|)", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"\w+", cell)]


@pytest.mark.parametrize("title", READERS)
def test_a_format_needs_all_columns_that_its_table_has_and_no_other(title: str) -> None:
    documented = columns(title)
    assert "there is no such column" not in refusal(title, documented)
    for column in documented:
        words = refusal(title, [name for name in documented if name != column])
        assert words.startswith(f"f: line 1: {column}: there is no such column")


def refusal(title: str, header: list[str]) -> str:
    try:
        READERS[title](",".join(header).encode())
    except InputError as problem:
        return str(problem)
    return ""
