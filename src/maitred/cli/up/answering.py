"""The scheduler of the sandbox answers questions too, by the way that they take in any cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maitred.cli.manifest import NAMESPACE
from maitred.cli.manifest import objects as installed
from maitred.controllers.answers.routes import ROUTES
from maitred.controllers.answers.service import Service
from maitred.controllers.answers.serving import serving_answers
from maitred.controllers.bookkeeping import Keeping
from maitred.controllers.scheduling.scheduler import Scheduler
from maitred.kube.answers import PORT, SERVICE
from maitred.kube.client import Client
from maitred.sandbox.world.objects import Objects
from maitred.sandbox.world.outpost import own_address, register, register_as_of_old


@asynccontextmanager
async def answering(
    client: Client, admin: Client, scheduler: Scheduler, keeping: Keeping, is_old: bool
) -> AsyncIterator[None]:
    """For as long as the block runs. A machine without a network has no address to be asked at: then the
    command line works answers out by itself, as it does wherever no scheduler is."""
    address = own_address()
    if address is None:
        yield
        return
    service = Service(client, scheduler.view, keeping.history, keeping.usage)
    async with serving_answers(f"{address}:0", service, ROUTES) as number:
        objects, port = Objects(admin), {"name": PORT, "port": number, "protocol": "TCP"}
        for body in installed("base"):
            if body["kind"] == "Service" and body["metadata"]["name"] == SERVICE:
                del body["spec"]["selector"]  # It is here, and not where a selector would find it.
                await objects.apply(body)
        await register(objects, NAMESPACE, SERVICE, port, address)
        if is_old:
            await register_as_of_old(objects, NAMESPACE, SERVICE, port, address)
        yield
