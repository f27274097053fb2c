"""How the command line asks: through the API server as the user that one is, or else by itself."""

import asyncio
import json
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.cli.manifest import NAMESPACE
from maitred.cli.why import WAITS
from maitred.kube import answers
from maitred.kube.answers import PORT, SERVICE, NoScheduler
from maitred.kube.client import Client
from maitred.kube.connection import Connection
from maitred.kube.connection_errors import Settings
from maitred.kube.credentials import Fixed
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.world.local_service import own_address, register
from maitred.sandbox.world.objects import WorldObjects
from tests.controllers.answers.house import ANN, ELSE, SECRETS, House, cluster, connection, running_house
from tests.docs.console import ROOT
from tests.oracle.builders import Obj


@pytest.fixture(scope="module")
def running() -> Iterator[House]:
    """A scheduler that answers, behind its Service, as far as the API server is concerned."""
    address = own_address()
    if address is None:
        pytest.skip("this machine is on no network, so there is no address to proxy to")
    with running_house(address) as found:
        asyncio.run(install(found, address))
        yield found


async def install(found: House, address: str) -> None:
    async with Client(connection(found.server, found.tokens[ADMIN])) as admin:
        objects = WorldObjects(admin)
        port = {"name": PORT, "port": found.port, "protocol": "TCP"}
        await register(objects, NAMESPACE, SERVICE, port, address)
        for item in cluster():
            if item["kind"] != "Namespace":
                await objects.create(item)


@pytest.fixture
def config(running: House, tmp_path: Path) -> "Config":
    return Config(running, tmp_path)


class Config:
    """Kubeconfigs of people, as they have them."""

    def __init__(self, running: House, folder: Path) -> None:
        self._running, self._folder = running, folder

    def of(self, user: User, **changes: Any) -> str:
        """`changes`: what the kubeconfig has in place of a token."""
        path = self._folder / "config"
        path.unlink(missing_ok=True)
        server = self._running.server
        write_kubeconfig(path, server.url, server.authority, self._running.tokens[user])
        if changes:
            content = json.loads(path.read_text())
            content["users"][0]["user"] = changes
            path.write_text(yaml.safe_dump(content))
        return str(path)

    def token(self, user: User) -> str:
        return self._running.tokens[user]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def told(*arguments: str) -> Obj:
    result = run(*arguments, "-o", "json")
    assert result.exit_code in (0, WAITS), result.output
    answer: Obj = json.loads(result.stdout)
    return answer


def test_a_user_without_cluster_rights_is_answered_by_the_scheduler(config: Config) -> None:
    kubeconfig = config.of(ANN)
    result = run("why", "train", "-n", "team-a", "--kubeconfig", kubeconfig)
    assert result.exit_code == WAITS, result.output
    assert "team-a/train" in result.stdout
    assert not result.stderr
    assert not any(secret in result.output for secret in SECRETS)
    answer = told("capacity", "--kubeconfig", kubeconfig)
    assert answer["waiting"] == 1
    planned = run("plan", "--gang", "2", "--cpu", "4", "-n", "team-a", "--kubeconfig", kubeconfig)
    assert planned.exit_code == 4, planned.output
    assert not any(secret in planned.output for secret in SECRETS)


def test_an_administrator_is_told_everything(config: Config) -> None:
    answer = told("why", "team-a/train", "--kubeconfig", config.of(ADMIN))
    assert answer["queue"]["first"][0]["group"] == "team-b/hidden-big"


@pytest.mark.parametrize("way", ["tokenFile", "exec"])
def test_the_token_may_come_from_a_file_or_a_plugin(config: Config, tmp_path: Path, way: str) -> None:
    token = config.token(ANN)
    (tmp_path / "token").write_text(token)
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    (tmp_path / "credential").write_text(json.dumps(credential))
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "cat",
        "args": [str(tmp_path / "credential")],
        "interactiveMode": "Never",
    }
    changes = {"tokenFile": str(tmp_path / "token")} if way == "tokenFile" else {"exec": plugin}
    answer = told("why", "team-a/train", "--kubeconfig", config.of(ANN, **changes))
    assert answer["group"] == "team-a/train"


