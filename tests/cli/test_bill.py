"""`maitred bill`: of a ledger that is named, or of the scheduler that is asked."""

import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from tests.docs.console import ROOT
from tests.ledger.month import write_month

PRICES = str(ROOT / "examples/policies/prices.yaml")


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("MAITRED_LEDGER", raising=False)
    path = str(tmp_path / "ledger.db")
    write_month(path)
    return path


def invoke(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, ["bill", *arguments], env=env)


def refused(result: Result, status: int = 2) -> str:
    """The line that a refusal prints, which is all that it prints."""
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr.strip()


def test_json_has_it_all(ledger: str) -> None:
    done = invoke("--ledger", ledger, "--month", "2026-10", "--policy", PRICES, "-o", "json")
    found = json.loads(done.stdout)
    assert (found["apiVersion"], found["kind"], found["month"]) == ("maitred.dev/v1alpha1", "Bill", "2026-10")
    assert list(found)[:2] == ["apiVersion", "kind"]
    assert {row["name"] for row in found["rows"]} == {"research", "search", "(free)"}
    whole = sum(row["deviceMilliseconds"] for row in found["rows"])
    assert whole == found["total"]["deviceMilliseconds"] == found["capacityDeviceMilliseconds"]


def test_the_environment_names_the_ledger(ledger: str) -> None:
    done = invoke("--month", "2026-10", "--by", "model", "-o", "csv", env={"MAITRED_LEDGER": ledger})
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {line["name"] for line in lines} == {"NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S"}
    assert {line["money"] for line in lines} == {""}


def test_a_month_without_anything_is_told_in_words(ledger: str) -> None:
    done = invoke("--ledger", ledger, "--month", "2026-01")
    assert done.exit_code == 0
    assert "Note: the ledger has no data for 2026-01." in done.stdout


def test_what_is_refused(ledger: str, tmp_path: Path) -> None:
    assert refused(invoke("--ledger", ledger, "--month", "2026-1")).startswith("--month: '2026-1' is not a m")
    assert refused(invoke("--ledger", ledger, "--by", "pods")).startswith("--by: 'pods' is not namespace")
    assert "there is no such file" in refused(invoke("--ledger", str(tmp_path / "none.db")))
    empty = tmp_path / "empty.db"
    empty.touch()
    assert "this is not a ledger, or nothing was written to it yet" in refused(invoke("--ledger", str(empty)))
    assert empty.stat().st_size == 0
    assert "mysql databases are not supported" in refused(invoke("--ledger", "mysql://host/x"))
    assert "add --ledger" in refused(invoke("--policy", PRICES))


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, it is a text that is long enough to be read")
    assert "file is not a database" in refused(invoke("--ledger", str(tmp_path / "text.db")))
    database = sqlite3.connect(tmp_path / "other.db")
    database.execute("create table people (name text)")
    database.close()
    assert "this is not a ledger" in refused(invoke("--ledger", str(tmp_path / "other.db")))


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refused(invoke("--ledger", "postgresql://me:secret@127.0.0.1:1/x"))
    assert said.startswith("--ledger: ledger postgresql://me:***@127.0.0.1:1/x: ")
    assert "secret" not in said
