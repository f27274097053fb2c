"""`maitred defrag` from end to end, on dumps."""

import json

import msgspec
import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.explain.maintenance.answer import DefragPlan
from tests.decide.draining import NOW, node
from tests.decide.test_making_room import BIG, NODES, SMALL
from tests.docs.console import ROOT
from tests.oracle import builders as b
from tests.oracle.builders import Obj

EXAMPLE = ["-f", str(ROOT / "examples/defrag"), "--now", "2026-03-01T12:00:00Z"]


def invoke(*arguments: str, objects: list[Obj] | None = None) -> Result:
    text = None if objects is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    files = [] if objects is None else ["-f", "-", "--now", NOW]
    return CliRunner().invoke(cli, ["defrag", *arguments, *files], input=text)


def plan_of(*arguments: str, objects: list[Obj]) -> DefragPlan:
    result = invoke(*arguments, "-o", "json", objects=objects)
    assert result.exit_code == 0, result.output
    return msgspec.json.decode(result.stdout, type=DefragPlan)


def test_the_example_shows_who_moves_when_and_what_starts() -> None:
    result = invoke(*EXAMPLE)
    assert (result.exit_code, result.stderr) == (0, "")
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith("default/")}
    assert "now" in rows["default/llama"]
    assert "2026-03-01T12:10:00Z" in rows["default/mixtral"]
    assert "3 pods would move, so that 2 groups start with 24 devices" in result.stdout


def test_one_group_may_be_asked_about() -> None:
    result = invoke("mixtral", *EXAMPLE)
    assert "default/llama" not in result.stdout
    assert "1 group starts with 8 devices" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nobody"], "default/nobody does not wait because of fragmentation"),
        (["--by", "yesterday"], "--by"),
        (["--apply"], "nothing can be moved in a dump"),
    ],
)
def test_bad_input_is_named(arguments: list[str], told: str) -> None:
    result = invoke(*arguments, *EXAMPLE)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


def test_who_cannot_move_is_told_why() -> None:
    bare = [b.pod("small", gpu=2, node="n2")]
    [room] = plan_of(objects=[*NODES, *bare, *BIG]).rooms
    assert (room.leaves, room.at) == ("stays", None)
    assert room.why == "no controller would recreate default/small"
    assert "No group would start by moving others." in invoke(objects=[*NODES, *bare, *BIG]).stdout


def test_where_nothing_is_scattered_it_says_so() -> None:
    assert "No group waits because of fragmentation." in invoke(objects=[node("n1"), *SMALL]).stdout
