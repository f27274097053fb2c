"""The cluster as a file, now and then, and what `maitred verify` says of it.

The bindings in it are judged, and a Plan that `maitred decide` makes of it. A dump shows gangs that are being
bound or made to leave at that very moment; what is wrong with bindings must last to be wrong.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from maitred.kube.client import Client
from maitred.kube.discovery import Served
from maitred.kube.resources import BUDGETS, JOBS, NAMESPACES, NODES, PODS, PRIORITY_CLASSES, Resource

Json = dict[str, Any]

SCHEDULER = ("--scheduler", "maitred")
LAWFUL, BROKEN = 0, 1
LASTING_SECONDS = 120.0
"""A Job waits up to 80 s before it makes a pod anew that a kubelet has refused three times."""


@dataclass(slots=True)
class Dumps:
    """Takes dumps into a folder, and keeps those in which a law is broken."""

    client: Client
    served: Served
    folder: Path
    clock: Callable[[], float]
    taken: int = 0
    _since: dict[str, float] = field(default_factory=dict)
    """Breaches of bindings, and when each was first seen without a break."""

    async def take(self) -> list[str]:
        """The breaches that count."""
        self.taken += 1
        path = self.folder / f"dump-{self.taken:05}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": await self._objects()}))
        lasting = self._lasting(await judged(path, "bindings"))
        of_plan = await self._plan_breaches(path)
        if lasting or of_plan:
            return [f"{breach} (see {path.name})" for breach in (*lasting, *of_plan)]
        path.unlink()
        path.with_suffix(".plan").unlink(missing_ok=True)
        return []

    async def _objects(self) -> list[Json]:
        resources = [NODES, PODS, PRIORITY_CLASSES, NAMESPACES, BUDGETS, JOBS]
        if self.served.groups is not None:
            resources.append(self.served.groups)
        return [item for resource in resources for item in await listed(self.client, resource)]

    async def _plan_breaches(self, path: Path) -> list[str]:
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        status, plan = await maitred("decide", "-f", str(path), *SCHEDULER, "--now", now, "-o", "json")
        if status != LAWFUL:
            return [f"maitred decide ended with {status}: {plan[:400]}"]
        path.with_suffix(".plan").write_text(plan)
        return await judged(path, "a Plan", "--plan", str(path.with_suffix(".plan")), "--now", now)

    def _lasting(self, found: list[str]) -> list[str]:
        """Each once, when it has lasted long enough."""
        now = self.clock()
        self._since = {breach: self._since.get(breach, now) for breach in found}
        lasting = [breach for breach, since in self._since.items() if now - since >= LASTING_SECONDS]
        for breach in lasting:
            self._since[breach] = float("inf")
        return lasting


async def listed(client: Client, resource: Resource) -> list[Json]:
    """With the kind of each, which the server leaves out of lists."""
    found = await client.get(resource.path(), dict)
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [{**kind, **item} for item in found["items"]]


async def judged(path: Path, what: str, *more: str) -> list[str]:
    status, answer = await maitred("verify", "-f", str(path), *SCHEDULER, *more, "-o", "json")
    if status not in (LAWFUL, BROKEN):
        return [f"maitred verify ended with {status} on {what}: {answer[:400]}"]
    breaches = json.loads(answer)["breaches"]
    return [f"law {b['law']}, {b['name']}, of {what}: {b['subject']}: {b['message']}" for b in breaches]


async def maitred(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "maitred.cli", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    answer, trouble = await process.communicate()
    status = process.returncode or 0
    return status, (answer if status in (LAWFUL, BROKEN) else trouble).decode()


async def every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await work()
