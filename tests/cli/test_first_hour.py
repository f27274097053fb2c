"""What a new user stumbles over: which cluster is meant, names that do not exist, shells, images, logs."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli, connecting
from maitred.cli.completion import SHELLS
from maitred.cli.ledgers import default_ledger
from maitred.kube import incluster
from maitred.kube.client import Client, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.toolchain import cache_directory
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.place import sandbox_kubeconfig_path
from tests.docs.console import ROOT
from tests.oracle import builders as b
from tests.sandbox.apiserver.running import RunningServer, running_server


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("sandbox"), kept=False) as server:
        yield server


@pytest.fixture
def home(sandbox: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a user who has done nothing but `maitred up`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(incluster, "is_in_cluster", lambda: False)
    (tmp_path / ".maitred").mkdir()
    usual = tmp_path / ".maitred" / "sandbox.kubeconfig"
    write_kubeconfig(usual, sandbox.url, sandbox.server.authority, sandbox.token(ADMIN))
    connecting.say_so.cache_clear()
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.mark.parametrize("verb", [["capacity"], ["plan", "--gang", "1"], ["audit"]])
def test_a_verb_finds_the_sandbox_where_nothing_is_configured(
    verb: list[str], home: Path, sandbox: RunningServer
) -> None:
    result = run(*verb)
    assert result.stderr.count(f"using the sandbox at {sandbox.url}: ") == 1, result.stderr
    assert result.exit_code in (0, 4, 5), result.output


def test_a_kubeconfig_that_is_configured_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config"}))
    result = run("capacity")
    assert "sandbox" not in result.output
    assert result.exit_code != 0
    monkeypatch.setenv("KUBECONFIG", str(home / "nowhere"))
    assert "no such file" in run("capacity").output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["wy"], "no such command 'wy'; did you mean 'why'?"),
        (["shceduler"], "did you mean 'scheduler'?"),
        (["sandbox", "lod"], "no such command 'lod'; did you mean 'load'?"),
        (["policy", "chek"], "no such command 'chek'; did you mean 'check'?"),
        (["policy", "zzz"], "no such command 'zzz'; there are: check"),
        (["why", "--ratherthan", "x"], "--rather-than"),
    ],
)
def test_who_mistypes_hears_the_nearest_name(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_its_script(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_MAITRED_COMPLETE={shell}_complete" in result.stdout


def test_what_the_script_asks_for_is_answered() -> None:
    environment = {"_MAITRED_COMPLETE": "bash_complete", "COMP_WORDS": "maitred sched", "COMP_CWORD": "1"}
    result = CliRunner().invoke(cli, env=environment, prog_name="maitred")
    assert "scheduler" in result.stdout


def test_without_an_image_it_is_said_that_there_is_none() -> None:
    result = run("manifest")
    assert result.exit_code == 0
    assert "there is no public image of maitred" in result.stderr
    assert "--image YOUR-REGISTRY/maitred:" in result.stderr
    assert not run("manifest", "--image", "x/maitred:1").stderr


def test_logs_and_exec_on_the_sandbox_say_that_nothing_runs_there(sandbox: RunningServer) -> None:
    async def ask(verb: str, name: str, part: str) -> ApiError:
        async with Client(sandbox.connection(ADMIN)) as client:
            with pytest.raises(ApiError) as refused:
                await client.request(verb, f"{PODS.path('default', name)}/{part}")
            return refused.value

    async def story() -> None:
        async with Client(sandbox.connection(ADMIN)) as client:
            await client.request("POST", PODS.path("default"), body=encode(b.pod("p")))
        for verb, part in (("GET", "log"), ("POST", "exec"), ("POST", "attach"), ("POST", "portforward")):
            error = await ask(verb, "p", part)
            assert error.status == 400
            assert "in the sandbox nothing runs" in error.message
        assert (await ask("GET", "nobody", "log")).status == 404
        assert (await ask("DELETE", "p", "log")).status == 405

    asyncio.run(story())


def test_the_uninstall_page_names_every_place_that_files_are_left_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    page = (ROOT / "docs" / "uninstall.md").read_text()
    ledgers = [Path(default_ledger("https://example.com", shadow)) for shadow in (False, True)]
    for path in (sandbox_kubeconfig_path(), cache_directory(), ledgers[0].parents[1]):
        named = f"`~/{path.relative_to(tmp_path)}{'/' if not path.suffix else ''}`"
        assert f"| {named} |" in page, named
    assert all(f"`{ledger.name}`" in page for ledger in ledgers)
