"""`maitred health` from end to end."""

import json
import re
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.explain.health.answer import FleetHealth
from maitred.explain.health.tables import FAMILIES, MOST_ROWS, STATES
from maitred.model.health.signals import Family, Kind
from maitred.model.health.tables import CONDITIONS, NOTICES
from maitred.model.health.xids import XIDS
from tests.docs.console import ROOT
from tests.explain.healths import crew, nodes
from tests.oracle import builders as b
from tests.oracle.builders import Obj

EXAMPLE = ["-f", str(ROOT / "examples/health"), "--now", "2026-01-31T12:00:00Z"]
PAGE = (ROOT / "docs/health.md").read_text()


def invoke(*arguments: str, objects: list[Obj] | None = None) -> Result:
    text = None if objects is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    files = [] if objects is None else ["-f", "-", "--now", "2026-01-31T12:00:00Z"]
    return CliRunner().invoke(cli, ["health", *files, *arguments], input=text)


def test_the_example_says_what_is_unwell_and_who_is_hurt() -> None:
    result = invoke(*EXAMPLE)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "Unwell nodes",
        "Hurt groups",
        "Counts for nothing",
        "3 of 6 nodes are unwell or leaving; 3 groups are hurt, 1 of them below its quorum.",
    ]


def test_as_data() -> None:
    found = json.loads(invoke(*EXAMPLE, "-o", "json").stdout)
    assert (found["apiVersion"], found["kind"]) == ("maitred.dev/v1alpha1", "Health")
    assert tuple(found) == FleetHealth.__struct_encode_fields__
    assert yaml.safe_load(invoke(*EXAMPLE, "-o", "yaml").stdout) == found
    assert msgspec.convert(found, FleetHealth).unwell[0].node == "r3-n02"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("r3-n01", 0),
        ("r3-n02", 6),
        ("r4-n01", 6),
        ("team-a/train", 6),
        ("team-a/train-0", 6),
        ("research/sweep", 6),
        ("nobody", 2),
        ("team-b/train", 2),
        ("", 2),
        ("x" * 500, 2),
    ],
)
def test_the_exit_status_is_about_the_one_that_was_named(name: str, status: int) -> None:
    result = invoke(name, *EXAMPLE)
    assert result.exit_code == status, result.output
    assert bool(result.stderr) == (status == 2)


def test_a_name_without_a_namespace_is_in_the_namespace_of_the_option() -> None:
    result = invoke("train", *EXAMPLE, "-n", "team-a")
    assert (result.exit_code, "team-a/train" in result.stdout) == (6, True)


def test_a_cluster_that_is_well_says_so_in_one_line() -> None:
    result = invoke(objects=[*nodes(2), *crew("n0", "n1")])
    assert result.stdout == "0 of 2 nodes are unwell or leaving; no group is hurt.\n"


def test_long_lists_are_cut_for_people_only() -> None:
    lost = [b.node(f"n{i:02}", ready=None) for i in range(MOST_ROWS + 5)]
    assert "and 5 more nodes; -o json has all of them" in invoke(objects=lost).stdout
    assert len(json.loads(invoke("-o", "json", objects=lost).stdout)["unwell"]) == MOST_ROWS + 5


def test_nothing_that_tenants_write_moves_the_cursor() -> None:
    pod = b.pod("p", node="n0", annotations={"maitred.dev/step-time": "\x1b[2J"})
    assert "\x1b" not in invoke(objects=[*nodes(1), pod]).stdout


def members_of(literal: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = literal.__args__
    return found


@pytest.mark.parametrize("word", [*members_of(Kind), *members_of(Family), *STATES])
def test_the_page_explains_every_word(word: str) -> None:
    assert f"| `{word}` |" in PAGE


def test_every_family_has_its_words() -> None:
    assert set(FAMILIES) == set(members_of(Family))


@pytest.mark.parametrize("key", [*(row.type for row in CONDITIONS), *(row.key for row in NOTICES)])
def test_the_page_lists_every_condition_and_notice(key: str) -> None:
    assert f"`{key}`" in PAGE


def test_the_page_lists_every_xid() -> None:
    [line] = [line for line in PAGE.splitlines() if line.startswith("| XID |")]
    listed = PAGE.partition(line)[2].partition("\n\n")[0]
    assert sorted(map(int, re.findall(r"\b\d{2,3}\b", listed))) == sorted(row.xid for row in XIDS)
