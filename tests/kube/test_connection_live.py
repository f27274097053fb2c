"""On a real API server: a kubeconfig leads there, and each refusal is one line that says what to do."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from maitred.kube.client import Client, encode
from maitred.kube.connect import connect
from maitred.kube.connection import Connection
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED
from tests.kube.local import leave_no_settings, trouble

REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    leave_no_settings(monkeypatch, tmp_path)
    return tmp_path


def changed(
    file: Path, home: Path, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> Connection:
    """The connection of a kubeconfig with these fields set."""
    config = json.loads(file.read_text())
    for entry, fields in ((config["users"][0]["user"], user), (config["clusters"][0]["cluster"], cluster)):
        entry.update(fields or {})
    copy = home / "config"
    copy.write_text(json.dumps(config))
    return connect(str(copy))


def who_am_i(connection: Connection) -> dict[str, Any]:
    async def review() -> bytes:
        async with Client(connection) as client:
            path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            return await client.request("POST", path, body=encode(REVIEW))

    told: dict[str, Any] = json.loads(asyncio.run(review()))["status"]["userInfo"]
    return told


def test_a_kubeconfig_leads_to_the_server(control_plane: ControlPlane) -> None:
    told = who_am_i(connect(str(control_plane.kubeconfig(MAITRED))))
    assert told["username"] == MAITRED.name


def test_impersonation_of_a_user_in_several_groups(control_plane: ControlPlane, home: Path) -> None:
    user = {"as": "ann", "as-groups": ["ops", "ml"], "as-user-extra": {"example.org/scope": ["a", "b"]}}
    told = who_am_i(changed(control_plane.kubeconfig(ADMIN), home, user))
    assert told["username"] == "ann"
    assert {"ops", "ml"} <= set(told["groups"])
    assert told["extra"] == {"example.org/scope": ["a", "b"]}


def test_a_token_that_is_not_accepted(control_plane: ControlPlane, home: Path) -> None:
    line = trouble(changed(control_plane.kubeconfig(MAITRED), home, {"token": "expired"}), "/api/v1/pods")
    assert line.startswith("GET /api/v1/pods: 401 Unauthorized")
    assert f"user maitred in {home}/config may have expired; log in again" in line


def test_no_token_at_all(control_plane: ControlPlane, home: Path) -> None:
    line = trouble(changed(control_plane.kubeconfig(MAITRED), home, {"token": None}), "/api/v1/pods")
    assert line.startswith("GET /api/v1/pods: 40")
    assert f"user maitred in {home}/config" in line


def test_a_verb_that_is_forbidden(control_plane: ControlPlane) -> None:
    line = trouble(connect(str(control_plane.kubeconfig(MAITRED))), "/api/v1/secrets")
    assert line.startswith("GET /api/v1/secrets: 403 Forbidden")
    assert f'User "{MAITRED.name}" cannot list resource "secrets"' in line
    assert "grant the user this permission" in line


def test_a_certificate_for_another_name(control_plane: ControlPlane, home: Path) -> None:
    cluster = {"tls-server-name": "other.example.com"}
    line = trouble(changed(control_plane.kubeconfig(MAITRED), home, cluster=cluster))
    assert "the certificate of the server is not valid for 'other.example.com'" in line


def test_http_where_https_is_spoken(control_plane: ControlPlane, home: Path) -> None:
    cluster = {"server": control_plane.url.replace("https:", "http:")}
    line = trouble(changed(control_plane.kubeconfig(MAITRED), home, cluster=cluster))
    assert line.endswith(f"; server of cluster maitred in {home}/config should start with https://")
