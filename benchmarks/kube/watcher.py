"""`python watcher.py KUBECONFIG NAMESPACE`: a process that watches pods and writes down what it sees.

It belongs to no scheduler and takes no scheduler's word. Each line has the moment at which the event came in,
what happened, the pod, its node, and whether it is leaving; the first only says that the watch has begun.
"""

import asyncio
import sys
import time
from contextlib import aclosing
from typing import Literal

import msgspec

from maitred.cli.loops import quickest_loop
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.resources import PODS
from maitred.model.meta import Lean

WATCH = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "3600"}
FROM_NOW_ON = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


class Meta(Lean, frozen=True):
    resource_version: str
    name: str = ""
    deletion_timestamp: str = ""


class Place(Lean, frozen=True):
    node_name: str = ""


class Seen(Lean, frozen=True):
    metadata: Meta
    spec: Place = Place()


class Event(Lean, frozen=True):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: Seen


decode = msgspec.json.Decoder(Event).decode


async def watch(kubeconfig: str, namespace: str) -> None:
    """A server under load ends watches that do not keep up; the next one goes on where that ended."""
    start = FROM_NOW_ON
    async with Client(connect(kubeconfig)) as client:
        while True:
            async with aclosing(client.lines(PODS.path(namespace), params={**WATCH, **start})) as batches:
                async for lines in batches:
                    start = {"resourceVersion": write_down(lines)}


def write_down(lines: list[bytes]) -> str:
    """Returns the version that the last of them leads to."""
    now, version = time.monotonic(), ""
    for event in map(decode, lines):
        meta, place = event.object.metadata, event.object.spec
        version, leaving = meta.resource_version, "leaving" if meta.deletion_timestamp else ""
        print(now, event.type, meta.name, place.node_name, leaving)
    sys.stdout.flush()
    return version


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=quickest_loop()) as runner:
        runner.run(watch(*sys.argv[1:]))
