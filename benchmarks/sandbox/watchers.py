"""`python watchers.py KUBECONFIG WATCHES CHANGES`: watches of pods, which say when each has seen so many."""

import asyncio
import sys
from contextlib import aclosing

from maitred.cli.loops import quickest_loop
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.resources import PODS
from maitred.model.meta import Lean


class Version(Lean, frozen=True):
    resource_version: str


class Listed(Lean, frozen=True):
    metadata: Version


async def main(kubeconfig: str, watches: int, changes: int) -> None:
    async with Client(connect(kubeconfig)) as client:
        listed = await client.get(PODS.path(), Listed, params={"limit": "1"})
        print("ready", flush=True)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(watches):
                tasks.create_task(watch(client, listed.metadata.resource_version, changes))
        await asyncio.Event().wait()


async def watch(client: Client, version: str, changes: int) -> None:
    params = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "3600"}
    seen = 0
    async with aclosing(client.lines(PODS.path(), params=params)) as batches:
        async for lines in batches:
            if not seen:
                print("first", flush=True)
            seen += len(lines)
            if seen >= changes:
                print("last", flush=True)
                return
    raise RuntimeError(f"a watch has ended after {seen} of {changes} changes")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=quickest_loop()) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
