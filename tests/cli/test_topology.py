"""`maitred topology` from end to end."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from maitred.cli import cli
from tests.oracle import builders as b

NODES = [b.node(f"n{i}", gpu=8, rack=f"r{i // 2}", zone="z0") for i in range(4)]
POLICY = "topology: {levels: [{name: zone, key: topology.kubernetes.io/zone}, {name: shelf, key: rack}]}"


def run(*arguments: str, objects: list[dict[str, Any]] = NODES) -> tuple[str, str]:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    result = CliRunner().invoke(cli, ["topology", "-f", "-", *arguments], input=text)
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return str(path)


def test_the_tree(policy: str) -> None:
    shown, _ = run("--policy", policy)
    assert "zone z0     4      32 of 32" in shown
    assert "  shelf r0  2      16 of 16" in shown
    assert shown.endswith("4 nodes; 2 levels, no problems.\n")


def test_as_data(policy: str) -> None:
    found = json.loads(run("--policy", policy, "-o", "json")[0])
    assert list(found) == [
        *("apiVersion", "kind", "nodes", "unwell", "levels", "domains", "problems", "candidates", "warnings")
    ]
    assert (found["apiVersion"], found["kind"]) == ("maitred.dev/v1alpha1", "Topology")
    assert found["levels"][1] == {
        "name": "shelf",
        "key": "rack",
        "domains": 2,
        "largestFree": {"domain": "r0", "free": {b.GPU: "16", "cpu": "16", "memory": "64Gi"}},
    }
    (zone,) = found["domains"]
    assert [shelf["domain"] for shelf in zone["domains"]] == ["r0", "r1"]
    assert yaml.safe_load(run("--policy", policy, "-o", "yaml")[0]) == found


def test_the_levels_that_groups_name() -> None:
    gang = [b.pod_group("crew", 2, "rack"), *b.pods("crew", 2, 1, group="crew")]
    found = json.loads(run("-o", "json", objects=[*NODES, *gang])[0])
    assert [level["key"] for level in found["levels"]] == ["rack"]


def test_no_levels_and_no_nodes() -> None:
    assert "look like levels" in run()[0]
    assert run(objects=[])[0] == "There are no nodes.\n"


def test_warnings() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    shown, errors = run(objects=[*NODES, job])
    assert errors.startswith("warning: Job: this command does not create its pods")
    assert "warning" not in shown
    assert json.loads(run("-o", "json", objects=[*NODES, job])[0])["warnings"]


def test_bad_input_is_refused() -> None:
    result = CliRunner().invoke(cli, ["topology", "-f", "-"], input="kind: [")
    assert result.exit_code == 2
    assert result.stderr.startswith("standard input: ")


def test_the_verb_is_listed() -> None:
    assert "topology" in CliRunner().invoke(cli, ["--help"]).stdout
