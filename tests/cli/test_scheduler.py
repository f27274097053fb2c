"""`maitred scheduler`: where its options come from, which of them win, and which are refused."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli, scheduler
from maitred.cli.scheduler import SchedulerConfig
from maitred.kube.connection import Connection
from maitred.kube.credentials import Fixed
from maitred.model.manifest import InputError
from tests.docs.console import ROOT

Options = dict[str, Any]
POLICY = str(ROOT / "examples/policies/datacenter.yaml")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Options:
    """The options that the scheduler would have been run with."""
    seen: Options = {}

    async def serve(options: Options) -> bool:
        seen.update(options)
        return False

    monkeypatch.setattr(scheduler, "serve", serve)
    monkeypatch.setattr("maitred.controllers.logs.start_logging", lambda level, form: None)
    for name in [option.envvar for option in options()]:
        monkeypatch.delenv(str(name), raising=False)
    return seen


def options() -> list[click.Option]:
    return [parameter for parameter in scheduler.command.params if isinstance(parameter, click.Option)]


def invoke(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, ["scheduler", *arguments], env=env)


def config(path: Path, **fields: Any) -> str:
    path.write_text(json.dumps({"apiVersion": "maitred.dev/v1alpha1", "kind": "SchedulerConfig", **fields}))
    return str(path)


def refused(result: Result) -> str:
    """The line that a refusal prints, which is all that it prints."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr.strip()


def test_defaults(served: Options) -> None:
    assert invoke().exit_code == 0
    assert served == {
        "kubeconfig": None,
        "context": None,
        "policy": None,
        "policy_config_map": None,
        "scheduler_name": None,
        "shadow": False,
        "leader_election": None,
        "lease_namespace": None,
        "listen": "127.0.0.1:10351",
        "answers": "127.0.0.1:10352",
        "record": None,
        "record_limit": "1Gi",
        "ledger": None,
        "ledger_days": 90,
        "traces": None,
        "complete_within": 60.0,
        "resync": 300.0,
        "binds_in_flight": 64,
        "log_level": "info",
        "log_form": None,
    }


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(
    served: Options, tmp_path: Path
) -> None:
    file = config(tmp_path / "config.json", resync=20, bindsInFlight=20, completeWithin=20)
    env = {"MAITRED_RESYNC": "30", "MAITRED_BINDS_IN_FLIGHT": "30", "MAITRED_CONFIG": file}
    assert invoke("--resync", "40", env=env).exit_code == 0
    assert (served["resync"], served["binds_in_flight"], served["complete_within"]) == (40.0, 30, 20.0)
    assert served["log_level"] == "info"


@pytest.mark.parametrize(
    ("flag", "field", "value"),
    [
        ("--kubeconfig", "kubeconfig", "a.kubeconfig"),
        ("--context", "context", "staging"),
        ("--policy", "policy", POLICY),
        ("--policy-config-map", "policyConfigMap", "maitred-system/maitred-policy"),
        ("--scheduler-name", "schedulerName", "another"),
        ("--lease-namespace", "leaseNamespace", "leases"),
        ("--listen", "listen", "[::1]:80"),
        ("--answers", "answers", "[::]:443"),
        ("--complete-within", "completeWithin", 1.5),
        ("--resync", "resync", 10.0),
        ("--binds-in-flight", "bindsInFlight", 1000),
        ("--log-level", "logLevel", "debug"),
        ("--log-form", "logForm", "text"),
    ],
)
def test_every_option_can_be_given_in_three_ways(
    served: Options, tmp_path: Path, flag: str, field: str, value: Any
) -> None:
    name = flag.removeprefix("--").replace("-", "_")
    ways: list[tuple[list[str], dict[str, str]]] = [
        ([flag, str(value)], {}),
        ([], {f"MAITRED_{name.upper()}": str(value)}),
        (["--config", config(tmp_path / "config.json", **{field: value})], {}),
    ]
    for arguments, env in ways:
        served.clear()
        assert invoke(*arguments, env=env).exit_code == 0
        assert served[name] == value, (arguments, env)


@pytest.mark.parametrize(("name", "field"), [("shadow", "shadow"), ("leader_election", "leaderElection")])
def test_switches_can_be_turned_on_and_off(served: Options, tmp_path: Path, name: str, field: str) -> None:
    flag, variable = f"--{name.replace('_', '-')}", f"MAITRED_{name.upper()}"
    file = config(tmp_path / "config.json", **{field: True})
    for arguments, env, expected in [
        ([flag], {}, True),
        ([], {variable: "true"}, True),
        (["--config", file], {}, True),
        (["--config", file], {variable: "false"}, False),
    ]:
        served.clear()
        assert invoke(*arguments, env=env).exit_code == 0
        assert served[name] is expected, (arguments, env)


