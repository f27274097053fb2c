"""A user of one namespace, on a real API server with RBAC: what they are told, what not, and by which way."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from maitred.cli.manifest import NAMESPACE
from maitred.cli.manifest import objects as installed
from maitred.cli.why import WAITS
from maitred.kube.answers import PORT, SERVICE, TOKEN_HEADER, ServiceAddress
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.errors import ApiError
from maitred.kube.resources import NAMESPACES
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.run import ControlPlane, free_ports
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.users import MAITRED
from maitred.sandbox.world.local_service import own_address, register, register_as_of_old
from maitred.sandbox.world.objects import WorldObjects
from tests.control_plane.cluster import Cluster, cluster
from tests.control_plane.seating import member

Json = dict[str, Any]
MACHINES = [Machine(f"n{number}", {"cpu": "4", "memory": "8Gi"}, {}) for number in range(4)]
LEFT_OUT = ("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget")
SECRET = "hidden"
RBAC = "rbac.authorization.k8s.io"
LONG = 120.0


@dataclass(frozen=True)
class House:
    """A scheduler with the rights that it is installed with, and those who ask it."""

    plane: ControlPlane
    place: Cluster
    folder: Path

    async def account(self, name: str) -> str:
        """The kubeconfig of a new service account in the namespace of the test."""
        accounts = f"/api/v1/namespaces/{self.place.namespace}/serviceaccounts"
        await self.place.send("POST", accounts, {"metadata": {"name": name}})
        request = {"spec": {"expirationSeconds": 3600}}
        found = await self.place.send("POST", f"{accounts}/{name}/token", request)
        path = self.folder / name
        write_kubeconfig(path, self.plane.url, self.plane.authority, found["status"]["token"])
        return str(path)

    async def bind(self, namespace: str, kind: str, role: str, account: str) -> None:
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.place.namespace}
        body = {
            "metadata": {"name": f"{role}-{account}"},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": [subject],
        }
        await self.place.send("POST", f"/apis/{RBAC}/v1/namespaces/{namespace}/rolebindings", body)

    async def member_of_team(self, name: str) -> str:
        """May list pods in the namespace of the test, and ask."""
        kubeconfig = await self.account(name)
        look = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
        roles = f"/apis/{RBAC}/v1/namespaces/{self.place.namespace}/roles"
        await self.place.send("POST", roles, {"metadata": {"name": "look"}, "rules": [look]})
        await self.bind(self.place.namespace, "Role", "look", name)
        await self.bind(NAMESPACE, "ClusterRole", "maitred-user", name)
        return kubeconfig


def maitred(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "maitred.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)


async def told(*arguments: str) -> Json:
    """Asked until the scheduler knows what it is asked about."""
    async with asyncio.timeout(LONG):
        while (result := await asyncio.to_thread(maitred, *arguments, "-o", "json")).returncode not in (
            0,
            WAITS,
        ):
            await asyncio.sleep(0.2)
    answer: Json = json.loads(result.stdout)
    return answer


@asynccontextmanager
async def house(plane: ControlPlane, folder: Path) -> AsyncIterator[House]:
    address = own_address()
    if address is None:
        pytest.skip("this machine is on no network, so there is no address to proxy to")
    [port] = free_ports(1)
    async with cluster(plane, MACHINES) as place, installation(place, plane, address, port):
        hidden = Cluster(place.client, place.fleet, f"{SECRET}-{place.namespace}")
        await place.send("POST", NAMESPACES.path(), {"metadata": {"name": hidden.namespace}})
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "maitred.cli", "scheduler", "--no-leader-election"),
            *("--kubeconfig", str(plane.kubeconfig(MAITRED)), "--listen", "", "--ledger", "none"),
            *("--answers", f"{address}:{port}", "--log-level", "warning"),
        )
        try:
            await tenants(place, hidden)
            yield House(plane, place, folder)
        finally:
            process.terminate()
            await process.wait()
            await place.send("DELETE", NAMESPACES.path(name=hidden.namespace))


@asynccontextmanager
async def installation(place: Cluster, plane: ControlPlane, address: str, port: int) -> AsyncIterator[None]:
    objects = WorldObjects(place.client)
    bodies = [body for body in installed("base") if body["kind"] not in LEFT_OUT]
    for body in bodies:
        await objects.apply(body)
    number = {"name": PORT, "port": port, "protocol": "TCP"}
    await register(objects, NAMESPACE, SERVICE, number, address)
    if plane.release.name.startswith("1.36."):
        await register_as_of_old(objects, NAMESPACE, SERVICE, number, address)
    try:
        yield
    finally:
        for body in reversed(bodies):
            await objects.delete(await objects.path(body), at_once=True)
        while await objects.find(NAMESPACES.path(name=NAMESPACE)) is not None:
            await asyncio.sleep(0.1)


async def tenants(place: Cluster, hidden: Cluster) -> None:
    """Strangers run on two nodes of four; ours runs on one, and another of ours waits for two."""
    for number in range(2):
        await hidden.create(member(f"{SECRET}-{number}", f"{SECRET}-crew", 2, cpu="4"))
    for number in range(2):
        await hidden.phase(f"{SECRET}-{number}", "Running")
    await place.create(member("run-0", "run", 1, cpu="4"))
    await place.phase("run-0", "Running")
    for number in range(2):
        await place.create(member(f"train-{number}", "train", 2, cpu="4"))


def test_a_user_of_one_namespace_is_told_about_it_and_nobody_elses_names(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async def story() -> None:
        async with house(control_plane, tmp_path) as found:
            ann = await found.member_of_team("ann")
            team = found.place.namespace
            waiting = await told("why", "train", "-n", team, "--kubeconfig", ann)
            assert (waiting["group"], waiting["verdict"]) == (f"{team}/train", "Waiting")
            assert waiting["blockers"][0]["category"] == "Capacity"
            running = await told("why", "run", "-n", team, "--kubeconfig", ann)
            assert running["progress"]["ready"] == 1
            capacity = await told("capacity", "--kubeconfig", ann)
            plan = ("plan", "--gang", "4", "--cpu", "4", "-n", team, "--kubeconfig", ann, "-o", "json")
            planned = await asyncio.to_thread(maitred, *plan)
            assert planned.returncode == 4, planned.stderr
            unknown = await asyncio.to_thread(
                maitred, "why", f"{SECRET}-crew", "-n", team, "--kubeconfig", ann
            )
            assert unknown.returncode == 2
            line = unknown.stderr.replace(f"{team}/{SECRET}-crew", "")
            for text in (json.dumps([waiting, running, capacity]), planned.stdout, line):
                assert SECRET not in text
            await refusals(found, ann)
            await everything(found)
            await as_a_plugin(found, ann)

    asyncio.run(asyncio.wait_for(story(), 3 * LONG))


async def refusals(found: House, ann: str) -> None:
    """Without a token of one's own nothing is told, whatever the API server lets through."""
    team = found.place.namespace
    theirs = await asyncio.to_thread(maitred, "why", f"{SECRET}-{team}/{SECRET}-crew", "--kubeconfig", ann)
    assert theirs.returncode == 1
    assert f"you may not list pods in namespace {SECRET}-{team}" in theirs.stderr
    bob = await found.account("bob")
    barred = await asyncio.to_thread(maitred, "why", "train", "-n", team, "--kubeconfig", bob)
    assert barred.returncode == 1
    [line] = barred.stderr.splitlines()
    assert "ask an administrator to bind you to the ClusterRole maitred-user" in line
    assert 'cannot list resource "' in line
    path = ServiceAddress(NAMESPACE).path(f"why/{team}/train")
    async with Client(connect(ann)) as client:
        for headers, reason in ({}, "NoToken"), ({TOKEN_HEADER: "of-nobody"}, "TokenRefused"):
            with pytest.raises(ApiError) as refusal:
                await client.request("GET", path, headers=headers)
            assert (refusal.value.status, refusal.value.reason) == (401, reason)
    async with aiohttp.ClientSession() as http, http.get(found.plane.url + path, ssl=False) as answer:
        assert answer.status in (401, 403)


async def everything(found: House) -> None:
    admin = str(found.plane.kubeconfig(ADMIN))
    team = found.place.namespace
    theirs = await told("why", f"{SECRET}-{team}/{SECRET}-crew", "--kubeconfig", admin)
    assert theirs["group"] == f"{SECRET}-{team}/{SECRET}-crew"
    assert theirs["state"] == "Running"


async def as_a_plugin(found: House, ann: str) -> None:
    plugin = found.folder / "kubectl-maitred"
    plugin.write_text(f"#!{sys.executable}\nfrom maitred.cli import kubectl_plugin\nkubectl_plugin()\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    kubectl = str(programs(found.plane.release, print) / "kubectl")
    result = await asyncio.to_thread(
        subprocess.run,
        [kubectl, "maitred", "why", "train", "-n", found.place.namespace],
        env={**os.environ, "KUBECONFIG": ann, "PATH": f"{found.folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert result.returncode == WAITS, result.stderr
    assert f"{found.place.namespace}/train" in result.stdout
