"""`maitred override`, as far as it goes without a cluster."""

import json

import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from tests.docs.console import ROOT

EXAMPLE = ROOT / "examples/override"
GIVEN = ("--reason", "because", "--until", "4h")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["override", *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a group to lift, or give --list, or --end GROUP"),
        (("demo",), "takes --reason and --until"),
        (("demo", "--reason", "because"), "takes --reason and --until"),
        (("--list", *GIVEN), "--list and --end take neither"),
        (("demo", "--end", "demo", *GIVEN), "name a group to lift"),
        (("demo", "--reason", "because", "--until", "soon"), "'soon' is neither a time nor a duration"),
        (("demo", "--reason", "because", "--until", "2020-01-01T00:00:00Z"), "is not in the future"),
        (("demo", *GIVEN, "-f", str(EXAMPLE)), "only a running scheduler takes overrides"),
        (("demo", *GIVEN, "--now", "2026-03-01T12:00:00Z"), "only a running scheduler takes overrides"),
        (("lab/demo", *GIVEN, "-n", "lab"), "is not of the form GROUP or KIND/NAME"),
        (("--list", "--policy", str(EXAMPLE / "policy.yaml")), "are only for --list with -f"),
    ],
)
def test_what_is_not_asked_well_is_refused_with_what_to_do(arguments: tuple[str, ...], words: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr


def test_those_of_a_dump_are_listed() -> None:
    files = [str(EXAMPLE / name) for name in ("cluster.yaml", "overrides.yaml", "policy.yaml")]
    dump = ("-f", files[0], "-f", files[1], "--policy", files[2])
    found = json.loads(invoke("--list", *dump, "--now", "2026-03-01T12:00:00Z", "-o", "json").stdout)
    [one] = found["overrides"]
    assert (one["group"], one["by"], one["until"], one["lifts"]) == (
        "lab/demo",
        "alice",
        "2026-03-01T16:00:00Z",
        True,
    )
    late = invoke("--list", *dump, "--now", "2026-03-01T16:00:00Z")
    assert late.stdout == "No group is lifted past its queue.\n"
