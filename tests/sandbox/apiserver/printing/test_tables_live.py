"""Our tables of the objects of a real server, beside its own tables of them."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import aiohttp

from maitred.sandbox.apiserver.printing.table import Include, printer, table_of_list
from maitred.sandbox.apiserver.printing.text import conditions
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import ADMIN
from tests.sandbox.apiserver.printing.bodies import EARLIER, POD_STATES, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
NAMESPACE = "printing"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
AGE = re.compile(r"\b\d+[smhdy](?:\d+[smhdy])?\b")
MERGE = {"Content-Type": "application/merge-patch+json"}

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
JOB_TEMPLATE = {"spec": {**CONTAINERS, "restartPolicy": "Never"}}
BOUND = {"volumeName": "printing-v", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}
STORAGE = {"storage": "1Gi"}
SCHEMA = {"type": "object"}
RBAC = "rbac.authorization.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINED = {
    "group": "printing.example",
    "scope": "Cluster",
    "names": {"plural": "tables", "kind": "Table", "shortNames": ["tb", "tbl"]},
    "versions": [
        {"name": name, "served": name != "v1", "storage": name == "v2", "schema": {"openAPIV3Schema": SCHEMA}}
        for name in ("v3", "v2", "v1")
    ],
}
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("v1", "nodes", {}, {}),
    (
        "v1",
        "nodes",
        {
            "spec": {"unschedulable": True},
            "metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
        },
        {
            "conditions": [{"type": "Ready", "status": "Unknown"}],
            "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "amd64"},
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.1"},
                {"type": "ExternalIP", "address": "192.0.2.2"},
            ],
        },
    ),
    ("v1", "nodes", {}, {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"osImage": "os"}}),
    ("v1", "configmaps", {"data": {"a": "b"}, "binaryData": {"c": "ZA=="}}, {}),
    ("v1", "secrets", {"stringData": {"a": "b"}}, {}),
    ("v1", "serviceaccounts", {}, {}),
    ("v1", "services", {"spec": {"clusterIP": "None", "selector": {"b": "2", "a": "1"}}}, {}),
    ("v1", "services", {"spec": {"type": "ExternalName", "externalName": "x.example"}}, {}),
    ("v1", "services", {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}, {}),
    (
        "v1",
        "services",
        {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "externalIPs": ["192.0.2.9"]}},
        {"loadBalancer": {"ingress": [{"ip": "192.0.2.3"}, {"hostname": "long-name-of-a-balancer.example"}]}},
    ),
    (
        "v1",
        "persistentvolumes",
        {
            "spec": {
                "capacity": STORAGE,
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "hostPath": {"path": "/x"},
                "claimRef": {"namespace": "n", "name": "c"},
            }
        },
        {"phase": "Released", "reason": "because"},
    ),
    (
        "v1",
        "persistentvolumeclaims",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": STORAGE}}},
        {},
    ),
    (
        "v1",
        "persistentvolumeclaims",
        {"spec": {**BOUND, "resources": {"requests": STORAGE}, "storageClassName": "fast"}},
        {"phase": "Bound", "capacity": STORAGE, "accessModes": ["ReadOnlyMany", "ReadWriteOnce"]},
    ),
    (
        "v1",
        "events",
        {
            "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": "p", "fieldPath": "f"},
            "message": " m ",
        },
        {},
    ),
    (
        "v1",
        "events",
        {
            "involvedObject": {"kind": "Pod", "namespace": NAMESPACE},
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": EARLIER,
            "lastTimestamp": EARLIER,
            "count": 4,
        },
        {},
    ),
    (
        "events.k8s.io/v1",
        "events",
        {
            "regarding": {"kind": "Pod", "namespace": NAMESPACE, "name": "p"},
            "eventTime": "2026-01-02T03:04:05.000006Z",
            "series": {"count": 5, "lastObservedTime": "2026-01-02T03:05:05.000006Z"},
            "reportingController": "example.dev/c",
            "reportingInstance": "c-1",
            "action": "a",
            "reason": "R",
            "type": "Warning",
            "note": "n",
        },
        {},
    ),
    ("coordination.k8s.io/v1", "leases", {"spec": {"holderIdentity": "me"}}, {}),
    ("coordination.k8s.io/v1", "leases", {}, {}),
    (
        "batch/v1",
        "jobs",
        {"spec": {"template": JOB_TEMPLATE, "parallelism": 3}},
        {"startTime": EARLIER, "active": 1},
    ),
    (
        "batch/v1",
        "jobs",
        {"spec": {"template": JOB_TEMPLATE, "parallelism": 3, "completions": 3}},
        {
            "startTime": EARLIER,
            "completionTime": "2026-01-02T04:04:09Z",
            "succeeded": 3,
            "conditions": [{"type": kind, "status": "True"} for kind in ("SuccessCriteriaMet", "Complete")],
        },
    ),
    (
        "batch/v1",
        "jobs",
        {"spec": {"template": JOB_TEMPLATE}},
        {"conditions": [{"type": "Suspended", "status": "True"}]},
    ),
    ("policy/v1", "poddisruptionbudgets", {"spec": {"minAvailable": "50%"}}, {}),
    ("policy/v1", "poddisruptionbudgets", {"spec": {"maxUnavailable": 1}}, {}),
    ("scheduling.k8s.io/v1", "priorityclasses", {"value": 7, "preemptionPolicy": "Never"}, {}),
    ("scheduling.k8s.io/v1beta1", "podgroups", {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}, {}),
    (
        "scheduling.k8s.io/v1beta1",
        "podgroups",
        {
            "spec": {
                "schedulingPolicy": {"basic": {}},
                "workloadRef": {"workloadName": "w", "templateName": "t"},
            }
        },
        {
            "conditions": [
                {
                    "type": "PodGroupInitiallyScheduled",
                    "status": "True",
                    "reason": "Scheduled",
                    "lastTransitionTime": EARLIER,
                }
            ]
        },
    ),
    (
        "scheduling.k8s.io/v1beta1",
        "workloads",
        {"spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]}},
        {},
    ),
    ("storage.k8s.io/v1", "storageclasses", {"provisioner": "p.example"}, {}),
    ("storage.k8s.io/v1", "csinodes", {"spec": {"drivers": [{"name": "d.example", "nodeID": "n"}]}}, {}),
    (RBAC, "roles", {"rules": []}, {}),
    (
        RBAC,
        "rolebindings",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            ],
        },
        {},
    ),
]


class Real:
    def __init__(self, plane: ControlPlane, session: aiohttp.ClientSession) -> None:
        self._connection = plane.connection(ADMIN)
        self._session = session

    async def ask(self, verb: str, path: str, body: Any = None, **headers: str) -> Any:
        credentials = await self._connection.credentials.headers()
        url, context = self._connection.server + path, self._connection.context
        ask = self._session.request(
            verb, url, json=body, headers={**credentials, **headers}, ssl=context or True
        )
        async with ask as response:
            said = await response.json()
            assert response.status < 300 or response.status == 409, said["message"]
            return said

    async def make(self, path: str, name: str, body: Any, status: Any) -> None:
        metadata = {**body.get("metadata", {}), "name": name}
        await self.ask("POST", path, {**body, "metadata": metadata})
        if status:
            await self.ask("PATCH", f"{path}/{name}/status", {"status": status}, **MERGE)

    async def settle(self, path: str) -> None:
        """Until the server has written into the object whatever it will."""
        async with asyncio.timeout(20):
            while conditions(await self.ask("GET", path)).get("Established") != "True":
                await asyncio.sleep(0.05)

    async def compare(self, group: str, kind: str, path: str) -> None:
        whole = await self.ask("GET", path)
        theirs = await self.ask("GET", f"{path}?includeObject=None", Accept=TABLE)
        now = datetime.now(UTC)
        ours = table_of_list(
            printer(group, kind), whole["items"], {}, now, include=Include.NONE, version="v1"
        )
        assert columns(ours) == columns(theirs)
        assert rows(ours) == rows(theirs)


def columns(table: Any) -> list[Any]:
    return [{**column, "description": ""} for column in table["columnDefinitions"]]


def rows(table: Any) -> list[Any]:
    def cell(value: Any) -> Any:
        return AGE.sub("<age>", value) if isinstance(value, str) else value

    return [{**row, "cells": [cell(value) for value in row["cells"]]} for row in table["rows"]]


async def compare_pods(plane: ControlPlane) -> None:
    async with aiohttp.ClientSession() as session:
        real = Real(plane, session)
        await real.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for name, (spec, status) in POD_STATES.items():
            await real.make(PODS, name, pod(name, spec), status)
        await real.ask("DELETE", f"{PODS}/addressed")
        await real.compare("", "Pod", PODS)


async def compare_others(plane: ControlPlane) -> None:
    async with aiohttp.ClientSession() as session:
        real = Real(plane, session)
        await real.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for version in dict.fromkeys(version for version, *_ in CASES):
            served = {each["name"]: each for each in (await real.ask("GET", root(version)))["resources"]}
            for number, (_, plural, body, status) in enumerate(case for case in CASES if case[0] == version):
                path = collection(version, served[plural])
                await real.make(path, f"printing-{number}", body, status)
            for plural in {case[1] for case in CASES if case[0] == version}:
                group = version.rpartition("/")[0]
                await real.compare(group, served[plural]["kind"], collection(version, served[plural]))
        await real.compare("", "Namespace", "/api/v1/namespaces")
        await real.make(DEFINITIONS, "tables.printing.example", {"spec": DEFINED}, {})
        await real.settle(f"{DEFINITIONS}/tables.printing.example")
        await real.compare("apiextensions.k8s.io", "CustomResourceDefinition", DEFINITIONS)


def collection(version: str, resource: Any) -> str:
    inside = f"/namespaces/{NAMESPACE}" if resource["namespaced"] else ""
    return f"{root(version)}{inside}/{resource['name']}"


def root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def test_pods_look_as_the_real_server_shows_them(bare_control_plane: ControlPlane) -> None:
    asyncio.run(compare_pods(bare_control_plane))


def test_other_kinds_look_as_the_real_server_shows_them(bare_control_plane: ControlPlane) -> None:
    asyncio.run(compare_others(bare_control_plane))
