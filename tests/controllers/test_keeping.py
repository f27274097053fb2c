"""What is remembered of failures: decisions see it at once, and nothing that others wrote is lost."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from maitred.controllers.keeping import HEALTH, MemoryKeeper
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.shared_record import NO_RECORD, RecordVersion
from maitred.kube.wire import ConfigMap, WatchedMeta
from maitred.model.memory import NO_MEMORY, HealthMemory, Incident

NAMESPACE, NAME = "elsewhere", "maitred-health"


class FakeRecord:
    """One record on a server that can be asked to fail, or to tell of a write before it answers."""

    namespace, name = NAMESPACE, NAME

    def __init__(self) -> None:
        self.now = NO_RECORD
        self.answers_lost = 0
        self.writes = 0
        self.watcher: Callable[[ConfigMap], None] = lambda _: None

    def is_this(self, found: ConfigMap) -> bool:
        return found.metadata.name == NAME

    def put(self, text: str) -> RecordVersion:
        self.now = RecordVersion(str(int(self.now.version or 0) + 1), text)
        return self.now

    async def read(self) -> RecordVersion:
        return self.now

    async def write(self, text: str, before: RecordVersion) -> RecordVersion | Refused | Unknown:
        self.writes += 1
        if before.version != self.now.version:
            return Refused(RefusalReason.STALE, "it has changed")
        written = self.put(text)
        self.watcher(watched(written))
        if self.answers_lost:
            self.answers_lost -= 1
            return Unknown("the answer is lost")
        return written


def made() -> tuple[MemoryKeeper[HealthMemory], FakeRecord, Mirror]:
    mirror, record = Mirror("maitred"), FakeRecord()
    return MemoryKeeper(mirror, record, HEALTH), record, mirror  # type: ignore[arg-type]


def memory(*groups: str) -> HealthMemory:
    begun = datetime(2026, 1, 31, 12, tzinfo=UTC)
    source = ("PodGroup", "", "")
    return HealthMemory(tuple(Incident(g, source, begun, "replace", "Device", "it broke") for g in groups))


def watched(record: RecordVersion) -> ConfigMap:
    about = WatchedMeta(name=NAME, namespace=NAMESPACE, resource_version=record.version)
    return ConfigMap(about, {"record": record.text})


def test_what_was_decided_is_seen_at_once_and_written_once() -> None:
    keeper, record, mirror = made()
    told = list[tuple[HealthMemory, HealthMemory]]()
    keeper.listeners.append(lambda before, now: told.append((before, now)))
    assert keeper.note(memory("a/b"), NO_MEMORY)
    assert (mirror.state.memory, keeper.is_written) == (memory("a/b"), False)
    assert asyncio.run(keeper.write()) == Done()
    assert (keeper.is_written, record.now.text) == (True, str(memory("a/b")))
    keeper.put(watched(record.now))
    asyncio.run(keeper.write())
    assert (record.writes, told) == (1, [(NO_MEMORY, memory("a/b"))])


def test_what_was_decided_on_something_else_does_not_count() -> None:
    keeper, record, mirror = made()
    keeper.put(watched(record.put(str(memory("a/others")))))
    assert not keeper.note(memory("a/b"), NO_MEMORY)
    assert (mirror.state.memory, keeper.is_written) == (memory("a/others"), True)


def test_what_others_have_written_meanwhile_is_read_and_nothing_of_it_is_lost() -> None:
    keeper, record, mirror = made()
    record.put(str(memory("a/others")))
    keeper.note(memory("a/b"), NO_MEMORY)
    outcome = asyncio.run(keeper.write())
    assert isinstance(outcome, Refused)
    assert outcome.why is RefusalReason.STALE
    assert mirror.state.memory == memory("a/others")
    assert record.now.text == str(memory("a/others"))
    assert mirror.state.news.health, "it is decided again"
    assert keeper.note(memory("a/others", "a/b"), memory("a/others"))
    assert asyncio.run(keeper.write()) == Done()


def test_a_write_whose_answer_was_lost_is_recognized() -> None:
    keeper, record, mirror = made()
    record.answers_lost = 1
    keeper.note(memory("a/b"), NO_MEMORY)
    assert isinstance(asyncio.run(keeper.write()), Unknown)
    assert not keeper.is_written
    assert asyncio.run(keeper.write()) == Done()
    assert (keeper.is_written, mirror.state.memory) == (True, memory("a/b"))


@pytest.mark.parametrize("lost", [0, 1])
def test_listeners_are_told_though_the_watch_was_faster_than_the_answer(lost: int) -> None:
    keeper, record, mirror = made()
    told = list[tuple[HealthMemory, HealthMemory]]()
    keeper.listeners.append(lambda before, now: told.append((before, now)))
    record.answers_lost, record.watcher = lost, keeper.put
    keeper.note(memory("a/b"), NO_MEMORY)
    for _ in range(lost + 1):
        asyncio.run(keeper.write())
    assert (keeper.is_written, mirror.state.memory) == (True, memory("a/b"))
    assert told == [(NO_MEMORY, memory("a/b"))]


def test_an_answer_is_lost_and_the_watch_tells_of_the_write_later() -> None:
    keeper, record, _ = made()
    told = list[tuple[HealthMemory, HealthMemory]]()
    keeper.listeners.append(lambda before, now: told.append((before, now)))
    record.answers_lost = 1
    keeper.note(memory("a/b"), NO_MEMORY)
    assert isinstance(asyncio.run(keeper.write()), Unknown)
    keeper.put(watched(record.now))
    assert asyncio.run(keeper.write()) == Done()
    assert (keeper.is_written, told) == (True, [(NO_MEMORY, memory("a/b"))])


def test_an_older_version_that_a_watch_tells_late_changes_nothing() -> None:
    keeper, record, mirror = made()
    keeper.put(watched(first := record.put(str(memory("a/b")))))
    keeper.note(memory("a/b", "a/c"), memory("a/b"))
    asyncio.run(keeper.write())
    keeper.put(watched(first))
    assert mirror.state.memory == memory("a/b", "a/c")


def test_a_shadow_remembers_what_it_would_and_writes_nothing() -> None:
    mirror = Mirror("maitred")
    keeper = MemoryKeeper(mirror, None, HEALTH)
    assert keeper.note(memory("a/b"), NO_MEMORY)
    assert (keeper.is_written, mirror.state.memory) == (True, memory("a/b"))


def test_what_cannot_be_read_is_as_if_it_were_not_there() -> None:
    keeper, record, mirror = made()
    keeper.put(watched(record.put("no JSON")))
    assert mirror.state.memory == NO_MEMORY
    keeper.gone(f"{NAMESPACE}/{NAME}")
    assert mirror.state.memory == NO_MEMORY
