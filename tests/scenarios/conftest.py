"""The server that scenarios are played on, with maitred as a user who has exactly the role in deploy/."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from maitred.kube.client import Client, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import NAMESPACES, PODS, Resource
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.housekeeping.jobs import failures
from tests.sandbox.apiserver.running import running_server
from tests.scenarios.api import Api, eventually
from tests.scenarios.server import RealServer, SandboxServer, Server

RBAC = Path(__file__).parents[2] / "deploy" / "base" / "rbac.yaml"
RIGHTS = "rbac.authorization.k8s.io"
KINDS = {
    "ServiceAccount": Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    "ClusterRole": Resource(RIGHTS, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": Resource(
        RIGHTS, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
    "Role": Resource(RIGHTS, "v1", "roles", "Role"),
    "RoleBinding": Resource(RIGHTS, "v1", "rolebindings", "RoleBinding"),
}
SYSTEM_NAMESPACE = "maitred-system"
APPLY = {"fieldManager": "scenarios", "force": "true"}


REAL = pytest.param(
    "real_server",
    id="kubernetes",
    marks=[pytest.mark.control_plane, pytest.mark.xdist_group("scenarios")],
)
SANDBOX = pytest.param(
    "sandbox_server", id="sandbox", marks=[pytest.mark.slow, pytest.mark.xdist_group("sandbox")]
)


@pytest.fixture(scope="package")
def real_server(control_plane: ControlPlane) -> Server:
    return RealServer(control_plane)


@pytest.fixture(scope="package")
def sandbox_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its Job controller creates a pod anew after a moment. The real one waits for ten seconds, and that is
    tested where it is tested how Jobs end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failures, "FIRST_WAIT", 1.0)
        with running_server(tmp_path_factory.mktemp("sandbox"), kept=True) as server:
            yield SandboxServer(server)


@pytest.fixture(scope="package", params=[REAL, SANDBOX])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Every scenario is played on both."""
    chosen: Server = request.getfixturevalue(request.param)
    asyncio.run(grant(chosen))
    yield chosen
    asyncio.run(revoke(chosen))


async def grant(server: Server) -> None:
    async with Client(server.admin()) as admin, Client(server.scheduler()) as scheduler:
        api = Api(admin, SYSTEM_NAMESPACE)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
        await apply(api, NAMESPACES, namespace)
        for body in rights():
            await apply(api, KINDS[body["kind"]], body)
        await eventually(lambda: refusal(scheduler))


async def revoke(server: Server) -> None:
    async with Client(server.admin()) as admin:
        api = Api(admin, SYSTEM_NAMESPACE)
        for body in rights():
            await api.delete(KINDS[body["kind"]], body["metadata"]["name"])


def rights() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(RBAC.read_text()))


async def apply(api: Api, resource: Resource, body: dict[str, Any]) -> None:
    path = api.path(resource, body["metadata"]["name"])
    await api.client.request(
        "PATCH", path, params=APPLY, body=encode(body), content_type="application/apply-patch+yaml"
    )


async def refusal(client: Client) -> str:
    try:
        await client.request("GET", PODS.path(), params={"limit": "1"})
    except ApiError as error:
        return str(error)
    return ""