def test_leader_election_can_be_turned_off_by_a_flag(served: Options, tmp_path: Path) -> None:
    file = config(tmp_path / "config.json", leaderElection=True)
    assert invoke("--config", file, "--no-leader-election").exit_code == 0
    assert served["leader_election"] is False


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--policy", POLICY, "--policy-config-map", "a/b"),
            "--policy: give either this or --policy-config-map, not both",
        ),
        (("--policy-config-map", "policy"), "--policy-config-map: is not of the form NAMESPACE/NAME"),
        (("--listen", "10351"), "--listen: '10351' is not of the form HOST:PORT"),
        (("--listen", ":65536"), "--listen: ':65536' is not of the form HOST:PORT"),
        (("--answers", "10352"), "--answers: '10352' is not of the form HOST:PORT"),
        (("--listen", ":²"), "--listen: ':²' is not of the form HOST:PORT"),
        (("--resync", "nan"), "--resync: nan is not a number of seconds"),
        (("--complete-within", "inf"), "--complete-within: inf is not a number of seconds"),
        (
            ("--policy", "-"),
            "--policy: must be a file: standard input cannot be read again when the policy changes",
        ),
        (
            ("--shadow", "--leader-election"),
            "--leader-election: cannot be used with --shadow, which writes nothing, not even a Lease; leave "
            "it out",
        ),
        (
            ("--scheduler-name", "A B"),
            "--scheduler-name: 'A B' is not a name: letters, digits, '-' and '.' only",
        ),
        (("--policy", "none.yaml"), "none.yaml: no such file or directory"),
        (("--config", "none.yaml"), "none.yaml: no such file or directory"),
    ],
)
def test_bad_values_are_refused_before_a_cluster_is_asked(
    served: Options, arguments: tuple[str, ...], line: str
) -> None:
    assert refused(invoke(*arguments)) == line
    assert not served


@pytest.mark.parametrize(
    "arguments",
    [
        ("--resync", "0"),
        ("--binds-in-flight", "1001"),
        ("--log-level", "loud"),
        ("--complete-within", "soon"),
    ],
)
def test_values_out_of_range_are_refused(served: Options, arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert f"Invalid value for '{arguments[0]}'" in result.stderr
    assert not served


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"resyncSeconds": 3}, "resyncSeconds"),
        ({"resync": "often"}, "resync"),
        ({"logLevel": "loud"}, "logLevel"),
        ({"kind": "Policy"}, "kind"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(
    served: Options, tmp_path: Path, fields: dict[str, Any], what: str
) -> None:
    file = config(tmp_path / "config.json", **fields)
    assert refused(invoke("--config", file)).startswith(f"{file}: {what}: ")
    assert not served


def test_a_value_out_of_range_in_a_config_is_refused(served: Options, tmp_path: Path) -> None:
    file = config(tmp_path / "config.json", bindsInFlight=0)
    assert refused(invoke("--config", file)) == f"{file}: bindsInFlight: must be at least 1, not 0"


def test_the_page_has_every_option_with_its_variable_and_its_field() -> None:
    page = (ROOT / "docs/scheduler.md").read_text()
    rows = re.findall(r"^\| `(--[^`]+)` \| `(MAITRED_\w+)` \| (?:`(\w+)`|–) \|", page, re.MULTILINE)
    fields = dict(
        zip(SchedulerConfig.__struct_fields__, SchedulerConfig.__struct_encode_fields__, strict=True)
    )
    expected = [
        ("/".join([*o.opts, *o.secondary_opts]), o.envvar, fields.get(str(o.name), "")) for o in options()
    ]
    assert rows == expected
    assert set(fields) - {"api_version", "kind"} == {option.name for option in options()} - {"config"}


def test_help_shows_the_variables() -> None:
    shown = invoke("--help")
    assert shown.exit_code == 0
    for option in options():
        assert f"[env var: {option.envvar}" in " ".join(shown.stdout.split())


STUCK = """
import asyncio, os, signal
from maitred.cli import scheduler

async def main():
    scheduler.end_in_time(asyncio.Event())
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        pass

scheduler.ENDING_SECONDS = 0.2
asyncio.run(main())
"""


def test_who_is_told_to_end_ends_whatever_it_is_doing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "in main" in done.stderr, "it says what it was doing"


def test_a_ledger_that_cannot_be_opened_is_no_reason_not_to_start(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.touch()
    found = scheduler.open_ledger({"ledger": str(blocked / "ledger.db"), "ledger_days": 1}, anywhere())
    assert found is not None
    with pytest.raises(InputError, match="mysql databases are not supported"):
        scheduler.open_ledger({"ledger": "mysql://host/x", "ledger_days": 1}, anywhere())


def anywhere() -> Connection:
    return Connection("http://127.0.0.1:1", Fixed({}))
