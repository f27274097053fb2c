"""`maitred verify --now`: a Plan that evicts is judged by the time that it was made for."""

import json
from pathlib import Path

from click.testing import CliRunner

from maitred.cli import cli

from .make import Raw, settled
from .test_evictions import OBJECTS, PREEMPTING


def run(folder: Path, objects: list[Raw], plan: Raw, *more: str) -> tuple[int, str]:
    (folder / "objects.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    (folder / "plan.json").write_text(json.dumps(plan))
    paths = ["-f", str(folder / "objects.json"), "--plan", str(folder / "plan.json")]
    result = CliRunner().invoke(cli, ["verify", *paths, *more])
    return result.exit_code, result.stdout + result.stderr


def test_the_time_of_a_plan(tmp_path: Path) -> None:
    objects = json.loads(json.dumps(OBJECTS))
    victim = next(obj for obj in objects if obj["metadata"]["name"] == "low1")
    victim["metadata"]["annotations"] = {"maitred.dev/min-runtime": "1h"}
    victim["status"]["startTime"] = "2026-01-31T11:30:00Z"
    plan = settled(PREEMPTING)
    assert run(tmp_path, objects, plan) == (0, "Every law holds.\n")
    assert run(tmp_path, objects, plan, "--now", "2026-01-31T12:30:00Z") == (0, "Every law holds.\n")
    status, words = run(tmp_path, objects, plan, "--now", "2026-01-31T12:00:00Z")
    assert status == 1
    assert "evicted, but its maitred.dev/min-runtime is not over" in words


def test_a_time_that_is_none(tmp_path: Path) -> None:
    status, words = run(tmp_path, OBJECTS, PREEMPTING, "--now", "noon")
    assert status == 2
    assert words.startswith("--now: 'noon' is not a time")