@pytest.mark.parametrize(
    ("arguments", "user", "status", "expected"),
    [
        (
            ["why", "team-a/trian"],
            ANN,
            2,
            "team-a/trian; did you mean team-a/train",
        ),
        (["why", "team-b/hidden-big"], ANN, 1, "you may not list pods in namespace team-b"),
        (["why", "team-a/train"], ELSE, 1, "you may not list pods in namespace team-a"),
        (
            ["why", "team-a/train", "--service", "x"],
            ANN,
            2,
            "--service: 'x' is not of the form",
        ),
        (["why", "team-a/train", "--service", "x/y"], ANN, 1, "you may not send questions to the scheduler"),
        (["bill"], ANN, 2, "this scheduler keeps no ledger"),
    ],
)
def test_what_goes_wrong_is_one_line(
    config: Config, arguments: list[str], user: User, status: int, expected: str
) -> None:
    result = run(*arguments, "--kubeconfig", config.of(user))
    assert result.exit_code == status, result.output
    [line] = result.stderr.splitlines()
    assert expected in line


def test_where_no_scheduler_answers_who_may_see_the_cluster_is_answered_here(config: Config) -> None:
    arguments = ("why", "team-a/train", "--service", "default/none", "--kubeconfig")
    result = run(*arguments, config.of(ADMIN))
    assert result.exit_code == WAITS, result.output
    assert "team-a/train" in result.stdout
    assert "no scheduler answers behind Service default/none" in result.stderr
    assert "this answer is from the current state of the cluster" in result.stderr


def test_what_is_supposed_of_rules_is_answered_here_too(config: Config, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: maitred.dev/v1alpha1\nkind: Policy\n")
    arguments = ("why", "team-a/train", "--policy", str(policy), "--kubeconfig")
    assert "team-a/train" in run(*arguments, config.of(ADMIN)).stdout
    refused = run(*arguments, config.of(ANN))
    assert refused.exit_code == 1
    assert 'cannot list resource "' in refused.stderr


def test_who_speaks_for_others_is_not_answered(config: Config) -> None:
    changes = {"token": config.token(ANN), "as": "boss"}
    result = run("why", "team-a/train", "--kubeconfig", config.of(ANN, **changes))
    assert result.exit_code == 1
    assert "the scheduler answers only for your own user" in result.stderr


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic YTpi"}])
def test_who_has_a_certificate_or_a_password_only_is_told_how_to_get_a_token(headers: dict[str, str]) -> None:
    settings = Settings("", "", "", "", user="user ann in config")
    client = Client(Connection("https://nowhere", Fixed(headers), settings=settings))
    with pytest.raises(NoScheduler, match=r"^user ann in config has no token, .*kubectl create token"):
        asyncio.run(answers.own_token(client))


def test_another_scheduler_is_asked_when_one_does_not_lead(
    config: Config, running: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PAUSE_SECONDS", 0.0)
    view, looks = running.view, 0

    class Sometimes:
        """Stands by when it is first asked."""

        def __get__(self, found: House, kind: type) -> Any:
            nonlocal looks
            looks += 1
            return None if looks <= 2 else view

        def __set__(self, found: House, value: object) -> None:
            """It stays as it is."""

    monkeypatch.setattr(House, "view", Sometimes(), raising=False)
    answer = told("why", "team-a/train", "--kubeconfig", config.of(ANN))
    assert answer["group"] == "team-a/train"
    assert looks >= 3


def test_a_dump_is_all_that_is_looked_at(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster()}))
    answer = told("why", "train", "-n", "team-a", "-f", str(dump), "--kubeconfig", "/nowhere")
    assert answer["group"] == "team-a/train"


def test_kubectl_has_the_same_verbs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["kubectl-maitred"].partition(":")
    monkeypatch.setattr("sys.argv", ["kubectl-maitred", "why", "--help"])
    with pytest.raises(SystemExit) as end:
        getattr(import_module(module), function)()
    assert end.value.code == 0
    assert "Usage: kubectl maitred why " in capsys.readouterr().out
