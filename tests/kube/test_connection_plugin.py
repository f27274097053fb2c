"""Credentials from exec plugins: real programs, which count how often they are run."""

import asyncio
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from aiohttp import web

from maitred.kube import plugin
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.connection import Connection
from maitred.kube.errors import NoCredentials
from tests.kube.local import (
    ask,
    echo,
    leave_no_settings,
    one_line,
    sent,
    server_context,
    serving,
    write_kubeconfig,
)

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
COUNT = "runs=$(cat runs 2>/dev/null || echo 0); runs=$((runs + 1)); echo $runs > runs\n"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    leave_no_settings(monkeypatch, tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    return tmp_path


def write_plugin(home: Path, script: str) -> None:
    """A shell script beside the kubeconfig, which runs in its folder and counts its runs in `runs`."""
    program = home / "plugin"
    program.write_text(f"#!/bin/sh\ncd {home}\n{COUNT}{script}\n")
    program.chmod(0o755)


def answer(version: str = V1, **status: Any) -> str:
    """A script that prints a credential; `$runs` in it stands for the number of the run."""
    document = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"cat <<END\n{json.dumps(document)}\nEND"


def connection(
    home: Path,
    script: str,
    server: str = "http://127.0.0.1:1",
    cluster: dict[str, Any] | None = None,
    **settings: Any,
) -> Connection:
    write_plugin(home, script)
    user = {"exec": {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never", **settings}}
    return connect(write_kubeconfig(home / "config", server, cluster, user))


def runs(home: Path) -> int:
    return int((home / "runs").read_text())


def failure(made: Connection) -> str:
    with pytest.raises(NoCredentials) as caught:
        asyncio.run(sent(made))
    return one_line(caught.value)


def test_a_token_is_kept_as_long_as_it_is_good(home: Path) -> None:
    made = connection(home, answer(token="token-$runs"))

    async def scenario() -> None:
        assert await sent(made) == "Bearer token-1"
        assert await sent(made) == "Bearer token-1"
        made.credentials.invalidate()
        assert await sent(made) == "Bearer token-2"

    asyncio.run(scenario())
    assert runs(home) == 2


@pytest.mark.parametrize(("expires", "expected"), [("2001-01-01T00:00:00Z", 3), ("2999-01-01T00:00:00Z", 1)])
def test_a_token_is_renewed_when_it_has_expired(home: Path, expires: str, expected: int) -> None:
    made = connection(home, answer(token="token-$runs", expirationTimestamp=expires))

    async def scenario() -> None:
        for _ in range(3):
            await sent(made)

    asyncio.run(scenario())
    assert runs(home) == expected


def test_many_who_wait_are_served_by_one_run(home: Path) -> None:
    made = connection(home, "sleep 0.2\n" + answer(token="token-$runs"))

    async def scenario() -> list[str]:
        return await asyncio.gather(*(sent(made) for _ in range(20)))

    assert set(asyncio.run(scenario())) == {"Bearer token-1"}


def test_many_who_wait_hear_of_one_failure(home: Path) -> None:
    made = connection(home, "exit 1")

    async def scenario() -> list[str | BaseException]:
        return await asyncio.gather(*(sent(made) for _ in range(20)), return_exceptions=True)

    assert {type(result) for result in asyncio.run(scenario())} == {NoCredentials}
    assert runs(home) == 1


def test_after_a_failure_it_is_tried_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "RETRY_SECONDS", 0.0)
    made = connection(home, f"test $runs -gt 1 || exit 1\n{answer(token='token-$runs')}")
    assert "ended with status 1" in failure(made)
    assert asyncio.run(sent(made)) == "Bearer token-2"


def test_a_refused_token_makes_the_next_read_go_with_a_new_one(home: Path) -> None:
    heard = []

    async def handler(request: web.Request) -> web.StreamResponse:
        heard.append(request.headers["Authorization"])
        return web.json_response({}, status=401 if len(heard) == 1 else 200)

    async def scenario() -> None:
        async with (
            serving(handler) as server,
            Client(connection(home, answer(token="token-$runs"), server)) as client,
        ):
            await client.get("/version", dict)

    asyncio.run(scenario())
    assert heard == ["Bearer token-1", "Bearer token-2"]


def test_what_the_plugin_is_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_OUTSIDE", "outside")
    authority = trustme.CA().cert_pem.bytes()
    (home / "ca.crt").write_bytes(authority)
    cluster = {
        "certificate-authority": "ca.crt",
        "tls-server-name": "api.example.com",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "dev"}}],
    }
    script = 'echo "$1 $FROM_CONFIG $FROM_OUTSIDE" > given; echo "$KUBERNETES_EXEC_INFO" > info\n'
    made = connection(
        home,
        script + answer(V1BETA1, token="t"),
        "https://127.0.0.1:1",
        cluster,
        apiVersion=V1BETA1,
        args=["--login"],
        env=[{"name": "FROM_CONFIG", "value": "config"}],
        provideClusterInfo=True,
    )
    assert asyncio.run(sent(made)) == "Bearer t"
    assert (home / "given").read_text() == "--login config outside\n"
    info = json.loads((home / "info").read_text())
    assert info["apiVersion"] == V1BETA1
    assert info["kind"] == "ExecCredential"
    assert info["spec"]["interactive"] is False
    told = info["spec"]["cluster"]
    assert told.pop("certificate-authority-data")
    assert told == {
        "server": "https://127.0.0.1:1",
        "tls-server-name": "api.example.com",
        "config": {"audience": "dev"},
    }


