"""Where a scheduler keeps its ledger, and where it keeps none."""

from pathlib import Path
from typing import Any

import pytest

from maitred.cli.ledgers import default_ledger
from maitred.cli.scheduler import open_ledger
from maitred.kube.connection import Connection
from maitred.kube.credentials import Fixed
from maitred.model.manifest import InputError


def connection(in_cluster: bool = False) -> Connection:
    return Connection("https://10.0.0.1:6443", Fixed({}), in_cluster=in_cluster)


def options(**given: Any) -> dict[str, Any]:
    return {"ledger": None, "ledger_days": 90, "shadow": False, **given}


def test_every_cluster_has_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    places = {
        default_ledger(server, shadow)
        for server in ("https://10.0.0.1:6443", "https://10.0.0.1:6444", "https://dev.example.com/k8s/1")
        for shadow in (True, False)
    }
    assert len(places) == 6
    assert str(tmp_path / "maitred" / "10.0.0.1-6443" / "ledger.db") in places
    assert str(tmp_path / "maitred" / "dev.example.com-k8s-1" / "shadow.db") in places


def test_beside_a_cluster_there_is_a_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keeping = open_ledger(options(), connection())
    assert keeping is not None
    assert keeping.ledger.url == str(tmp_path / "maitred" / "10.0.0.1-6443" / "ledger.db")
    assert keeping.days == 90


def test_in_a_cluster_there_is_one_if_it_is_asked_for(tmp_path: Path) -> None:
    assert open_ledger(options(), connection(in_cluster=True)) is None
    asked = options(ledger=str(tmp_path / "ledger.db"))
    assert open_ledger(asked, connection(in_cluster=True)) is not None


@pytest.mark.parametrize("said", ["none", ""])
def test_there_may_be_none(said: str) -> None:
    assert open_ledger(options(ledger=said), connection()) is None


def test_what_is_no_ledger_at_all_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"^--ledger: "):
        open_ledger(options(ledger="mysql://localhost/ledger"), connection())


def test_one_that_cannot_be_written_yet_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert open_ledger(options(ledger=str(tmp_path / "file" / "ledger.db")), connection()) is not None
