"""A group asks an autoscaler for all the nodes that it needs, once, whoever dies; what comes is kept for it.

The definition of ProvisioningRequests is the real one, from its Go module. The autoscaler is played: it says
what came of a request, and adds nodes.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import yaml

from maitred.controllers.policy import PolicyKeeper
from maitred.controllers.provisioning import POD_TEMPLATES
from maitred.kube.resources import resource_of
from maitred.model.provisioning import ATOMIC_SCALE_UP, ProvisioningRequest, name_of
from maitred.sandbox.controlplane.build import downloaded
from maitred.sandbox.controlplane.toolchain import UnavailableError, find_go
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.conftest import KINDS, apply
from tests.scenarios.faults import CrashAt
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole
from tests.scenarios.objects import Job, node, nodes
from tests.scenarios.server import Server
from tests.scenarios.small_operator import DEFINITIONS, not_served
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import AddNode, Create, Delete, Exist, Gone, NotBound, PodsTold, Settle

MODULE, VERSION = "k8s.io/autoscaler/cluster-autoscaler/apis", "v0.0.0-20240830133931-adfbe7e45277"
REQUESTS = resource_of(ProvisioningRequest)
RIGHTS = Path(__file__).parents[2] / "deploy" / "provisioning" / "rbac.yaml"
FIRST, GANG, STRANGER = Job("first", 1), Job("gang", 2), Job("stranger", 1)


@cache
def definition() -> Json:
    try:
        source = downloaded(find_go(lambda line: None), MODULE, VERSION)["Dir"]
    except UnavailableError as error:
        pytest.skip(f"no definition of ProvisioningRequests: {error}")
    [file] = Path(source).glob("config/crd/*provisioningrequests.yaml")
    return dict(yaml.safe_load(file.read_text()))


@asynccontextmanager
async def autoscaled(stage: Stage) -> AsyncIterator[None]:
    """The server has ProvisioningRequests, and maitred may ask."""
    home, name = Api(stage.api.client, SYSTEM_NAMESPACE), definition()["metadata"]["name"]
    await stage.api.create(DEFINITIONS, definition())
    await eventually(lambda: not_served(stage.api, ProvisioningRequest))
    rights = list(yaml.safe_load_all(RIGHTS.read_text()))
    for body in rights:
        await apply(home, KINDS[body["kind"]], body)
    try:
        yield
    finally:
        for body in rights:
            await home.delete(KINDS[body["kind"]], body["metadata"]["name"])
        await stage.api.delete(DEFINITIONS, name)


@dataclass(frozen=True)
class Asking:
    """Nodes with one core could be added."""

    async def run(self, keeper: PolicyKeeper) -> None:
        template = {"name": "small", "allocatable": {"cpu": "1", "memory": "32Gi", "pods": "110"}}
        provisioning = {"class": ATOMIC_SCALE_UP, "after": "0s", "keep": "3m"}
        policy = {"nodeTemplates": [template], "provisioning": provisioning}
        keeper.offer(json.dumps(policy).encode(), "the scenario")


async def asked(stage: Stage, count: int) -> str:
    found = await stage.api.list(REQUESTS)
    return "" if len(found) == count else f"{len(found)} requests"


async def answered(stage: Stage, name: str, type: str, message: str) -> None:
    """What an autoscaler says."""
    moment = "2026-01-01T00:00:00Z"
    condition = {"type": type, "status": "True", "reason": type, "message": message}
    status = {"conditions": [{**condition, "lastTransitionTime": moment}]}
    await stage.api.patch_status(REQUESTS, name, status)


def test_a_gang_asks_for_all_its_nodes_once_and_what_comes_is_kept_for_it(server: Server) -> None:
    async def act(stage: Stage) -> None:
        async with autoscaled(stage):
            stage.start(source=lambda _: Asking())
            await stage.play(Create(FIRST), Whole(FIRST), Create(GANG), Exist(GANG))
            await eventually(lambda: asked(stage, 1))
            # No autoscaler shall buy nodes for its pods one by one, too.
            await stage.play(PodsTold(GANG, "Waiting: Capacity", reason="Capacity"), Settle())
            [request] = await stage.api.list(REQUESTS)
            name = name_of(f"{stage.api.namespace}/{GANG.name}")
            assert request["metadata"]["name"] == name
            assert request["metadata"]["ownerReferences"][0]["kind"] == "Job"
            [pod_set] = request["spec"]["podSets"]
            assert (request["spec"]["provisioningClassName"], pod_set["count"]) == (ATOMIC_SCALE_UP, 2)
            template = await stage.api.get(POD_TEMPLATES, pod_set["podTemplateRef"]["name"])
            [container] = template["template"]["spec"]["containers"]
            assert container["resources"]["requests"]["cpu"] == "1"
            # The first node comes. It is the gang's, which needs two.
            await answered(stage, name, "Accepted", "nodes are on their way")
            await stage.play(AddNode(node("new-0", 1)), Create(STRANGER), Exist(STRANGER))
            await stage.play(
                PodsTold(STRANGER, "Waiting: Reservation", reason="Reservation"), NotBound(STRANGER)
            )
            await answered(stage, name, "Provisioned", "all nodes are there")
            await stage.play(AddNode(node("new-1", 1)), Whole(GANG), NotBound(STRANGER))
            await stage.check_laws()
            await eventually(lambda: asked(stage, 2))  # now the stranger asks for itself
            await stage.play(Delete(GANG), Gone(GANG))
            await eventually(lambda: asked(stage, 1))  # what was asked for the gang goes with it

    play(server, Scenario("nodes that a gang asks for", nodes(1, cpu=1), (), settings=ONE_BY_ONE), act)


def test_killed_at_every_write_it_asks_once(server: Server) -> None:
    """A template of its pods, and the request."""

    async def act(stage: Stage) -> None:
        async with autoscaled(stage):
            stage.start(source=lambda _: Asking())
            await stage.play(Create(FIRST), Whole(FIRST))
            await stage.stop()
            for write, executed in product((2, 3), (False, True)):
                await stage.play(Create(GANG), Exist(GANG))
                trouble = CrashAt(write, executed=executed)
                actor = stage.start("mortal", trouble=trouble, source=lambda _: Asking())
                await asyncio.wait_for(trouble.reached.wait(), 60)
                await actor.crash()
                del stage.actors["mortal"]
                stage.start(source=lambda _: Asking())
                await eventually(lambda: asked(stage, 1))
                await stage.play(Settle())
                assert not await asked(stage, 1)
                await stage.stop()
                await stage.play(Delete(GANG), Gone(GANG))
                await eventually(lambda: asked(stage, 0))

    play(server, Scenario("killed while it asks for nodes", nodes(1, cpu=1), (), settings=ONE_BY_ONE), act)
