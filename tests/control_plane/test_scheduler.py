"""The scheduler on a real server, where what matters is what it does not do."""

import asyncio
import logging

import pytest

from maitred.controllers.policy import KEY, PolicyConfigMap
from maitred.controllers.scheduling.term import SchedulerSettings
from maitred.kube.client import Client
from maitred.kube.resources import CONFIG_MAPS
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import Machine
from tests.control_plane.cluster import Cluster, cluster
from tests.control_plane.seating import member, scheduler

RENAMED = {"metadata": {"name": "rules"}, "data": {"policy.yml": "{}"}}
MACHINES = [Machine(name, {"cpu": "4", "memory": "8Gi"}, {"pool": name}) for name in ("n1", "n2")]


def test_a_shadow_reports_and_writes_nothing(
    control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def story() -> None:
        async with cluster(control_plane, MACHINES) as place:
            for name in ("a", "b"):
                await place.create(member(name, "crew", 2))
            async with scheduler(control_plane, SchedulerSettings(scheduler=None, shadow=True)) as metrics:
                words = f"group {place.namespace}/crew: would place 2 of 2 members on "
                while not any(message.startswith(words) for message in caplog.messages):
                    await asyncio.sleep(0.02)
                await seen_again(place)
                while metrics.registry.get_sample_value("maitred_cycles_total") < 2:  # type: ignore[operator]
                    await asyncio.sleep(0.02)
            for name in ("a", "b"):
                pod = await place.get(f"/api/v1/namespaces/{place.namespace}/pods/{name}")
                assert pod is not None
                assert "nodeName" not in pod["spec"]
                assert "conditions" not in pod["status"]

    asyncio.run(asyncio.wait_for(story(), 60))


async def seen_again(place: Cluster) -> None:
    """Something happens, so that there is another cycle that could write."""
    await place.create(member("c", "crew", 2))


def test_a_policy_in_a_config_map_is_followed_and_a_bad_one_is_not(
    control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    async def put(place: Cluster, text: str, verb: str = "PUT") -> None:
        name = "" if verb == "POST" else "rules"
        body = {"metadata": {"name": "rules"}, "data": {KEY: text}}
        await place.send(verb, CONFIG_MAPS.path(place.namespace, name), body)

    async def story() -> None:
        async with (
            cluster(control_plane, MACHINES) as place,
            Client(control_plane.connection(ADMIN)) as client,
        ):
            await put(place, "nodes: {managed: {matchLabels: {pool: n2}}}", "POST")
            source = PolicyConfigMap(client, place.namespace, "rules")
            async with scheduler(control_plane, source=source):
                await place.create(member("a", "one", 1))
                bound = await place.pod("a", lambda pod: "nodeName" in pod["spec"])
                assert bound["spec"]["nodeName"] == "n2"
                await put(place, "nodes: {managd: {}}")
                while not any("the new policy is not valid" in message for message in caplog.messages):
                    await asyncio.sleep(0.02)
                await place.send("PUT", CONFIG_MAPS.path(place.namespace, "rules"), RENAMED)
                while not any("data.policy.yaml: is required" in message for message in caplog.messages):
                    await asyncio.sleep(0.02)
                await place.create(member("b", "two", 1))
                bound = await place.pod("b", lambda pod: "nodeName" in pod["spec"])
                assert bound["spec"]["nodeName"] == "n2", "the policy before stays in force"
                await put(place, "nodes: {managed: {matchLabels: {pool: n1}}}")
                await place.create(member("c", "three", 1, cpu="4"))
                bound = await place.pod("c", lambda pod: "nodeName" in pod["spec"])
                assert bound["spec"]["nodeName"] == "n1"

    asyncio.run(asyncio.wait_for(story(), 60))
