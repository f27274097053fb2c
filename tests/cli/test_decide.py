"""`maitred decide` from end to end: files in, a Plan out."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from maitred.cli import cli
from maitred.model.plan import Plan
from tests.oracle import builders as b

GANG = [b.pod_group("crew", 4, "rack"), *b.pods("crew", 4, 1, gpu=1, group="crew")]
NODES = [b.node(f"n{i}", gpu=2, rack=f"r{i // 2}") for i in range(4)]


def run(*arguments: str, text: str = "") -> tuple[str, str]:
    result = CliRunner().invoke(cli, ["decide", *arguments], input=text)
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


def plan(*arguments: str, text: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("-o", "json", *arguments, text=text)[0])
    return found


def dump(*objects: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The gang in YAML, its nodes in JSON one level down, and files that are none of our business."""
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "all.json").write_text(dump(*NODES))
    (tmp_path / "gang.yml").write_text(yaml.safe_dump_all(GANG))
    (tmp_path / "NOTES.txt").write_text("kind: [")
    return tmp_path


def test_a_directory(folder: Path) -> None:
    found = plan("-f", str(folder))
    assert (found["apiVersion"], found["kind"]) == ("maitred.dev/v1alpha1", "Plan")
    assert sorted(bind["pod"] for bind in found["binds"]) == [f"default/crew-{i}" for i in range(4)]
    (group,) = found["groups"]
    assert (group["group"], group["verdict"], group["placed"], group["quorum"]) == (
        "default/crew",
        "Scheduled",
        4,
        4,
    )


def test_the_plan_survives_its_own_json(folder: Path) -> None:
    text, _ = run("-f", str(folder), "-o", "json")
    decoded = msgspec.json.decode(text, type=Plan)
    assert msgspec.json.format(msgspec.json.encode(decoded), indent=2).decode() == text.rstrip("\n")


def test_yaml_says_the_same_as_json(folder: Path) -> None:
    text, _ = run("-f", str(folder), "-o", "yaml")
    assert yaml.safe_load(text) == plan("-f", str(folder))


def test_every_way_to_name_the_files(folder: Path) -> None:
    files = [str(folder / "gang.yml"), str(folder / "nodes" / "all.json")]
    expected = plan("-f", str(folder))
    assert plan("-f", files[0], "-f", files[1]) == expected
    assert plan("-f", *files) == expected
    assert plan("-f", "-", "-f", files[1], text=yaml.safe_dump_all(GANG)) == expected


def test_the_order_of_the_input_does_not_matter() -> None:
    objects = [*NODES, *GANG, *(b.pod(f"lone{i}", 3, created=i) for i in range(5))]
    expected, _ = run("-f", "-", "-o", "json", text=dump(*objects))
    for seed in range(5):
        random.Random(seed).shuffle(objects)
        assert run("-f", "-", "-o", "json", text=dump(*objects))[0] == expected


def test_one_scheduler_only() -> None:
    text = dump(*NODES, b.pod("a", scheduler="maitred"), b.pod("b"))
    assert [bind["pod"] for bind in plan("-f", "-", "--scheduler", "maitred", text=text)["binds"]] == [
        "default/a"
    ]
    assert len(plan("-f", "-", text=text)["binds"]) == 2


def test_the_policy_names_the_levels(folder: Path) -> None:
    policy = folder / "policy" / "policy.conf"
    policy.parent.mkdir()
    policy.write_text("topology: {levels: [{name: shelf, key: rack}]}")
    (group,) = plan("-f", str(folder), "--policy", str(policy))["groups"]
    assert list(group["domains"]) == ["shelf"]


def test_warnings_are_in_the_plan_or_on_standard_error() -> None:
    text = dump(*NODES, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}, b.pod("a"))
    warning = "Job: this command does not create its pods; give the pods themselves (1 object skipped)"
    assert plan("-f", "-", text=text)["warnings"] == [warning]
    shown, errors = run("-f", "-", text=text)
    assert errors == f"warning: {warning}\n"
    assert warning not in shown


def test_the_shorthand_for_a_gang_is_told() -> None:
    crew = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "crew"},
        "spec": {"minMember": 4},
    }
    found = plan("-f", "-", text=dump(*NODES, crew, *GANG[1:]))
    assert found["groups"][0]["quorum"] == 4
    assert "spec.minMember is a shorthand" in found["warnings"][0]


def test_the_table_tells_why_a_group_waits(folder: Path) -> None:
    (folder / "nodes" / "all.json").write_text(dump(*NODES[::2]))
    shown, _ = run("-f", str(folder))
    assert "default/crew  Waiting" in shown or "default/crew  Impossible" in shown
    assert shown.rstrip().endswith("0 pods to bind.")


def test_nothing_at_all() -> None:
    found = plan("-f", "-")
    assert (found["binds"], found["groups"], found["warnings"]) == ([], [], ["the input has no objects"])


def test_the_time_may_be_given(folder: Path) -> None:
    assert plan("-f", str(folder), "--now", "2026-01-31T12:00:00+02:00")["binds"]


def test_as_a_process_in_a_pipe(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "maitred.cli", "decide", "-f", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("GROUP ")
    assert "4 pods on " in done.stdout
