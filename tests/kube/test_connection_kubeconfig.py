"""Which kubeconfig and which context is used, and one line about each thing that can be wrong with it."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from maitred.kube import files, incluster
from maitred.kube.connect import connect
from tests.kube.local import leave_no_settings, refused, write_kubeconfig


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    leave_no_settings(monkeypatch, tmp_path)
    monkeypatch.setattr(incluster, "ACCOUNT", tmp_path / "no-account")
    return tmp_path


def at_home(home: Path, server: str) -> None:
    (home / ".kube").mkdir()
    write_kubeconfig(home / ".kube" / "config", server)


# where it is looked for


def test_the_file_that_is_named_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home(home, "https://home")
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(home / "variable", "https://variable"))
    named = write_kubeconfig(home / "named", "https://named")
    assert connect(named).server == "https://named"
    assert connect().server == "https://variable"
    monkeypatch.delenv("KUBECONFIG")
    assert connect().server == "https://home"


def test_nowhere(home: Path) -> None:
    line = refused()
    assert "$KUBECONFIG is not set" in line
    assert f"there is no {home}/.kube/config" in line
    assert "not a pod with a service account" in line
    assert line.endswith("name a kubeconfig with --kubeconfig")


def test_files_of_the_variable_that_are_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = write_kubeconfig(home / "there")
    monkeypatch.setenv("KUBECONFIG", f"{home}/gone:{there}:")
    assert connect().server == "https://127.0.0.1:6443"
    monkeypatch.setenv("KUBECONFIG", f"{home}/gone:{home}/gone-too")
    assert refused() == f"$KUBECONFIG: no such file: {home}/gone, {home}/gone-too; correct it or unset it"


# merging


def test_the_first_definition_of_a_name_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_kubeconfig(home / "first", "https://first")
    second = write_kubeconfig(home / "second", "https://second")
    third = write_kubeconfig(home / "third", "https://third", name="prod", context={"namespace": "ml"})
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join((first, second, third)))
    assert connect().server == "https://first"
    assert connect(context="prod").server == "https://third"
    assert connect(context="prod").namespace == "ml"
    assert connect(context="prod").origin == f"context prod in {third}"


def test_a_context_may_name_what_another_file_has(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "contexts").write_text(
        "current-context: x\ncontexts: [{name: x, context: {cluster: dev, user: dev}}]\nclusters: null\n"
    )
    (home / "certificates").mkdir()
    (home / "certificates" / "token").write_text("secret\n")
    rest = write_kubeconfig(home / "certificates" / "rest", user={"tokenFile": "token"})
    monkeypatch.setenv("KUBECONFIG", f"{home}/contexts:{rest}")
    connection = connect()
    assert connection.origin == f"context x in {home}/contexts"
    assert connection.settings.server == f"server of cluster dev in {rest}"
    assert connection.settings.user == f"user dev in {rest}"


# contexts


@pytest.mark.parametrize(
    ("context", "what"),
    [
        ("pord", "did you mean prod?"),
        ("xyz", "there are: dev, prod"),
        ("", "choose with --context, there are"),
    ],
)
def test_a_context_that_does_not_exist(
    home: Path, monkeypatch: pytest.MonkeyPatch, context: str, what: str
) -> None:
    one, two = write_kubeconfig(home / "one"), write_kubeconfig(home / "two", name="prod")
    monkeypatch.setenv("KUBECONFIG", f"{one}:{two}")
    line = refused(context=context)
    assert line.startswith(f"{one}, {two}: ")
    assert what in line


def test_many_contexts_are_not_all_listed(home: Path) -> None:
    contexts = [{"name": f"team-{i:02}"} for i in range(12)]
    (home / "many").write_text(json.dumps({"contexts": contexts}))
    line = refused(f"{home}/many", "zzz")
    assert line.endswith("team-08, team-09 and 2 more")


@pytest.mark.parametrize(
    ("context", "what"),
    [
        ({"cluster": "de"}, "context dev: cluster: there is no cluster 'de'; did you mean dev?"),
        ({"user": "nobody"}, "context dev: user: there is no user 'nobody'; there are: dev"),
    ],
)
def test_a_context_that_points_nowhere(home: Path, context: dict[str, str], what: str) -> None:
    file = write_kubeconfig(home / "config", context=context)
    assert refused(file) == f"{file}: {what}"


def test_a_context_without_a_user(home: Path) -> None:
    connection = connect(write_kubeconfig(home / "config", context={"user": ""}))
    assert connection.settings.user == f"context dev in {home}/config"


# what is wrong with a file


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [", "line 2, column 1: not valid YAML"),
        ('{"clusters": [', "the JSON ends in the middle"),
        ("clusters: {}", "clusters: expected a list, got an object"),
        ("users: [{user: {}}]", "users[0].name: is required"),
        (
            "users: [{name: a, user: {token: 123}}]",
            "users[0].user.token: expected a string, got a whole number",
        ),
        ("---\na: 1\n---\nb: 2\n", "has 2 documents"),
        ("\x00", "not valid YAML"),
        ("", "it has no context; is it a kubeconfig?"),
        ("kind: Deployment", "it has no context; is it a kubeconfig?"),
        ("contexts: [{name: a}]", "current-context is not set; choose with --context, there are: a"),
        (
            "current-context: x\ncontexts: [{name: a}]",
            "current-context: there is no context 'x'; there are: a",
        ),
    ],
)
def test_a_file_that_is_no_kubeconfig(home: Path, text: str, what: str) -> None:
    (home / "config").write_text(text)
    line = refused(f"{home}/config")
    assert line.startswith(f"{home}/config: ")
    assert what in line


def test_a_file_that_is_not_there(home: Path) -> None:
    assert refused(f"{home}/gone").startswith(f"{home}/gone: no such file or directory")
    assert refused(str(home)).startswith(f"{home}: is a directory")


def test_a_file_that_is_too_large(home: Path) -> None:
    with (home / "large").open("wb") as file:
        file.truncate(files.LARGEST + 1)
    assert refused(f"{home}/large").startswith(f"{home}/large: larger than 16 MiB")


CERTIFICATE = base64.b64encode(b"no certificate").decode()


@pytest.mark.parametrize(
    ("cluster", "what"),
    [
        ({"server": ""}, "server: '' is not a URL such as https://10.0.0.1:6443"),
        ({"server": "10.0.0.1:6443"}, "server: '10.0.0.1:6443' is not a URL"),
        ({"server": "https://host:port"}, "server: 'https://host:port' is not a URL"),
        ({"server": "https://me:secret@host"}, "server: only a scheme, a host, a port and a path"),
        ({"certificate-authority": "gone.crt"}, "gone.crt: no such file or directory"),
        ({"certificate-authority-data": "%%%"}, "certificate-authority-data: not base64; was it cut off?"),
        (
            {"certificate-authority-data": CERTIFICATE},
            "certificate-authority: has no certificate in PEM form",
        ),
        (
            {"certificate-authority-data": CERTIFICATE, "insecure-skip-tls-verify": True},
            "insecure-skip-tls-verify: contradicts certificate-authority; remove one",
        ),
        ({"proxy-url": "socks5://proxy:1080"}, "proxy-url: a proxy of type socks5 is not supported"),
        ({"proxy-url": "http://"}, "proxy-url: not the URL of a proxy"),
    ],
)
def test_a_cluster_that_is_refused(home: Path, cluster: dict[str, Any], what: str) -> None:
    file = write_kubeconfig(home / "config", cluster=cluster)
    line = refused(file)
    assert line.startswith(f"{file}: cluster dev: ")
    assert what in line
    assert "secret" not in line


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "interactiveMode": "Never"}


@pytest.mark.parametrize(
    ("user", "what"),
    [
        ({"token": "sec\nret"}, "token: is not a token"),
        ({"token": " "}, "token: has no token in it"),
        ({"tokenFile": "gone"}, "gone: no such file or directory"),
        ({"tokenFile": "/dev/null"}, "tokenFile: has no token in it"),
        ({"token": "secret", "username": "me"}, "username: contradicts token; remove one"),
        ({"client-certificate-data": CERTIFICATE}, "client-key: is missing"),
        ({"client-key-data": CERTIFICATE}, "client-certificate: is missing"),
        (
            {"client-certificate-data": CERTIFICATE, "client-key-data": CERTIFICATE},
            "client-certificate: not a certificate and a key",
        ),
        (
            {"auth-provider": {"name": "gcp"}},
            "auth-provider: 'gcp' is no longer supported; use an exec plugin",
        ),
        ({"as-groups": ["ops"]}, "as: is required with as-uid, as-groups"),
        ({"as": "a\nb"}, "as: Impersonate-User: has characters"),
        (
            {"exec": {**PLUGIN, "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            "exec.apiVersion: 'client.authentication.k8s.io/v1alpha1' is not",
        ),
        ({"exec": {**PLUGIN, "command": ""}}, "exec.command: is required"),
        (
            {"exec": {**PLUGIN, "command": "no-such-program"}},
            "exec.command: there is no program no-such-program",
        ),
        (
            {"exec": {**PLUGIN, "command": "no-such-program", "installHint": "get it\nfrom here"}},
            "there is no program no-such-program; get it from here",
        ),
        (
            {"exec": {**PLUGIN, "interactiveMode": "Often"}},
            "exec.interactiveMode: 'Often' is not one of Never",
        ),
        (
            {"exec": {**PLUGIN, "interactiveMode": "Always"}},
            "exec.interactiveMode: the plugin needs a terminal",
        ),
    ],
)
def test_a_user_that_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, user: dict[str, Any], what: str
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    file = write_kubeconfig(home / "config", user=user)
    line = refused(file)
    assert line.startswith(f"{file}: user dev: ")
    assert what in line
    assert "secret" not in line
    assert "sec ret" not in line
