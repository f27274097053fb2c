"""`maitred verify`: 0 when the laws hold, 1 when one is broken, 2 when the input is not valid."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from maitred.cli import cli
from tests.oracle import builders as b

NODES = [b.node("n1", cpu=4), b.node("n2", cpu=4)]


@pytest.fixture
def verify(tmp_path: Path) -> Any:
    """Runs the command on objects, and on a Plan if there is one."""

    def run(objects: list[dict[str, Any]], plan: object = None, *more: str) -> tuple[int, str, str]:
        (tmp_path / "objects.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        )
        arguments = ["verify", "-f", str(tmp_path / "objects.json"), *more]
        if plan is not None:
            (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
            arguments += ["--plan", str(tmp_path / "plan.yaml")]
        result = CliRunner().invoke(cli, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


def plan(*binds: tuple[str, str]) -> dict[str, Any]:
    entries = [
        {"pod": f"default/{pod}", "uid": f"default-{pod}", "node": node, "group": f"default/{pod}"}
        for pod, node in binds
    ]
    groups = [
        {"group": e["group"], "verdict": "Scheduled", "members": 1, "quorum": 1, "placed": 1, "blockers": []}
        for e in entries
    ]
    return {"apiVersion": "maitred.dev/v1alpha1", "kind": "Plan", "binds": entries, "groups": groups}


def test_a_plan_that_keeps_the_laws(verify: Any) -> None:
    objects = [*NODES, b.pod("a", 3), b.pod("b", 3)]
    assert verify(objects, plan(("a", "n1"), ("b", "n2"))) == (0, "Every law holds.\n", "")


def test_a_plan_that_overcommits(verify: Any) -> None:
    objects = [*NODES, b.pod("a", 3), b.pod("b", 3)]
    status, shown, _ = verify(objects, plan(("a", "n1"), ("b", "n1")))
    assert status == 1
    assert shown.startswith("LAW ")
    assert "1 No overcommit  n1" in shown
    assert shown.endswith("1 breach.\n")


def test_bindings_without_a_plan(verify: Any) -> None:
    assert verify([*NODES, b.pod("a", 3, node="n1")])[0] == 0
    status, shown, _ = verify(
        [*NODES, b.pod("a", 3, node="n1"), b.pod("b", 3, node="n1")], None, "-o", "json"
    )
    assert status == 1
    assert [found["law"] for found in json.loads(shown)["breaches"]] == [1]


def test_yaml_and_warnings(verify: Any) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    status, shown, errors = verify([*NODES, service], None, "-o", "yaml")
    assert (status, errors) == (0, "")
    assert yaml.safe_load(shown) == {
        "breaches": [],
        "warnings": ["Service of v1: not read (1 object skipped)"],
    }


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"kind": "Pod"}, "plan.yaml: kind: must be Plan"),
        (["a"], "plan.yaml: document 1: expected an object, got a list"),
        ({"kind": "Plan", "binds": 3}, "plan.yaml: Plan: binds: must be a list"),
        ({"kind": "Plan", "binds": [{"pod": 3}]}, "plan.yaml: Plan: binds[0].pod: must be a string"),
    ],
)
def test_a_plan_that_cannot_be_read(verify: Any, document: object, what: str) -> None:
    status, shown, errors = verify([*NODES], document)
    assert (status, shown) == (2, "")
    assert what in errors


def test_objects_that_cannot_be_read(verify: Any) -> None:
    status, _, errors = verify([b.node("n", cpu="x")])
    assert status == 2
    assert "objects.json: Node n: status.allocatable.cpu: 'x' is not a quantity" in errors
