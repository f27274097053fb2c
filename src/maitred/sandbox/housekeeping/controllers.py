"""All controllers of this package at once, on any API server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from maitred.kube.client import Client
from maitred.sandbox.companions import companions
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import ObjectCache
from maitred.sandbox.housekeeping.devices.claims import ResourceClaims
from maitred.sandbox.housekeeping.devices.evictions import DeviceTaintEvictions
from maitred.sandbox.housekeeping.disruptions import Disruptions
from maitred.sandbox.housekeeping.evictions import TaintEvictions
from maitred.sandbox.housekeeping.garbage import Garbage
from maitred.sandbox.housekeeping.jobs.controller import JobController
from maitred.sandbox.housekeeping.jobs.ttl import FinishedJobs
from maitred.sandbox.housekeeping.kinds import served_kinds
from maitred.sandbox.housekeeping.namespaces import NamespaceController
from maitred.sandbox.housekeeping.nodes import NodeController
from maitred.sandbox.housekeeping.pod_scheduler import PodScheduler
from maitred.sandbox.housekeeping.podgc import PodCollector
from maitred.sandbox.housekeeping.protection import GroupProtection
from maitred.sandbox.housekeeping.recorder import EventRecorder
from maitred.sandbox.housekeeping.volumes import VolumeController


class Housekeeper(Protocol):
    async def run(self) -> None:
        """Until it is cancelled."""


@asynccontextmanager
async def housekeeping(client: Client, *, schedules: bool = True) -> AsyncIterator[None]:
    """The controllers run within, as soon as they know all that is there.

    `client` needs the rights of an administrator. Kinds that the server does not serve are left out. Without
    `schedules`, pods that name no scheduler wait for another one.
    """
    kinds = await served_kinds(client)
    stock, api = ObjectCache(client, kinds.that_can("list", "watch")), ControllerApi(client)
    recorder = EventRecorder(api)
    keepers: list[Housekeeper] = [
        JobController(stock, api, recorder),
        FinishedJobs(stock, api),
        GroupProtection(stock, api),
        NamespaceController(stock, api),
        NodeController(stock, api, recorder),
        TaintEvictions(stock, api, recorder),
        PodCollector(stock, api),
        VolumeController(stock, api),
        Disruptions(stock, api),
        ResourceClaims(stock, api, recorder),
        DeviceTaintEvictions(stock, api, recorder),
    ]
    if schedules:
        keepers.append(PodScheduler(client, stock, recorder))
    keepers.append(Garbage(stock, api, kinds))  # It watches what nobody else does.
    async with companions() as others:
        for work in (stock, recorder):
            others.start(work.run())
        await stock.synced()
        for keeper in keepers:
            others.start(keeper.run())
        yield
