"""`maitred capacity` from end to end."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.explain.capacity.document import Capacity
from maitred.explain.capacity.tables import SECTIONS, capacity_lines, duration
from maitred.model.plan import Record
from tests.docs.console import ROOT
from tests.explain.capacity_situations import asked, crew, nodes
from tests.oracle import builders as b
from tests.oracle.builders import Obj

EXAMPLE = ["-f", str(ROOT / "examples/capacity"), "--now", "2026-01-31T12:00:00Z"]
POLICY = ["--policy", str(ROOT / "examples/policies/datacenter.yaml")]


def invoke(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["capacity", *arguments], input=text)


def run(*arguments: str, objects: list[Obj] | None = None) -> str:
    text = None if objects is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    files = [] if objects is None else ["-f", "-"]
    result = invoke(*files, *arguments, text=text)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_every_question_is_a_heading() -> None:
    lines = run(*EXAMPLE, *POLICY).splitlines()
    assert [line for line in lines if line.endswith("?")] == [question for question, _ in SECTIONS]
    assert lines[-1] == "8 nodes; 4 groups wait for room."


def test_as_data() -> None:
    found = json.loads(run(*EXAMPLE, *POLICY, "-o", "json"))
    assert (found["apiVersion"], found["kind"]) == ("maitred.dev/v1alpha1", "Capacity")
    fields: tuple[str, ...] = Capacity.__struct_encode_fields__
    of_queues = ("queues", "keptBack")  # the policy has none
    assert tuple(found) == tuple(name for name in fields if name not in of_queues)
    assert issubclass(Capacity, Record)
    assert yaml.safe_load(run(*EXAMPLE, *POLICY, "-o", "yaml")) == found


def test_a_gang_of_some_size() -> None:
    shown = run("--gang", "3", objects=[*nodes(2), b.pod("old", gpu=8, node="n0")])
    assert "A gang of 3" in shown
    assert "1 gpu              yes" in shown
    assert "node of 8 gpu      no" in shown
    found = json.loads(run("--gang", "3", "-o", "json", objects=nodes(2)))
    assert found["gang"] == 3
    assert found["placeable"][0]["ranks"][0]["gangs"][0]["fits"] == "now"


@pytest.mark.parametrize("gang", ["0", "-1", "many", "1000001"])
def test_a_gang_of_a_size_that_cannot_be(gang: str) -> None:
    result = invoke(*EXAMPLE, "--gang", gang)
    assert result.exit_code == 2
    assert "--gang" in result.stderr


def test_an_empty_cluster() -> None:
    nothing = invoke("-f", "-", text='{"apiVersion": "v1", "kind": "List", "items": []}')
    assert (nothing.exit_code, nothing.stdout) == (0, "There are no nodes; no group waits for room.\n")
    assert run(objects=crew("crew", 2)) == "There are no nodes; 1 group waits for room.\n"


def test_a_cluster_without_devices() -> None:
    shown = run(objects=[*nodes(2, gpu=0, cpu=8), *crew("crew", 3, "rack", cpu=8)])
    assert "cpu: 16 of 16 idle" in shown
    assert "1 group, 24 cpu" in shown


def test_a_cluster_on_which_nobody_waits() -> None:
    shown = run(objects=nodes(2))
    assert "None: no group runs with fewer members than its quorum." in shown
    assert "No waiting group could start by preemption." in shown
    assert "None: no waiting group has to be within one domain." in shown
    assert "16  Free  2 nodes  no waiting group asks for them" in shown
    assert shown.endswith("2 nodes; no group waits for room.\n")


def test_a_file_that_is_not_there() -> None:
    result = invoke("-f", "nowhere.yaml")
    assert result.exit_code == 2
    assert result.stderr.startswith("nowhere.yaml")


def test_lines_keep_to_the_width_of_a_terminal() -> None:
    low = [b.pod(f"low-{i}", gpu=4, node="n0", priority=-5) for i in range(2)]
    objects = [*nodes(4), *low, *crew("a-gang-with-a-name", 3, "rack", gpu=8), *crew("crew", 1, gpu=8)]
    found: Any = asked(objects, {"preemption": {"mode": "never"}})
    longest = max(len(line.plain) for line in capacity_lines(found, 100))
    assert longest <= 100


def test_money_is_shown_where_there_are_prices(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("prices: {currency: EUR, devices: [{perHour: 2}]}")
    shown = run(*EXAMPLE, "--policy", str(policy))
    assert "16.00 EUR an hour" in shown
    assert "2 device-hours, 4.00 EUR" in shown
    assert "EUR" not in run(*EXAMPLE)


@pytest.mark.parametrize(
    ("hours", "words"),
    [(0.0, "0m"), (0.001, "1m"), (0.5, "30m"), (1.25, "1h15m"), (47.9, "47h54m"), (52, "2d4h")],
)
def test_durations(hours: float, words: str) -> None:
    assert duration(hours) == words
