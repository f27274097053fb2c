"""`maitred reserve`, as far as it goes without a cluster."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.cli.reserve import times_of
from tests.docs.console import ROOT

EXAMPLE = ROOT / "examples/reservations"
WHO = ("--for", "queue/research")
WHEN = ("--from", "2h", "--until", "4h")
NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["reserve", *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what to reserve, for whom and when"),
        (("--list", "--gpus", "4"), "say what to reserve, for whom and when"),
        (("--list", "--cancel", "demo"), "say what to reserve, for whom and when"),
        (("--gpus", "4", *WHEN), "--for: is required: queue/NAME, namespace/NAME or group/NAMESPACE/NAME"),
        (("--gpus", "4", "--for", "research", *WHEN), "--for: 'research' is not queue/NAME"),
        (("--gpus", "4", "--for", "group/train", *WHEN), "--for: 'group/train' is not queue/NAME"),
        (("--gpus", "4", *WHO, "--until", "4h"), "--from: is required"),
        (("--gpus", "4", *WHO, "--from", "2h"), "--until: is required"),
        (("--gpus", "4", *WHO, "--from", "noon", "--until", "4h"), "--from: 'noon' is not a time"),
        (("--gpus", "4", *WHO, "--from", "2h", "--until", "2026-12-01T14:00Z"), "--until: "),
        (("--gpus", "0", *WHO, *WHEN), "0 is not in the range x>=1"),
        ((*WHO, *WHEN), "--gpus: say how many devices, or which --nodes"),
        (("--gpus", "4", "--nodes", "a=b", *WHO, *WHEN), "--gpus: say how many devices, or which --nodes"),
        (("--nodes", "a=b", "--model", "H100", *WHO, *WHEN), "--nodes: says which nodes these are"),
        (("--nodes", "a", *WHO, *WHEN), "--nodes: 'a' is not of the form LABEL=VALUE"),
        (("--gpus", "4", *WHO, *WHEN, "--time-zone", "Nowhere"), "--time-zone: 'Nowhere' is not"),
        (("--gpus", "4", *WHO, *WHEN, "-f", str(EXAMPLE)), "only a running scheduler takes reservations"),
        (("--cancel", "../x"), "--cancel: '../x' is not the name of a reservation"),
        (("--list", "--policy", str(EXAMPLE / "policy.yaml")), "are only for --list with -f"),
    ],
)
def test_what_is_not_asked_well_is_refused_with_the_option(arguments: tuple[str, ...], words: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr


def test_a_time_is_what_clocks_show_and_a_duration_is_counted_on_no_clock() -> None:
    """In the night in which clocks are put forward."""
    assert times_of("2h", "4h", "Europe/Berlin", NOW) == ("2026-03-29T04:30:00", "2026-03-29T08:30:00")
    assert times_of("2026-03-29T00:00", "4h", "Europe/Berlin", NOW)[1] == "2026-03-29T05:00:00"
    both = times_of("2026-03-29T00:00", "2026-03-29T04:00", "Europe/Berlin", NOW)
    length = [
        datetime.fromisoformat(one).replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp() for one in both
    ]
    assert length[1] - length[0] == 3 * 3600


def test_reservations_of_a_dump_are_listed() -> None:
    dump = ("-f", str(EXAMPLE / "cluster.yaml"), "-f", str(EXAMPLE / "made.yaml"))
    when = ("--now", "2026-12-01T12:00:00Z")
    found = json.loads(invoke("--list", *dump, *when, "-o", "json").stdout)
    [one] = found["reservations"]
    assert (one["name"], one["for"], one["by"], one["state"]) == (
        "demo",
        "namespace vision",
        "alice",
        "coming",
    )
    assert (one["from"], one["nodes"]) == ("2026-12-01T13:00:00Z", ["b1", "b2"])
    assert invoke("--list", *dump[:2], *when).stdout == "Nothing is reserved.\n"
