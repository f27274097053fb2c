"""The queue behind every housekeeper, and the shelves that they read from."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from maitred.kube.errors import Unreachable
from maitred.kube.resources import PODS
from maitred.sandbox.housekeeping.cache import CachedKind, Index
from maitred.sandbox.housekeeping.objects import Pod
from maitred.sandbox.housekeeping.work import WorkQueue, all_of
from tests.sandbox.housekeeping.world import make_pod, with_meta

Work = Callable[[str], Awaitable[None]]


async def drive(work: Work, use: Callable[[WorkQueue], Awaitable[None]]) -> None:
    queue = WorkQueue("test", work)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(queue.run())
        async with asyncio.timeout(10):
            await use(queue)
        running.cancel()


def test_a_key_is_worked_on_by_one_at_a_time_and_again_if_it_changed() -> None:
    calls, busy, most = Counter[str](), Counter[str](), Counter[str]()
    done = asyncio.Event()

    async def work(key: str) -> None:
        calls[key] += 1
        busy[key] += 1
        most[key] = max(most[key], busy[key])
        if key == "a" and calls["a"] == 1:
            for _ in range(5):
                queues[0].add("a")
        await asyncio.sleep(0)
        busy[key] -= 1
        if calls["a"] == 2 and calls["b"]:
            done.set()

    queues = list[WorkQueue]()

    async def use(queue: WorkQueue) -> None:
        queues.append(queue)
        queue.add("a")
        queue.add("a")
        queue.add("b")
        await done.wait()

    asyncio.run(drive(work, use))
    assert calls == {"a": 2, "b": 1}
    assert most == {"a": 1, "b": 1}


def test_what_fails_is_tried_again() -> None:
    calls, done = list[str](), asyncio.Event()

    async def work(key: str) -> None:
        calls.append(key)
        if len(calls) < 3:
            raise Unreachable("no answer")
        done.set()

    async def use(queue: WorkQueue) -> None:
        queue.add("a")
        await done.wait()

    asyncio.run(drive(work, use))
    assert calls == ["a"] * 3


def test_an_odd_object_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.Event()

    async def work(key: str) -> None:
        if key == "odd":
            raise OverflowError("date value out of range")
        done.set()

    async def use(queue: WorkQueue) -> None:
        queue.add("odd")
        queue.add("even")
        await done.wait()

    asyncio.run(drive(work, use))
    assert caplog.messages == ["test odd is ignored until it changes"]


def test_of_two_wishes_the_earlier_counts() -> None:
    calls, done = list[str](), asyncio.Event()

    async def work(key: str) -> None:
        calls.append(key)
        done.set()

    async def use(queue: WorkQueue) -> None:
        queue.add_after("a", 3600.0)
        queue.add_after("a", 0.0)
        queue.add_after("a", 3600.0)
        await done.wait()

    asyncio.run(drive(work, use))
    assert calls == ["a"]


def test_all_are_attempted_whatever_becomes_of_one() -> None:
    done = list[int]()

    async def work(number: int) -> None:
        if number == 1:
            raise Unreachable("no answer")
        done.append(number)

    trouble = asyncio.run(all_of(work, range(3)))
    assert isinstance(trouble, Unreachable)
    assert done == [0, 2]


def test_the_answer_to_a_write_is_not_undone_by_a_watch_that_is_late() -> None:
    shelf = CachedKind[Pod](PODS)
    told = list[tuple[str, str]]()
    shelf.listen(lambda old, new: told.append((phase(old), phase(new))))
    pod = with_meta(make_pod(1), resource_version="10")
    shelf.learn(pod)
    assert not shelf.items  # Only the watch says what exists.
    shelf.put(pod)
    shelf.learn(with_meta(make_pod(1, "Running"), resource_version="12"))
    shelf.put(with_meta(make_pod(1, "Pending"), resource_version="11"))
    another = with_meta(make_pod(1, "Pending"), uid="another", resource_version="9")
    shelf.learn(another)
    assert told == [("", "Pending"), ("Pending", "Running")]
    shelf.gone("default/a-1")
    shelf.learn(with_meta(make_pod(1, "Failed"), resource_version="13"))
    assert told[2:] == [("Running", "")]


def phase(pod: Pod | None) -> str:
    return "" if pod is None else pod.status.phase


def test_an_index_follows_what_objects_name() -> None:
    shelf = CachedKind[Pod](PODS)
    index = Index(shelf, lambda pod: pod.status.phase or None)
    shelf.put(make_pod(1))
    shelf.put(make_pod(2))
    shelf.put(with_meta(make_pod(1, "Running"), resource_version="2"))
    assert [pod.metadata.name for pod in index["Pending"]] == ["a-2"]
    assert [pod.metadata.name for pod in index["Running"]] == ["a-1"]
    shelf.gone("default/a-1")
    assert not index["Running"]
