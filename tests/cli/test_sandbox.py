"""`maitred sandbox`: which cluster it takes for a sandbox, and what it refuses before it touches anything."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.sandbox.place import sandbox_kubeconfig_path

NOWHERE = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has no cluster at all."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["sandbox", *arguments])


def test_without_a_sandbox_it_says_how_to_start_one(home: Path) -> None:
    for arguments in (
        ["fail", "n1"],
        ["heal", "n1"],
        ["drain", "n1"],
        ["floor"],
        ["add", "1"],
        ["load", "queue"],
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("no sandbox is running; start one with `maitred up`")


def test_the_cluster_that_kubectl_uses_is_not_taken_for_the_sandbox(home: Path) -> None:
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(NOWHERE)
    assert invoke("fail", "n1").stderr.startswith("no sandbox is running")


def test_a_kubeconfig_that_is_named_must_exist(home: Path) -> None:
    result = invoke("floor", "--kubeconfig", str(home / "absent"))
    assert (result.exit_code, "absent" in result.stderr) == (2, True)


def test_a_kubeconfig_of_the_environment_that_is_not_there_is_no_reason_to_take_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_kubeconfig_path().parent.mkdir()
    sandbox_kubeconfig_path().write_text(NOWHERE)
    monkeypatch.setenv("KUBECONFIG", str(home / "absent"))
    result = invoke("fail", "n1")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"$KUBECONFIG is {home / 'absent'}, and there is no such file; unset it")


def test_the_file_of_the_sandbox_is_in_the_home_of_the_user(home: Path) -> None:
    assert sandbox_kubeconfig_path() == home / ".maitred" / "sandbox.kubeconfig"


def test_stories_are_listed_without_a_cluster(home: Path) -> None:
    assert "two-gangs" in invoke("stories").stdout
    listed = json.loads(invoke("stories", "-o", "json").stdout)
    assert {"name", "title", "about"} == set(listed[0])


@pytest.mark.parametrize("text", ["soon", "-5", "5 m", "1e9", ""])
def test_a_duration_is_a_duration(home: Path, text: str) -> None:
    result = invoke("fail", "n1", "--for", text)
    assert result.exit_code == 2
    assert "is not a duration such as 90s, 5m or 1h" in result.stderr


def test_a_target_is_required(home: Path) -> None:
    assert invoke("drain").exit_code == 2
