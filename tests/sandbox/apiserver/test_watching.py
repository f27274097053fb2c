"""Watches: nothing is missed, nothing is told twice, and who is too late is told so."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from maitred.sandbox.apiserver import request_handler, store, watching
from maitred.sandbox.apiserver.builtin import BUILTIN
from tests.sandbox.apiserver.session import NOTES, Session, note, session


def with_session(test: Callable[[Session], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(30), session() as here:
            await test(here)

    asyncio.run(run())


def test_changes_are_told_from_any_version_on() -> None:
    async def test(here: Session) -> None:
        first = await here.make(NOTES, note("a"))
        await here.make(NOTES, note("b"))
        await here.ask("PUT", f"{NOTES}/b", note("b", word="new"))
        await here.ask("DELETE", f"{NOTES}/b")
        async with here.watch(NOTES, resourceVersion=first["metadata"]["resourceVersion"]) as watch:
            told = [await watch.next() for _ in range(3)]
        assert [(kind, body["metadata"]["name"]) for kind, body in told] == [
            ("ADDED", "b"),
            ("MODIFIED", "b"),
            ("DELETED", "b"),
        ]
        versions = [int(body["metadata"]["resourceVersion"]) for _, body in told]
        assert versions == sorted(set(versions)), "a deletion has a version of its own"

    with_session(test)


def test_what_was_held_is_told_of_as_it_was_when_the_last_finalizer_goes() -> None:
    async def test(here: Session) -> None:
        held = note("a", word="old")
        held["metadata"]["finalizers"] = ["example.dev/hold"]
        await here.make(NOTES, held)
        _, going = await here.ask("DELETE", f"{NOTES}/a")
        async with here.watch(NOTES, resourceVersion=going["metadata"]["resourceVersion"]) as watch:
            status, gone = await here.ask("PUT", f"{NOTES}/a", note("a", word="new"))
            kind, told = await watch.next()
        assert (status, gone["data"], "finalizers" in gone["metadata"]) == (200, {"word": "new"}, False)
        assert (kind, told["data"], told["metadata"]["finalizers"]) == (
            "DELETED",
            {"word": "old"},
            ["example.dev/hold"],
        )
        assert int(told["metadata"]["resourceVersion"]) > int(going["metadata"]["resourceVersion"])

    with_session(test)


def test_without_a_version_a_watch_begins_with_what_is_there() -> None:
    async def test(here: Session) -> None:
        await here.make(NOTES, note("b"))
        await here.make(NOTES, note("a"))
        async with here.watch(NOTES) as watch:
            told = [await watch.next() for _ in range(2)]
            await here.make(NOTES, note("c"))
            told.append(await watch.next())
        assert [body["metadata"]["name"] for _, body in told] == ["a", "b", "c"]
        assert {kind for kind, _ in told} == {"ADDED"}

    with_session(test)


def test_objects_that_come_to_match_are_added_and_those_that_cease_to_are_deleted() -> None:
    async def test(here: Session) -> None:
        async with here.watch(NOTES, labelSelector="seen=yes") as watch:
            await here.make(NOTES, note("a"))
            await here.ask("PUT", f"{NOTES}/a", note("a", {"seen": "yes"}, word="shown"))
            _, last = await here.ask("PUT", f"{NOTES}/a", note("a", {"seen": "no"}, word="hidden"))
            added, deleted = await watch.next(), await watch.next()
        assert (added[0], deleted[0]) == ("ADDED", "DELETED")
        assert deleted[1]["data"] == {"word": "shown"}, "it is shown as it was when it was last seen"
        assert deleted[1]["metadata"]["resourceVersion"] == last["metadata"]["resourceVersion"]

    with_session(test)


def test_a_list_by_watch_says_where_it_ends() -> None:
    async def test(here: Session) -> None:
        await here.make(NOTES, note("a"))
        options = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        async with here.watch(NOTES, **options) as watch:
            (kind, _), (mark, body) = await watch.next(), await watch.next()
        assert (kind, mark) == ("ADDED", "BOOKMARK")
        assert body["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    with_session(test)


def test_who_comes_too_late_is_told_so() -> None:
    async def test(here: Session) -> None:
        made = await here.make(NOTES, note("a"))
        await here.server.stop()
        await here.server.start()
        async with here.watch(
            NOTES, resourceVersion=str(int(made["metadata"]["resourceVersion"]) - 1)
        ) as watch:
            kind, body = await watch.next()
            assert (kind, body["code"], body["reason"]) == ("ERROR", 410, "Expired")
            assert await watch.next() == ("", None)

    with_session(test)


def test_a_watch_that_cannot_keep_up_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not told of changes that are forgotten, and does not go on as if there had been none."""
    monkeypatch.setattr(store, "REMEMBERED", 5)

    async def test(here: Session) -> None:
        await here.make(NOTES, note("a"))
        shelf = here.server._store.shelf("configmaps.")
        position = shelf.history.end
        for number in range(30):
            await here.ask("PUT", f"{NOTES}/a", note("a", word=str(number)))
        assert shelf.history.following(position, 10) is None
        assert len(shelf.history.changes) < 10

    with_session(test)