def test_the_server_is_not_told_of_unless_asked_for(home: Path) -> None:
    made = connection(home, 'echo "$KUBERNETES_EXEC_INFO" > info\n' + answer(token="t"))
    assert asyncio.run(sent(made)) == "Bearer t"
    assert json.loads((home / "info").read_text())["spec"] == {"interactive": False}


@pytest.mark.parametrize(("mode", "may_ask"), [("Never", False), ("IfAvailable", True), ("Always", True)])
def test_at_a_terminal_a_plugin_may_ask(
    home: Path, monkeypatch: pytest.MonkeyPatch, mode: str, may_ask: bool
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    script = 'echo "$KUBERNETES_EXEC_INFO" > info\n' + answer(token="t")
    assert asyncio.run(sent(connection(home, script, interactiveMode=mode))) == "Bearer t"
    assert json.loads((home / "info").read_text())["spec"] == {"interactive": may_ask}


def test_a_program_on_the_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home), prepend=os.pathsep)
    assert asyncio.run(sent(connection(home, answer(token="t"), command="plugin"))) == "Bearer t"


ONE = {"token": "t", "clientCertificateData": "x"}


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("echo first >&2; printf 'please \\033[31mlog in\\n\\n' >&2; exit 3", "status 3: please [31mlog in"),
        ("exit 1", "the plugin ended with status 1"),
        ("kill -9 $$", "the plugin ended with status -9"),
        ("echo hello", "the plugin did not print an ExecCredential"),
        ("head -c 3000000 /dev/zero", "the plugin did not print an ExecCredential"),
        ("true", "the plugin did not print an ExecCredential"),
        (answer(V1BETA1, token="t"), f"the plugin did not print an ExecCredential of {V1}"),
        (answer(), "the plugin gave neither a token nor a certificate"),
        (answer(token="se\ncret"), "not a token"),
        (answer(**ONE), "only one of clientCertificateData and clientKeyData"),
        (answer(token="t", expirationTimestamp="soon"), "did not print an ExecCredential"),
    ],
)
def test_a_plugin_that_fails(home: Path, script: str, what: str) -> None:
    line = failure(connection(home, script, installHint="Get it at\nexample.com"))
    assert line.startswith(f"exec of user dev in {home}/config: ")
    assert what in line
    assert "cret" not in line.replace("ExecCredential", "")
    assert line.endswith("; Get it at example.com")


def test_a_program_that_cannot_be_run(home: Path) -> None:
    made = connection(home, "")
    (home / "plugin").write_text("#!/no/such/shell\n")
    assert "plugin: no such file or directory" in failure(made)


def test_a_plugin_that_does_not_end(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "PLUGIN_SECONDS", 1.5)
    made = connection(home, "echo $$ > pid; sleep 600 & wait")
    assert "the plugin did not end within 1.5 s" in failure(made)
    with pytest.raises(ProcessLookupError):
        os.kill(int((home / "pid").read_text()), 0)


def test_a_plugin_is_ended_when_nobody_waits_any_more(home: Path) -> None:
    made = connection(home, "echo $$ > pid.new; mv pid.new pid; sleep 600 & wait")

    async def scenario() -> None:
        waiting = asyncio.ensure_future(sent(made))
        async with asyncio.timeout(20):
            while not (home / "pid").exists():
                await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scenario())
    with pytest.raises(ProcessLookupError):
        os.kill(int((home / "pid").read_text()), 0)


def test_a_new_certificate_is_shown_on_new_connections_only(home: Path) -> None:
    """And no connection that was opened with the old one is used again."""
    authority = trustme.CA()
    for number in (1, 2):
        leaf = authority.issue_cert(f"client-{number}")
        pem = {
            "clientCertificateData": leaf.cert_chain_pems[0].bytes().decode(),
            "clientKeyData": leaf.private_key_pem.bytes().decode(),
        }
        document = {"apiVersion": V1, "kind": "ExecCredential", "status": pem}
        (home / f"answer-{number}").write_text(json.dumps(document))
    (home / "ca.crt").write_bytes(authority.cert_pem.bytes())

    async def scenario() -> None:
        context = server_context(authority.issue_cert("127.0.0.1"), authority)
        async with serving(echo, context) as server:
            made = connection(home, "cat answer-$runs", server, {"certificate-authority": "ca.crt"})
            async with Client(made) as client:
                for expected in ("client-1", "client-1", "client-2"):
                    if expected == "client-2":
                        made.credentials.invalidate()
                    told = json.loads(await client.request("GET", "/"))
                    assert told["certificate"] == [expected]

    asyncio.run(scenario())
    assert runs(home) == 2


def test_a_certificate_that_is_none(home: Path) -> None:
    made = connection(home, answer(clientCertificateData="x", clientKeyData="y"), "https://127.0.0.1:1")
    assert "not a certificate and a key" in failure(made)


def test_a_token_that_is_written_down_wins(home: Path) -> None:
    write_plugin(home, answer(token="plugin"))
    user = {"token": "written", "exec": {"apiVersion": V1, "command": "./plugin"}}

    async def scenario() -> None:
        async with serving(echo) as server:
            told = await ask(connect(write_kubeconfig(home / "config", server, user=user)))
            assert ["Authorization", "Bearer written"] in told["headers"]

    asyncio.run(scenario())
