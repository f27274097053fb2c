"""`maitred queues` from end to end."""

import json

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.cli.watching import SECONDS_BETWEEN, watch
from maitred.explain.queues.answer import Queues
from tests.docs.console import ROOT

EXAMPLE = ["-f", str(ROOT / "examples/queues/cluster.yaml"), "--now", "2026-03-01T12:00:00Z"]
POLICY = ["--policy", str(ROOT / "examples/queues/policy.yaml")]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["queues", *arguments])


def test_as_data() -> None:
    found = json.loads(invoke(*EXAMPLE, *POLICY, "-o", "json").stdout)
    assert (found["apiVersion"], found["kind"]) == ("maitred.dev/v1alpha1", "Queues")
    assert tuple(found) == Queues.__struct_encode_fields__
    assert yaml.safe_load(invoke(*EXAMPLE, *POLICY, "-o", "yaml").stdout) == found
    told = msgspec.convert(found, Queues)
    assert [one.queue for one in told.queues] == ["vision", "language", "default"]
    [h100] = [row for row in told.queues[1].amounts if row.model == "H100"]
    assert (h100.guarantee, h100.used, h100.borrowed, h100.lent) == ("8", "16", "8", "0")


def test_a_dump_cannot_be_watched() -> None:
    result = invoke(*EXAMPLE, *POLICY, "--watch")
    assert (result.exit_code, result.stderr) == (
        2,
        "--watch: cannot be used with -f: only a cluster can be watched, not a file\n",
    )


def test_in_a_pipe_an_answer_is_written_when_it_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter([("12:00", "a"), ("12:05", "a"), ("12:10", "b")])
    written, pauses = list[tuple[str, str]](), list[float]()

    def look() -> tuple[str, str]:
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    watch(look, None, written.append, lambda found: found[1], pauses.append)
    assert written == [("12:00", "a"), ("12:10", "b")]
    assert pauses == [SECONDS_BETWEEN] * 3
