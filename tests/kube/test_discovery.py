"""Which versions we use of what different servers serve."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from maitred.kube.discovery import Served, discover
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS
from maitred.model.devices.classes import DeviceClass
from maitred.model.kinds import KINDS as KINDS_READ
from maitred.model.pod import Pod
from tests.kube.library import serving

Versions = Mapping[str, Mapping[str, list[str]]]
"""Group -> version -> plurals."""

KINDS = {
    "podgroups": "PodGroup",
    "compositepodgroups": "CompositePodGroup",
    "deviceclasses": "DeviceClass",
    "priorityclasses": "PriorityClass",
}
NAMESPACED = {"podgroups", "compositepodgroups"}
GROUP, DEVICES = "scheduling.k8s.io", "resource.k8s.io"


def aggregated(versions: Versions) -> dict[str, Any]:
    def resource(group: str, version: str, plural: str) -> dict[str, Any]:
        return {
            "resource": plural,
            "responseKind": {"group": group, "version": version, "kind": KINDS[plural]},
            "scope": "Namespaced" if plural in NAMESPACED else "Cluster",
            "singularResource": plural[:-1],
            "verbs": ["get", "list", "watch"],
            "subresources": [{"subresource": "status"}],
        }

    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": [resource(group, version, p) for p in plurals],
                }
                for version, plurals in served.items()
            ],
        }
        for group, served in versions.items()
    ]
    # A third party's server that is down is listed all the same.
    down = {
        "metadata": {"name": "metrics.k8s.io"},
        "versions": [{"version": "v1beta1", "freshness": "Stale"}],
    }
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [down, *items]}


class Server:
    def __init__(self, versions: Versions, *, aggregates: bool) -> None:
        self.versions = versions
        self.aggregates = aggregates

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/version":
            return web.json_response({"major": "1", "minor": "37+", "gitVersion": "v1.37.1-cloud.3"})
        if request.path == "/apis":
            first, last = request.headers["Accept"].split(",")
            assert first == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            assert last == "application/json"
            return web.json_response(aggregated(self.versions) if self.aggregates else self.plain_groups())
        _, _, group, version = request.path.split("/")
        if version not in self.versions.get(group, {}):
            return web.json_response({"kind": "Status", "message": "the server is unable"}, status=404)
        resources = [
            {"name": name, "kind": KINDS[plural], "namespaced": plural in NAMESPACED, "verbs": []}
            for plural in self.versions[group][version]
            for name in (plural, f"{plural}/status")
        ]
        return web.json_response({"kind": "APIResourceList", "groupVersion": version, "resources": resources})

    def plain_groups(self) -> dict[str, Any]:
        groups = [
            {"name": group, "versions": [{"groupVersion": f"{group}/{v}", "version": v} for v in served]}
            for group, served in {"metrics.k8s.io": {"v1beta1": []}, **self.versions}.items()
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def discovered(versions: Versions, *, aggregates: bool) -> Served:
    async def scenario() -> Served:
        async with serving(Server(versions, aggregates=aggregates).handle) as client:
            return await discover(client)

    return asyncio.run(scenario())


either_way = pytest.mark.parametrize("aggregates", [True, False])


@either_way
@pytest.mark.parametrize(
    ("served", "groups", "composites", "condition"),
    [
        (
            {
                "v1alpha3": ["podgroups", "compositepodgroups"],
                "v1beta1": ["podgroups"],
                "v1": ["priorityclasses"],
            },
            "v1beta1",
            "v1alpha3",
            "PodGroupInitiallyScheduled",
        ),
        ({"v1alpha3": ["podgroups"]}, "v1alpha3", None, "PodGroupInitiallyScheduled"),
        ({"v1": ["priorityclasses"], "v1alpha2": ["podgroups"]}, "v1alpha2", None, "PodGroupScheduled"),
        ({"v1": ["priorityclasses"], "v1alpha1": ["podgroups"]}, None, None, "PodGroupInitiallyScheduled"),
    ],
)
def test_groups(
    served: dict[str, list[str]], groups: str | None, composites: str | None, condition: str, aggregates: bool
) -> None:
    found = discovered({GROUP: served}, aggregates=aggregates)
    assert found.version == "v1.37.1-cloud.3"
    assert (found.groups and found.groups.version) == groups
    assert (found.composites and found.composites.version) == composites
    assert found.group_condition == condition
    if found.groups:
        assert (found.groups.kind, found.groups.namespaced) == ("PodGroup", True)


@either_way
@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (["v1beta1", "v1beta2", "v1"], "v1"),
        (["v1beta2", "v1beta1"], "v1beta2"),
        (["v1beta1", "v1alpha3"], "v1beta1"),
        (["v1alpha3"], None),
        ([], None),
    ],
)
def test_devices(versions: list[str], chosen: str | None, aggregates: bool) -> None:
    served = {version: ["deviceclasses"] for version in versions}
    found = discovered({DEVICES: served} if served else {}, aggregates=aggregates)
    classes = found.resources.get(DeviceClass)
    assert (classes and classes.version) == chosen
    assert classes is None or not classes.namespaced
    assert found.groups is None


def test_what_every_server_has_is_not_asked_for() -> None:
    found = discovered({}, aggregates=True)
    assert set(found.resources) == {row.type for row in KINDS_READ if row.watched and not row.optional}
    assert found.resources[Pod] == PODS


def test_a_server_that_refuses() -> None:
    async def refuse(request: web.BaseRequest) -> web.Response:
        return web.json_response({"kind": "Status", "reason": "Forbidden", "message": "no"}, status=403)

    async def scenario() -> None:
        async with serving(refuse) as client:
            await discover(client)

    with pytest.raises(ApiError, match="GET /version: 403 Forbidden: no"):
        asyncio.run(scenario())
