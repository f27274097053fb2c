"""The floor is kept up to date, whatever anyone has written on one object."""

import asyncio

import msgspec
import pytest

from maitred.explain.floorplan import table_of
from maitred.model.node import Node
from maitred.sandbox.world.watcher import ChangeCounter, KeptObjects, WorldWatcher


def node(name: str, cpu: str) -> Node:
    return msgspec.convert({"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu}}}, Node)


def test_a_node_with_less_than_nothing_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    shelf = KeptObjects(table_of, ChangeCounter())
    for each in (node("a", "8"), node("b", "8"), node("a", "-8")):
        shelf.put(each)
    assert list(shelf.kept) == ["b"]
    assert caplog.messages[0].startswith("a is not shown: ")


@pytest.mark.parametrize("passes", range(5))
def test_who_waits_can_be_stopped_in_the_moment_of_news(passes: int) -> None:
    """So many passes of the event loop after them. A sandbox whose story did not stop would never end."""

    async def stopped() -> bool:
        watcher = WorldWatcher(tuple)
        waiting = asyncio.create_task(watcher.until(lambda _: False))
        await some_passes(5)
        watcher.news.tell()
        await some_passes(passes)
        waiting.cancel()
        await some_passes(5)
        return waiting.cancelled()

    assert asyncio.run(stopped())


async def some_passes(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
