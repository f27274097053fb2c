"""The Policy in force: read from a file or a ConfigMap, and read again when that changes.

A bad one is refused, and said so, and the one before stays in force.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from maitred.kube.client import Client
from maitred.kube.reflector import Reflector
from maitred.kube.resources import CONFIG_MAPS
from maitred.kube.wire import ConfigMap
from maitred.model.manifest import InputError, read_live_policy
from maitred.model.policy import Policy

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 2.0
LARGEST_FILE = 2**20
KEY = "policy.yaml"
"""The entry of a ConfigMap that holds the policy."""


class PolicySource(Protocol):
    async def run(self, keeper: "PolicyKeeper") -> None:
        """Offer what is there, and what comes after it."""


class PolicyKeeper:
    """Holds the policy that decisions use."""

    def __init__(self, told: Callable[[bool], None]) -> None:
        """`told` hears of each new policy whether it was accepted."""
        self.policy = Policy()
        self.changed: Callable[[], None] = lambda: None
        self.first: asyncio.Future[InputError | None] = asyncio.get_running_loop().create_future()
        """What was wrong with the first policy, once there was one. A scheduler must not start with it."""
        self._told = told
        self._seen: bytes | None = None

    def offer(self, data: bytes, source: str) -> None:
        if data == self._seen:
            return
        self._seen = data
        try:
            self.policy, _ = read_live_policy(data, source)
        except InputError as problem:
            self.refuse(problem)
            return
        self._told(True)
        self._settle(None)
        log.info("policy in force: %s", source)
        self.changed()

    def refuse(self, problem: InputError) -> None:
        self._told(False)
        self._settle(problem)
        log.error("the new policy is not valid, the previous one stays in force: %s", problem)

    def _settle(self, problem: InputError | None) -> None:
        if not self.first.done():
            self.first.set_result(problem)


class Defaults:
    """No policy was named."""

    async def run(self, keeper: PolicyKeeper) -> None:
        keeper.offer(b"{}", "the defaults")


class PolicyFile:
    """A file is read again and again: what is mounted from a ConfigMap changes by a swap of links, and no
    file system tells of that reliably."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    async def run(self, keeper: PolicyKeeper) -> None:
        keeper.offer(self._read(), str(self._path))
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            # A file that is being replaced may be missing for a moment.
            with suppress(OSError):
                keeper.offer(self._read(), str(self._path))

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(LARGEST_FILE)


class PolicyConfigMap:
    """One ConfigMap, watched. While there is none the defaults are in force."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def run(self, keeper: PolicyKeeper) -> None:
        title = f"ConfigMap {self._namespace}/{self._name}"
        sink = _ConfigMapSink(keeper, title)
        reflector = Reflector(
            self._client,
            CONFIG_MAPS,
            ConfigMap,
            sink,
            namespace=self._namespace,
            selector={"fieldSelector": f"metadata.name={self._name}"},
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reflector.run())
            await reflector.synced.wait()
            if not sink.found:
                log.warning("%s does not exist: the default policy is in force", title)
                keeper.offer(b"{}", "the defaults")


class _ConfigMapSink:
    def __init__(self, keeper: PolicyKeeper, title: str) -> None:
        self.found = False
        self._keeper = keeper
        self._title = title

    def put(self, item: ConfigMap) -> None:
        self.found = True
        if KEY in item.data:
            self._keeper.offer(item.data[KEY].encode(), f"{self._title}, {KEY}")
        else:
            has = ", ".join(sorted(item.data)) or "nothing"
            self._keeper.refuse(
                InputError(self._title, "", f"data.{KEY}", f"is required; the ConfigMap has only {has}")
            )

    def gone(self, key: str) -> None:
        log.warning("%s was deleted: its policy stays in force until a restart", self._title)

    def settled(self) -> None:
        """Each ConfigMap is complete by itself."""
