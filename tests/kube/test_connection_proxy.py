"""Proxies: which is taken, that HTTPS goes through it, and what is said when it does not."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from maitred.kube.connect import connect
from maitred.kube.errors import Unreachable
from maitred.kube.proxies import variable
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


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    leave_no_settings(monkeypatch, tmp_path)
    return tmp_path


API = "https://api.example.com:6443"


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        (API, {}, ""),
        (API, {"HTTPS_PROXY": "p"}, "HTTPS_PROXY"),
        (API, {"https_proxy": "p"}, "https_proxy"),
        (API, {"HTTPS_PROXY": "", "https_proxy": "p"}, "https_proxy"),
        (API, {"HTTP_PROXY": "p"}, ""),
        ("http://api.example.com", {"HTTP_PROXY": "p", "HTTPS_PROXY": "q"}, "HTTP_PROXY"),
        ("https://localhost:6443", {"HTTPS_PROXY": "p"}, ""),
        ("https://127.0.0.2:6443", {"HTTPS_PROXY": "p"}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": "p"}, ""),
    ],
)
def test_which_variable_counts(server: str, environment: dict[str, str], expected: str) -> None:
    assert variable(server, environment) == expected


@pytest.mark.parametrize(
    ("server", "excluded", "direct"),
    [
        (API, "*", True),
        (API, "other.com, api.example.com", True),
        (API, "example.com", True),
        (API, "EXAMPLE.com", True),
        (API, ".example.com", True),
        (API, "*.example.com", True),
        (API, "ample.com", False),
        (API, "api.example.com:6443", True),
        (API, "api.example.com:443", False),
        (API, ",", False),
        ("https://example.com", ".example.com", False),
        ("https://example.com", "example.com:443", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8", True),
        ("https://10.1.2.3:6443", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:1", False),
        ("https://10.1.2.3:6443", "2.3", False),
        ("https://10.1.2.3:6443", "11.0.0.0/8", False),
        ("https://10.1.2.3:6443", "fd00::/8", False),
        ("https://10.1.2.3:6443", "10.0.0.0/99", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        (API, "api.example.com:port", False),
    ],
)
def test_what_goes_without_a_proxy(server: str, excluded: str, direct: bool) -> None:
    found = variable(server, {"HTTPS_PROXY": "p", "NO_PROXY": excluded})
    assert found == ("" if direct else "HTTPS_PROXY")


def test_the_kubeconfig_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "from-environment:3128")
    assert connect(write_kubeconfig(home / "a", API)).proxy == "http://from-environment:3128"
    assert connect(write_kubeconfig(home / "b")).proxy is None
    cluster = {"proxy-url": "http://from-config:3128"}
    assert connect(write_kubeconfig(home / "c", cluster=cluster)).proxy == "http://from-config:3128"


def test_a_variable_that_is_wrong(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://me:secret@proxy")
    line = refused(write_kubeconfig(home / "config", API))
    assert line.startswith("$HTTPS_PROXY: a proxy of type socks5 is not supported")
    assert "secret" not in line


class Tunnel:
    """A proxy for HTTPS that keeps what it was asked."""

    def __init__(self, status: str = "200 OK") -> None:
        self.asked: list[bytes] = []
        self._status = status

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(request)
        writer.write(f"HTTP/1.1 {self._status}\r\n\r\n".encode())
        if self._status.startswith("200"):
            host, _, port = request.split()[1].decode().rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            async with asyncio.TaskGroup() as group:
                group.create_task(copy(reader, back))
                group.create_task(copy(there, writer))
        writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
    writer.close()


def through(home: Path, tunnel: Tunnel) -> None:
    async def scenario() -> None:
        authority = trustme.CA()
        (home / "ca.crt").write_bytes(authority.cert_pem.bytes())
        context = server_context(authority.issue_cert("127.0.0.1"))
        async with serving(echo, context) as server, tunnel.running() as address:
            cluster = {"certificate-authority": "ca.crt", "proxy-url": f"http://me:secret@{address}"}
            await ask(connect(write_kubeconfig(home / "config", server, cluster)))

    asyncio.run(scenario())


def test_requests_go_through_the_proxy(home: Path) -> None:
    tunnel = Tunnel()
    through(home, tunnel)
    [request] = tunnel.asked
    assert request.startswith(b"CONNECT 127.0.0.1:")
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:secret") in request


def test_a_proxy_that_does_not_let_us_through(home: Path) -> None:
    with pytest.raises(Unreachable) as caught:
        through(home, Tunnel("407 Proxy Authentication Required"))
    line = one_line(caught.value)
    assert "the proxy refused the connection (407 Proxy Authentication Required)" in line
    assert line.endswith(f"check proxy-url of cluster dev in {home}/config")
    assert "secret" not in line


def test_a_proxy_that_cannot_be_reached(home: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        cluster = {"proxy-url": f"http://me:secret@{address}"}
        line = trouble(connect(write_kubeconfig(home / "config", cluster=cluster)))
    assert line.endswith(
        f"the proxy {address}: connection refused; check proxy-url of cluster dev in {home}/config"
    )
    assert "secret" not in line


def test_a_proxy_whose_name_cannot_be_resolved(home: Path) -> None:
    cluster = {"proxy-url": "http://proxy.invalid:3128"}
    line = trouble(connect(write_kubeconfig(home / "config", cluster=cluster)))
    assert f"'proxy.invalid' cannot be resolved; check proxy-url of cluster dev in {home}/config" in line