def test_a_watch_has_an_end() -> None:
    async def test(here: Session) -> None:
        async with here.watch(NOTES, timeoutSeconds="1") as watch:
            assert await watch.next() == ("", None)

    with_session(test)


def test_bookmarks_come_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maitred.sandbox.apiserver.watching.BOOKMARK_SECONDS", 0.05)

    async def test(here: Session) -> None:
        async with here.watch(NOTES, allowWatchBookmarks="true") as watch:
            kind, body = await watch.next()
        assert kind == "BOOKMARK"
        assert set(body) == {"kind", "apiVersion", "metadata"}

    with_session(test)


def test_a_watch_whose_client_is_gone_is_forgotten() -> None:
    async def test(here: Session) -> None:
        async with here.watch(NOTES) as watch:
            await here.make(NOTES, note("a"))
            await watch.next()
            assert here.server.front.watches == 1
        async with asyncio.timeout(5):
            while here.server.front.watches:
                await asyncio.sleep(0.01)

    with_session(test)


def test_who_does_not_read_is_not_prepared_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all there is, a watch makes what its client takes, however many such clients there are."""
    monkeypatch.setattr(watching, "BATCH", 2)
    made = list[str]()

    def show(item: store.Item) -> bytes:
        made.append(item.key.name)
        return item.raw

    async def test(here: Session) -> None:
        for number in range(10):
            await here.make(NOTES, note(f"n{number}"))
        lines = stream(here, show).lines()
        assert not made
        assert (await anext(lines)).count(b"\n") == len(made) == 2
        assert (await anext(lines)).count(b"\n") == 2
        assert len(made) == 4
        await lines.aclose()

    with_session(test)


def test_chunks_are_bounded_by_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "CHUNK", 1000)

    async def test(here: Session) -> None:
        position = here.server._store.version
        for number in range(3):
            await here.make(NOTES, note(f"n{number}", word="x" * 900))
        for version in ("", str(position)):
            lines = stream(here, lambda item: item.raw, resourceVersion=version).lines()
            assert [(await anext(lines)).count(b"\n") for _ in range(3)] == [1, 1, 1]
            await lines.aclose()

    with_session(test)


def test_who_stops_reading_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_handler, "WATCHED_SECONDS", 0.1)

    async def test(here: Session) -> None:
        for number in range(40):
            await here.make(NOTES, note(f"n{number}", word="x" * 500_000))
        async with here.watch(NOTES) as watch:
            assert watch.answer.status == 200
            async with asyncio.timeout(20):
                while here.server.front.watches:
                    await asyncio.sleep(0.01)

    with_session(test)


def stream(here: Session, show: watching.Show, **params: str) -> watching.Stream:
    kind = next(kind for kind in BUILTIN if kind.name == "ConfigMap")
    watch = watching.watch_of(kind, "default", params)
    return watching.Stream(here.server._store, kind, watch, show)
