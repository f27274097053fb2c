"""A scheduler of ours beside a test, in the same process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from maitred.controllers.health import ProcessHealth
from maitred.controllers.policy import Defaults, PolicySource
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.scheduler import Scheduler
from maitred.controllers.scheduling.term import SchedulerSettings
from maitred.kube.client import Client
from maitred.sandbox.apiserver.users import ADMIN
from tests.control_plane.cluster import Plane
from tests.oracle.builders import gang

Json = dict[str, Any]


@asynccontextmanager
async def scheduler(
    plane: Plane, settings: SchedulerSettings | None = None, source: PolicySource | None = None
) -> AsyncIterator[Metrics]:
    stop, metrics = asyncio.Event(), Metrics()
    async with Client(plane.connection(ADMIN)) as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(
            Scheduler(
                client,
                source or Defaults(),
                settings or SchedulerSettings(),
                lease=None,
                instance="test",
                metrics=metrics,
                health=ProcessHealth(),
            ).run(stop)
        )
        yield metrics
        stop.set()


def member(name: str, group: str, quorum: int, spec: Json | None = None, cpu: str = "1") -> Json:
    """A pod of a group by marks, which every server understands."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "annotations": gang(group, quorum)},
        "spec": {"schedulerName": "maitred", "containers": [container], **(spec or {})},
    }
