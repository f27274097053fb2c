"""HTTPS: what is trusted, what is shown, and one line about each way in which it fails."""

import asyncio
import base64
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from maitred.kube.connect import connect
from maitred.kube.errors import Unreachable
from tests.kube.local import (
    ask,
    echo,
    leave_no_settings,
    one_line,
    refused,
    server_context,
    serving,
    trouble,
    write_kubeconfig,
)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, authority: trustme.CA) -> Path:
    leave_no_settings(monkeypatch, tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    return tmp_path


def told_by(
    home: Path,
    certificate: trustme.LeafCert,
    cluster: dict[str, Any],
    user: dict[str, Any] | None = None,
    clients: trustme.CA | None = None,
) -> dict[str, Any]:
    """What a server with this certificate tells us."""

    async def scenario() -> dict[str, Any]:
        async with serving(echo, server_context(certificate, clients)) as server:
            return await ask(connect(write_kubeconfig(home / "config", server, cluster, user)))

    return asyncio.run(scenario())


def complaint(home: Path, certificate: trustme.LeafCert, cluster: dict[str, Any]) -> str:
    with pytest.raises(Unreachable) as caught:
        told_by(home, certificate, cluster)
    line = one_line(caught.value)
    assert line.startswith("GET https://127.0.0.1:")
    return line.partition("/: ")[2]


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_certificate_that_is_trusted(home: Path, authority: trustme.CA) -> None:
    server = authority.issue_cert("127.0.0.1")
    assert told_by(home, server, {"certificate-authority": "ca.crt"})
    assert told_by(home, server, {"certificate-authority-data": in_base64(authority.cert_pem.bytes())})
    assert told_by(home, server, {"insecure-skip-tls-verify": True})


def test_an_intermediate_authority_is_enough(home: Path, authority: trustme.CA) -> None:
    between = authority.create_child_ca()
    data = in_base64(between.cert_pem.bytes())
    assert told_by(home, between.issue_cert("127.0.0.1"), {"certificate-authority-data": data})


def test_an_authority_that_the_system_trusts(
    home: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = authority.issue_cert("127.0.0.1")
    assert "signed by an unknown authority" in complaint(home, server, {})
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "ca.crt"))
    assert told_by(home, server, {})


def test_a_certificate_for_another_name(home: Path, authority: trustme.CA) -> None:
    server, cluster = authority.issue_cert("api.example.com"), {"certificate-authority": "ca.crt"}
    assert complaint(home, server, cluster) == (
        "the certificate of the server is not valid for '127.0.0.1'; "
        f"check server of cluster dev in {home}/config, "
        f"or set tls-server-name of cluster dev in {home}/config to a name that it is valid for"
    )
    assert told_by(home, server, {**cluster, "tls-server-name": "api.example.com"})
    line = complaint(home, server, {**cluster, "tls-server-name": "other.example.com"})
    assert "not valid for 'other.example.com'; check" in line


def test_a_certificate_of_an_unknown_authority(home: Path) -> None:
    assert complaint(home, trustme.CA().issue_cert("127.0.0.1"), {"certificate-authority": "ca.crt"}) == (
        "the certificate of the server is signed by an unknown authority; "
        f"check certificate-authority of cluster dev in {home}/config"
    )


def test_a_certificate_that_has_expired(home: Path, authority: trustme.CA) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    server = authority.issue_cert("127.0.0.1", not_before=yesterday - timedelta(days=1), not_after=yesterday)
    line = complaint(home, server, {"certificate-authority": "ca.crt"})
    assert line.startswith("the certificate of the server or of its authority has expired; renew it")


def test_a_certificate_that_is_not_valid_yet(home: Path, authority: trustme.CA) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    server = authority.issue_cert("127.0.0.1", not_before=tomorrow, not_after=tomorrow + timedelta(days=1))
    line = complaint(home, server, {"certificate-authority": "ca.crt"})
    advice = "correct the clock of this machine or of the server"
    assert line == f"the certificate of the server is not valid yet; {advice}"


def test_a_client_certificate_is_shown(home: Path, authority: trustme.CA) -> None:
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client")
    cluster = {"certificate-authority": "ca.crt"}
    certificate, key = client.cert_chain_pems[0].bytes(), client.private_key_pem.bytes()
    (home / "client.crt").write_bytes(certificate)
    (home / "client.key").write_bytes(key)
    files = {"client-certificate": "client.crt", "client-key": "client.key"}
    data = {"client-certificate-data": in_base64(certificate), "client-key-data": in_base64(key)}
    for user in (files, data):
        assert told_by(home, server, cluster, user, authority)["certificate"] == ["client"]


def test_a_key_of_another_certificate(home: Path, authority: trustme.CA) -> None:
    one, other = authority.issue_cert("one"), authority.issue_cert("other")
    user = {
        "client-certificate-data": in_base64(one.cert_chain_pems[0].bytes()),
        "client-key-data": in_base64(other.private_key_pem.bytes()),
    }
    line = refused(write_kubeconfig(home / "config", user=user))
    assert line.endswith("client-certificate: the certificate and the key do not belong together")


def test_a_server_that_speaks_plain_http(home: Path) -> None:
    async def scenario() -> None:
        async with serving(echo) as server:
            await ask(connect(write_kubeconfig(home / "config", server.replace("http:", "https:"))))

    with pytest.raises(Unreachable, match=r"TLS failed \(.*\); check that server of cluster dev in"):
        asyncio.run(scenario())


# servers that cannot be reached at all


def test_a_server_that_refuses_connections(home: Path) -> None:
    with socket.socket() as listener:
        # It has the port, so that nobody else listens there, and does not listen either.
        listener.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{listener.getsockname()[1]}"
        line = trouble(connect(write_kubeconfig(home / "config", server)))
    assert line == (
        f"GET {server}/version: connection refused; check that the API server runs and that server of "
        f"cluster dev in {home}/config is right"
    )


def test_a_name_that_cannot_be_resolved(home: Path) -> None:
    line = trouble(connect(write_kubeconfig(home / "config", "https://api.invalid:6443")))
    assert line == (
        "GET https://api.invalid:6443/version: the name 'api.invalid' cannot be resolved; "
        f"check server of cluster dev in {home}/config, and DNS"
    )


def test_a_server_that_does_not_take_the_connection(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS is never agreed on: something listens there that says nothing."""
    monkeypatch.setattr("maitred.kube.client.CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = f"https://127.0.0.1:{listener.getsockname()[1]}"
        line = trouble(connect(write_kubeconfig(home / "config", server)))
    assert f"no connection in time; check server of cluster dev in {home}/config" in line
