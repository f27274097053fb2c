"""What a request has in its headers, and how tokens are renewed; the service account of a pod."""

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme

from maitred.kube import credentials, incluster
from maitred.kube.connect import connect
from maitred.kube.connection import Connection
from maitred.kube.errors import NoCredentials
from tests.kube.local import (
    ask,
    echo,
    headers_named,
    leave_no_settings,
    refused,
    sent,
    server_context,
    serving,
    write_kubeconfig,
)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    leave_no_settings(monkeypatch, tmp_path)
    return tmp_path


def told_by(home: Path, user: dict[str, Any]) -> dict[str, Any]:
    """What a server hears from this user."""

    async def scenario() -> dict[str, Any]:
        async with serving(echo) as server:
            return await ask(connect(write_kubeconfig(home / "config", server, user=user)))

    return asyncio.run(scenario())


def test_a_token(home: Path) -> None:
    assert headers_named(told_by(home, {"token": "abc"}), "Authorization") == ["Bearer abc"]


def test_a_password(home: Path) -> None:
    told = told_by(home, {"username": "me", "password": "pass:word"})
    assert headers_named(told, "Authorization") == ["Basic bWU6cGFzczp3b3Jk"]


def test_nothing(home: Path) -> None:
    assert headers_named(told_by(home, {}), "Authorization") == []


def test_impersonation_sends_every_group(home: Path) -> None:
    user = {
        "token": "abc",
        "as": "ann",
        "as-uid": "7",
        "as-groups": ["ops", "ml, and more"],
        "as-user-extra": {"Example.org/Scope": ["read", "write"]},
    }
    told = told_by(home, user)
    assert headers_named(told, "Authorization") == ["Bearer abc"]
    assert headers_named(told, "Impersonate-User") == ["ann"]
    assert headers_named(told, "Impersonate-Uid") == ["7"]
    assert headers_named(told, "Impersonate-Group") == ["ops", "ml, and more"]
    assert headers_named(told, "Impersonate-Extra-example.org%2Fscope") == ["read", "write"]


def token_file(home: Path) -> tuple[Path, Connection]:
    """A token file, and a connection that reads it; there is a token beside it, which counts for less."""
    (home / "token").write_text("one\n")
    user = {"tokenFile": "token", "token": "other"}
    return home / "token", connect(write_kubeconfig(home / "config", user=user))


def test_a_token_file_is_read_again_after_a_minute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("maitred.kube.credentials.time", SimpleNamespace(monotonic=lambda: now))
    file, connection = token_file(home)
    assert asyncio.run(sent(connection)) == "Bearer one"
    file.write_text("two")
    now += credentials.TOKEN_SECONDS - 1
    assert asyncio.run(sent(connection)) == "Bearer one"
    now += 1
    assert asyncio.run(sent(connection)) == "Bearer two"


def test_a_token_that_was_refused_is_read_again_at_once(home: Path) -> None:
    file, connection = token_file(home)
    assert asyncio.run(sent(connection)) == "Bearer one"
    file.write_text("two")
    connection.credentials.invalidate()
    assert asyncio.run(sent(connection)) == "Bearer two"


def test_the_last_token_is_used_while_its_file_is_gone(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    file, connection = token_file(home)
    assert asyncio.run(sent(connection)) == "Bearer one"
    file.unlink()
    connection.credentials.invalidate()
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(sent(connection)) == "Bearer one"
    assert caplog.messages == [f"{file}: no such file or directory; the previous token stays in use"]


def test_a_token_file_that_went_before_it_was_used(home: Path) -> None:
    file, connection = token_file(home)
    file.write_text("")
    with pytest.raises(NoCredentials, match=r"token: has no token in it; without this token"):
        asyncio.run(sent(connection))


# the service account of a pod


@pytest.fixture
def account(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("pod-token")
    (folder / "namespace").write_text("maitred-system")
    trustme.CA().cert_pem.write_to_path(str(folder / "ca.crt"))
    monkeypatch.setattr(incluster, "ACCOUNT", folder)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    return folder


def test_the_service_account_of_a_pod(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(account / "ca.crt"))

    async def scenario() -> None:
        async with serving(echo, server_context(authority.issue_cert("127.0.0.1"))) as server:
            monkeypatch.setenv("KUBERNETES_SERVICE_PORT", server.rpartition(":")[2])
            connection = connect()
            assert connection.server == server
            assert connection.namespace == "maitred-system"
            assert headers_named(await ask(connection), "Authorization") == ["Bearer pod-token"]
            (account / "token").write_text("next")
            connection.credentials.invalidate()
            assert headers_named(await ask(connection), "Authorization") == ["Bearer next"]

    asyncio.run(scenario())


def test_a_kubeconfig_wins_over_the_service_account(account: Path, home: Path) -> None:
    assert connect().server == "https://127.0.0.1:443"
    (home / ".kube").mkdir()
    write_kubeconfig(home / ".kube" / "config", "https://home")
    assert connect().server == "https://home"


def test_an_address_of_version_6(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    assert connect().server == "https://[fd00::1]:6443"


def test_a_context_needs_a_kubeconfig(account: Path) -> None:
    assert refused(context="dev").startswith("--context dev: there is no kubeconfig")


def test_an_account_that_is_mounted_in_part(account: Path) -> None:
    (account / "ca.crt").write_text("nothing")
    assert refused().startswith(f"{account}/ca.crt: has no certificate in PEM form")
    (account / "ca.crt").unlink()
    assert refused().startswith(f"{account}/ca.crt: no such file or directory")


def test_without_a_token_this_is_no_pod(account: Path) -> None:
    (account / "token").unlink()
    assert "not a pod with a service account" in refused()
