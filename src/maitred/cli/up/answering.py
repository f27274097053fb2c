"""The scheduler of the sandbox answers questions too, by the way that they take in any cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from maitred.cli.manifest import NAMESPACE
from maitred.cli.manifest import objects as installed
from maitred.controllers.answers import supervisor
from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.channel import Config
from maitred.controllers.bookkeeping import Keeping
from maitred.controllers.listening import bound
from maitred.controllers.scheduling.metrics import Metrics
from maitred.kube.answers import PORT, SERVICE
from maitred.kube.client import Client
from maitred.sandbox.access import Access
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.users import MAITRED
from maitred.sandbox.world.local_service import own_address, register, register_as_of_old
from maitred.sandbox.world.objects import WorldObjects


@asynccontextmanager
async def answering(
    access: Access, admin: Client, backlog: Backlog, keeping: Keeping, metrics: Metrics
) -> AsyncIterator[None]:
    """For as long as the block runs. A machine without a network has no address to be asked at: then the
    command line works answers out by itself, as it does wherever no scheduler is."""
    address = own_address()
    if address is None:
        yield
        return
    [listener] = bound(f"{address}:0", "--answers")
    number = listener.getsockname()[1]
    with closing(listener), TemporaryDirectory(prefix="maitred-", ignore_cleanup_errors=True) as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        write_kubeconfig(kubeconfig, access.url, access.authority, access.tokens[MAITRED])
        config = Config(str(kubeconfig), None, keeping.ledger.url, keeping.days)
        async with supervisor.answering([listener], backlog, config, metrics.answers_restarts.inc):
            await announce(WorldObjects(admin), address, number, access.is_old)
            yield


async def announce(objects: WorldObjects, address: str, number: int, is_old: bool) -> None:
    port = {"name": PORT, "port": number, "protocol": "TCP"}
    for body in installed("base"):
        if body["kind"] == "Service" and body["metadata"]["name"] == SERVICE:
            del body["spec"]["selector"]  # It is here, and not where a selector would find it.
            await objects.apply(body)
    await register(objects, NAMESPACE, SERVICE, port, address)
    if is_old:
        await register_as_of_old(objects, NAMESPACE, SERVICE, port, address)
