"""A sink ends up equal to the server, whatever happens in between."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast
from unittest.mock import patch

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from maitred.kube import client as client_module
from maitred.kube import reflector as reflector_module
from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.kube.reflector import REFUSALS, Reflector
from maitred.kube.resources import NODES, PODS
from maitred.kube.wire import WatchedPod
from tests.kube.library import NAMESPACE, Library, Trouble, line, serving

DEADLINE = 10.0


class Copy:
    """A sink that holds the contract to account."""

    def __init__(self) -> None:
        self.pods: dict[str, WatchedPod] = {}
        self.told: list[str] = []
        self.batches = 0

    def put(self, pod: WatchedPod) -> None:
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        old = self.pods.get(key)
        assert old is None or old.metadata.uid == pod.metadata.uid, "replaced without a word"
        self.pods[key] = pod
        self.told.append(f"put {pod.metadata.name}")

    def gone(self, key: str) -> None:
        del self.pods[key]
        self.told.append(f"gone {key.split('/')[1]}")

    def settled(self) -> None:
        self.batches += 1

    def equals(self, library: Library) -> bool:
        here = {
            (pod.metadata.name, pod.metadata.uid, pod.metadata.resource_version) for pod in self.pods.values()
        }
        there = [item["metadata"] for item in library.objects.values()]
        return here == {(m["name"], m["uid"], m["resourceVersion"]) for m in there}


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.001)


@contextmanager
def hurried(**constants: Any) -> Iterator[None]:
    """Without pauses, and with other constants of the reflector."""
    with (
        patch.object(client_module, "pause", lambda *_: 0.0),
        patch.multiple(reflector_module, pause=lambda *_: 0.0, **constants),
    ):
        yield


@asynccontextmanager
async def copying(library: Library, **options: Any) -> AsyncIterator[tuple[Copy, Reflector[WatchedPod]]]:
    copy = Copy()
    with hurried(**options.pop("constants", {})):
        async with serving(library.handle) as client, asyncio.TaskGroup() as tasks:
            reflector = Reflector(client, PODS, WatchedPod, copy, **options)
            task = tasks.create_task(reflector.run())
            yield copy, reflector
            task.cancel()


def library_of(*names: str) -> Library:
    library = Library()
    for name in names:
        library.put(name)
    return library


streaming_or_not = pytest.mark.parametrize("streaming", [True, False])


@streaming_or_not
def test_lists_and_then_follows(streaming: bool) -> None:
    async def scenario() -> None:
        library = library_of("a", "b")
        async with copying(library, streaming=streaming) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert copy.equals(library)
            library.put("c")
            library.put("a")
            library.delete("b")
            await until(lambda: copy.equals(library))
            assert copy.told == ["put a", "put b", "put c", "put a", "gone b"]
            assert reflector.counts.lists == 1

    asyncio.run(scenario())


@streaming_or_not
def test_an_empty_resource_is_synced_too(streaming: bool) -> None:
    async def scenario() -> None:
        async with copying(Library(), streaming=streaming) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert copy.batches > 0

    asyncio.run(scenario())


def test_pages() -> None:
    async def scenario() -> None:
        library = library_of(*"abcde")
        async with copying(library, streaming=False, constants={"PAGE": 2}) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert copy.equals(library)
            assert [query.get("continue") for query in library.queries[:3]] == [None, "105/2", "105/4"]

    asyncio.run(scenario())


def test_a_list_that_expires_half_way_starts_over() -> None:
    async def scenario() -> None:
        library = library_of(*"abcde")

        def change_and_compact() -> None:
            library.delete("a")
            library.replace("b")
            library.compact()

        library.troubles += [Trouble(), Trouble(meanwhile=change_and_compact)]
        async with copying(library, streaming=False, constants={"PAGE": 2}) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert copy.equals(library)
            assert [query["limit"] for query in library.queries[:3]] == ["2", "2", "20"]

    asyncio.run(scenario())


def test_a_server_that_cannot_stream_lists_is_asked_for_pages() -> None:
    async def scenario() -> None:
        library = library_of("a")
        library.streams = False
        async with copying(library, streaming=True) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert copy.equals(library)
            await until(lambda: len(library.queries) == 3)
            assert [query.get("sendInitialEvents") for query in library.queries] == ["true", None, None]

    asyncio.run(scenario())


def test_selector_goes_with_every_request() -> None:
    async def scenario() -> None:
        library = library_of(*"abc")
        library.streams = False
        selector = {"fieldSelector": "spec.nodeName!=", "labelSelector": "a in (b, c)"}
        async with copying(library, streaming=True, selector=selector, constants={"PAGE": 2}):
            await until(lambda: len(library.queries) == 4)
            assert all(selector.items() <= query.items() for query in library.queries)

    asyncio.run(scenario())


@pytest.mark.parametrize("then", ["tear", "end", "garbage", "500"])
def test_a_broken_watch_goes_on_where_it_was(then: str) -> None:
    async def scenario() -> None:
        library = library_of("a", "b")
        library.troubles += [Trouble(), Trouble(lines=1, then=then), Trouble(then=then), Trouble(status=503)]
        async with copying(library, streaming=False) as (copy, reflector):
            await until(reflector.synced.is_set)
            library.put("c")
            library.put("d")
            await until(lambda: copy.equals(library))
            versions = [query["resourceVersion"] for query in library.queries if "watch" in query]
            assert versions[:4] == ["102", "103", "103", "103"]
            assert copy.told == ["put a", "put b", "put c", "put d"]
            assert reflector.counts.lists == 1

    asyncio.run(scenario())


@streaming_or_not
@pytest.mark.parametrize("status", [0, 410, 504])
def test_an_expired_watch_lists_again(status: int, streaming: bool) -> None:
    """Told by an ERROR event or by the status; 504 when the server knows less than we do."""

    async def scenario() -> None:
        library = library_of("a", "b", "c")

        def change_and_compact() -> None:
            library.delete("a")
            library.replace("b")
            library.compact()

        first = [] if streaming else [Trouble()]
        again = Trouble(status=status, message="Too large resource version", meanwhile=change_and_compact)
        library.troubles += [*first, Trouble(lines=4 if streaming else 0, then="end"), again]
        async with copying(library, streaming=streaming) as (copy, reflector):
            await until(reflector.synced.is_set)
            await until(lambda: reflector.counts.lists == 2)
            assert copy.equals(library)
            # Replaced is gone and put; vanished is gone.
            assert copy.told[3:] == ["gone b", "put b", "put c", "gone a"]

    asyncio.run(scenario())


def test_a_streamed_list_that_breaks_off_starts_over() -> None:
    async def scenario() -> None:
        library = library_of("a", "b", "c")
        library.troubles += [
            Trouble(lines=2, then="tear"),
            Trouble(lines=1, then="end", meanwhile=lambda: library.delete("b")),
        ]
        async with copying(library, streaming=True) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert copy.equals(library)
            assert all("resourceVersion" not in query for query in library.queries)

    asyncio.run(scenario())


def test_bookmarks_move_the_place_to_go_on_from() -> None:
    async def scenario() -> None:
        library = library_of("a")
        library.troubles += [Trouble(), Trouble(lines=1, then="end")]
        async with copying(library, streaming=False) as (copy, reflector):
            await until(reflector.synced.is_set)
            batches = copy.batches
            library.bookmark()
            await until(lambda: len(library.queries) == 3)
            assert [query.get("resourceVersion") for query in library.queries] == [None, "101", "102"]
            assert copy.batches == batches, "a bookmark is no news"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "constants", [{"SILENT_SECONDS": 0.05}, {"WATCH_SECONDS": (0, 0), "GRACE_SECONDS": 0.05}]
)
def test_a_silent_watch_is_given_up(constants: dict[str, Any]) -> None:
    """Soon where bookmarks are known to come, otherwise when it should have ended long ago."""

    async def scenario() -> None:
        library = library_of("a")
        library.troubles += [Trouble(), Trouble(lines=1, then="silent")]
        async with copying(library, streaming=False, constants=constants) as (copy, reflector):
            await until(reflector.synced.is_set)
            library.bookmark()
            library.put("b")
            await until(lambda: copy.equals(library))
            assert reflector.counts.watches >= 2
            assert reflector.counts.lists == 1

    asyncio.run(scenario())


def test_a_refusal_that_passes_is_borne() -> None:
    async def scenario() -> None:
        library = library_of("a")
        library.troubles += [Trouble(status=403)] * (REFUSALS - 1)
        async with copying(library) as (copy, _):
            await until(lambda: copy.equals(library))

    asyncio.run(scenario())


@streaming_or_not
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_that_lasts_is_raised(status: int, streaming: bool) -> None:
    async def scenario() -> None:
        library = library_of("a")
        library.troubles += [Trouble(status=status)] * 100
        with hurried():
            async with serving(library.handle) as client:
                await Reflector(client, PODS, WatchedPod, Copy(), streaming=streaming).run()

    with pytest.raises(ApiError) as raised:
        asyncio.run(scenario())
    assert raised.value.status == status


@streaming_or_not
def test_what_cannot_be_read_is_left_out(streaming: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        library = library_of("a")
        library.put("odd", spec={"tolerations": [{"operator": "Perhaps"}]})
        odd = [{"operator": "Perhaps"}, {"key": "k"}]
        library.put("odd-on-node", spec={"nodeName": "n1", "tolerations": odd})
        library.put("nulls", spec={"containers": None, "nodeName": None})
        async with copying(library, streaming=streaming) as (copy, reflector):
            await until(reflector.synced.is_set)
            assert sorted(copy.pods) == [f"{NAMESPACE}/{name}" for name in ("a", "nulls", "odd-on-node")]
            assert [t.key for t in copy.pods[f"{NAMESPACE}/odd-on-node"].spec.tolerations] == ["", "k"]
            assert reflector.unreadable == {f"{NAMESPACE}/odd", f"{NAMESPACE}/odd-on-node"}
            library.put("odd", spec={"tolerations": [{"operator": "Perhaps"}]})
            library.put("a", spec={"hostNetwork": "maybe"})
            await until(lambda: f"{NAMESPACE}/a" not in copy.pods)
            library.put("odd")
            library.put("a")
            library.delete("odd-on-node")
            await until(lambda: copy.equals(library))
            assert not reflector.unreadable

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "pods: team/odd is ignored, because it is not valid: "
        "spec.tolerations[0].operator: 'Perhaps' is not one of Equal, Exists, Gt, Lt",
        "pods: team/odd-on-node is read in part, because it is not valid: "
        "spec.tolerations[0].operator: 'Perhaps' is not one of Equal, Exists, Gt, Lt",
        "pods: team/a is ignored, because it is not valid: spec.hostNetwork: "
        "expected true or false, got a string",
    ]


def test_what_is_nested_deeper_than_functions_may_call_is_passed_over() -> None:
    """The API server keeps ten thousand levels of what nobody here reads."""
    copy = Copy()
    reflector = Reflector(cast(Client, None), PODS, WatchedPod, copy)
    for number, (left, right) in enumerate((('{"f:a":', "}"), ("[", "]"))):
        deep = left * 9_000 + "{}" + right * 9_000
        fields = f'"name":"p{number}","namespace":"{NAMESPACE}","uid":"u","managedFields":[{deep}]'
        reflector._take([f'{{"type":"ADDED","object":{{"metadata":{{{fields}}}}}}}'.encode()])
    assert sorted(copy.pods) == [f"{NAMESPACE}/p0", f"{NAMESPACE}/p1"]


def test_an_unreadable_object_that_vanishes_between_lists_is_forgotten() -> None:
    async def scenario() -> None:
        library = library_of("a")
        library.put("odd", spec=[])

        def change_and_compact() -> None:
            library.delete("odd")
            library.compact()

        library.troubles += [Trouble(lines=3, then="end"), Trouble(meanwhile=change_and_compact)]
        async with copying(library) as (copy, reflector):
            await until(lambda: reflector.counts.lists == 2)
            assert copy.equals(library)
            assert not reflector.unreadable

    asyncio.run(scenario())


def test_keys_of_cluster_objects_are_names() -> None:
    async def scenario() -> None:
        library = library_of("a")
        gone = list[str]()
        copy = Copy()
        with hurried(), patch.object(copy, "gone", gone.append):
            async with serving(library.handle) as client, asyncio.TaskGroup() as tasks:
                task = tasks.create_task(Reflector(client, NODES, WatchedPod, copy).run())
                await until(lambda: copy.pods)
                library.delete("a")
                await until(lambda: gone)
                task.cancel()
        assert gone == ["a"]

    asyncio.run(scenario())


def test_lines_are_whole_however_they_are_cut() -> None:
    """The network cuts where it likes: within a line, within a character, after several lines."""

    async def scenario() -> None:
        library = library_of(*(f"pod-{number}" for number in range(50)))
        items = [("ADDED", item) for item in library.objects.values()]
        data = b"".join(line(*event) for event in items)
        for size in (1, 7, 1000, len(data)):
            received = await through_the_wire([data[at : at + size] for at in range(0, len(data), size)])
            assert received == data.splitlines()

    asyncio.run(scenario())


async def through_the_wire(pieces: list[bytes]) -> list[bytes]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in pieces:
            await answer.write(piece)
        return answer

    async with serving(handle) as client:
        return [found async for lines in client.lines("/any", params={}) for found in lines]


names = st.sampled_from("abcdef")
changes = st.one_of(
    st.tuples(st.sampled_from(["put", "delete", "replace"]), names),
    st.tuples(st.just("compact")),
)
troubles = st.builds(
    Trouble,
    status=st.sampled_from([0, 0, 0, 410, 429, 500, 503, 504]),
    lines=st.integers(0, 4),
    then=st.sampled_from(["", "tear", "end", "garbage", "500", "410"]),
)
incidents = st.tuples(troubles, st.lists(changes, max_size=4))
steps = st.lists(st.tuples(st.lists(changes, max_size=5), st.lists(incidents, max_size=3)), max_size=8)


def change(library: Library, changes: list[tuple[str, ...]]) -> None:
    for verb, *arguments in changes:
        getattr(library, verb)(*arguments)


@given(streaming=st.booleans(), before=st.lists(changes, max_size=8), steps=steps)
def test_any_history_with_any_troubles_ends_well(
    streaming: bool, before: list[Any], steps: list[tuple[Any, Any]]
) -> None:
    async def scenario() -> None:
        library = Library()
        change(library, before)
        async with copying(library, streaming=streaming, constants={"PAGE": 2}) as (copy, reflector):
            for changes, incidents in steps:
                library.troubles += [
                    dataclasses.replace(trouble, meanwhile=partial(change, library, during))
                    for trouble, during in incidents
                ]
                change(library, changes)
                await asyncio.sleep(0.002)
            library.put("last")
            await until(lambda: not library.troubles or copy.equals(library))
            library.troubles.clear()
            await until(lambda: reflector.synced.is_set() and copy.equals(library))

    asyncio.run(scenario())
