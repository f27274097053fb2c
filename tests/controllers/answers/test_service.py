"""Answers over HTTP: to whom, about what, and in which words they are refused."""

import asyncio
import io
import json
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from maitred.controllers.answers import desk, door, serving
from maitred.controllers.answers.desk import Desk
from maitred.controllers.answers.door import Memory
from maitred.controllers.answers.refusals import RefusedError
from maitred.explain.proposal.answer import Proposals
from maitred.explain.proposal.supposition import Supposition, gang_objects
from maitred.explain.why.answer import Comparison, Why
from maitred.sandbox.users import ADMIN
from maitred.sandbox.world.objects import Objects
from tests.controllers.answers.house import ANN, ELSE, SECRETS, House, bound, house, made

Story = Callable[[House], Awaitable[None]]
TRAIN = "/v1alpha1/why/team-a/train"


def play(story: Story) -> None:
    async def run() -> None:
        async with house() as found:
            await story(found)

    asyncio.run(run())


def assert_kept(answer: Any) -> None:
    text = json.dumps(answer)
    assert not any(secret in text for secret in SECRETS), text


def gang(namespace: str, members: int = 2) -> bytes:
    return Supposition(gang_objects("wish", namespace, members, members, {"cpu": "4"})).body()


def test_a_member_of_a_team_hears_why_their_group_waits_and_nobody_elses_name() -> None:
    async def story(found: House) -> None:
        answer = await found.told("why/team-a/train")
        told = msgspec.convert(answer, Why)
        assert (told.group, told.verdict) == ("team-a/train", "Waiting")
        assert told.queue is not None
        assert told.queue.seated == 1
        assert [one.group.partition("/")[0] for one in told.queue.first] == ["other#1"]
        for path in ("why/team-a/train-0?kind=pod", "capacity", "evictions/team-a/train-0"):
            assert_kept(await found.told(path))
        assert_kept(answer)
        status, answer = await found.ask("/v1alpha1/plan", method="POST", data=gang("team-a"))
        assert status == 200
        assert msgspec.convert(answer, Proposals).outcome == "waits"
        assert_kept(answer)

    play(story)


def test_an_administrator_hears_all_names() -> None:
    async def story(found: House) -> None:
        told = msgspec.convert(await found.told("why/team-a/train", ADMIN), Why)
        assert told.queue is not None
        assert [one.group for one in told.queue.first] == ["team-b/hidden-big"]
        compared = await found.told("why/team-a/train?ratherThan=team-b/hidden-big", ADMIN)
        assert msgspec.convert(compared, Comparison).other == "team-b/hidden-big"

    play(story)


REFUSED: list[tuple[str, Any, tuple[int, str]]] = [
    (TRAIN, None, (401, "NoToken")),
    (TRAIN, "", (401, "NoToken")),
    (TRAIN, "of-nobody", (401, "TokenRefused")),
    (TRAIN, "x" * 20_000, (401, "TokenRefused")),
    ("/v1alpha1/capacity", None, (401, "NoToken")),
    ("/v1alpha1/why/team-b/hidden-big", ANN, (403, "NotYours")),
    ("/v1alpha1/why/nowhere/nothing", ANN, (403, "NotYours")),
    (f"{TRAIN}?ratherThan=team-b/hidden-big", ANN, (403, "NotYours")),
    (TRAIN, ELSE, (403, "NotYours")),
    ("/v1alpha1/why/team-a/trian", ANN, (404, "UnknownName")),
    ("/v1alpha1/why/team-a/hidden-big", ANN, (404, "UnknownName")),
    ("/v1alpha1/why/nowhere/train", ADMIN, (404, "UnknownName")),
    ("/v1alpha1/evictions/team-a/nobody", ANN, (404, "UnknownName")),
    ("/v1alpha1/why/team-a/No", ANN, (400, "BadQuestion")),
    (f"/v1alpha1/why/{'a' * 64}/train", ANN, (400, "BadQuestion")),
    (f"{TRAIN}?kind=node", ANN, (400, "BadQuestion")),
    (f"{TRAIN}?kind=pod&kind=pod", ANN, (400, "BadQuestion")),
    (f"{TRAIN}?kid=pod", ANN, (400, "BadQuestion")),
    (f"{TRAIN}?ratherThan=train", ANN, (400, "BadQuestion")),
    ("/v1alpha1/bill?month=2026-13", ANN, (400, "BadQuestion")),
    ("/v1alpha1/bill", ANN, (404, "NoLedger")),
    ("/v1alpha1/bill?month=2999-01", ANN, (404, "UnknownName")),
    ("/v1alpha1/nothing", ANN, (404, "NoSuchPath")),
    ("/", ANN, (404, "NoSuchPath")),
]


def test_what_is_not_answered_is_refused_in_words() -> None:
    async def story(found: House) -> None:
        messages = {}
        for path, user, expected in REFUSED:
            status, reason, messages[path] = await found.refused(path, user)
            assert (status, reason) == expected, path
            if not any(secret in path for secret in SECRETS):
                assert_kept(messages[path])
        assert messages["/v1alpha1/why/team-a/trian"].endswith(
            "did you mean team-a/train or team-a/train-1 or team-a/train-0?"
        )
        kid = messages[f"{TRAIN}?kid=pod"]
        assert kid == "kid: there is no such parameter; did you mean kind?"

    play(story)


def test_nobody_hears_whether_a_name_or_a_namespace_of_others_exists() -> None:
    """What is said of it is what is said of one that is nowhere."""
    pairs = (
        ("why/team-a/hidden-big", "why/team-a/nothing-at-all"),
        ("why/team-b/hidden-big", "why/nowhere/nothing-at-all"),
        ("why/team-a/hidden-big-0?kind=pod", "why/team-a/nothing-at-all?kind=pod"),
        (
            "why/team-a/train?ratherThan=team-b/hidden-big",
            "why/team-a/train?ratherThan=nowhere/nothing-at-all",
        ),
        ("evictions/team-a/hidden-big-0", "evictions/team-a/nothing-at-all"),
        ("evictions/team-b/hidden-big-0", "evictions/nowhere/nothing-at-all"),
    )

    def without_names(message: str) -> str:
        return re.sub(
            "team-b|nowhere", "NAMESPACE", re.sub("hidden-big(-0)?|nothing-at-all", "NAME", message)
        )

    async def story(found: House) -> None:
        for there, nowhere in pairs:
            answers = [await found.refused(f"/v1alpha1/{path}", ANN) for path in (there, nowhere)]
            kept = [(status, reason, without_names(message)) for status, reason, message in answers]
            assert kept[0] == kept[1]

    play(story)


NONSENSE = [
    (b"", "the body is not valid JSON"),
    (b"[]", "expected an object, got a list"),
    (b'{"objects": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}]}', "can be planned"),
    (b'{"objects": []}', "has no pods"),
    (b'{"things": []}', "there is no such field"),
    (b'{"objects": [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a/b"}}]}', "metadata.name"),
]


def test_a_plan_of_nonsense_is_refused_in_words() -> None:
    async def story(found: House) -> None:
        for body, expected in NONSENSE:
            status, reason, message = await found.refused("/v1alpha1/plan", method="POST", data=body)
            assert (status, reason) == (400, "BadQuestion"), body
            assert expected in message

    play(story)


def test_a_plan_is_for_own_namespaces_and_of_a_bounded_size() -> None:
    async def story(found: House) -> None:
        status, reason, _ = await found.refused("/v1alpha1/plan", method="POST", data=gang("team-b"))
        assert (status, reason) == (403, "NotYours")
        large = io.BytesIO(b" " * (serving.LARGEST_BODY + 1))
        status, reason, _ = await found.refused("/v1alpha1/plan", method="POST", data=large)
        assert (status, reason) == (413, "TooLarge")

    play(story)


def test_what_is_supposed_leaves_no_trace() -> None:
    async def story(found: House) -> None:
        assert found.view is not None
        before = found.view.state.snapshot()
        found.view.state.take_news()
        await found.ask("/v1alpha1/plan", method="POST", data=gang("team-a"))
        after = found.view.state.snapshot()
        assert [view.group for view in after.groups] == [view.group for view in before.groups]
        assert not found.view.state.take_news().groups

    play(story)


def test_methods_that_a_path_does_not_have_are_refused_with_those_that_it_has() -> None:
    async def story(found: House) -> None:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            status, reason, _ = await found.refused(TRAIN, method=method)
            assert (status, reason) == (405, "WrongMethod")

    play(story)


def test_one_that_does_not_lead_says_so_and_when_to_ask_again() -> None:
    async def story(found: House) -> None:
        found.view = None
        status, reason, message = await found.refused(TRAIN)
        assert (status, reason) == (503, "NotLeading")
        assert "stands by" in message

    play(story)


def test_an_api_server_that_is_gone_is_no_reason_to_let_anyone_in() -> None:
    async def story(found: House) -> None:
        await found.server.stop()
        status, reason, _ = await found.refused(TRAIN)
        assert (status, reason) == (503, "NoReview")

    play(story)


def test_everybody_may_read_the_description_and_see_that_it_is_alive() -> None:
    async def story(found: House) -> None:
        status, document = await found.ask("/openapi.json", None)
        assert status == 200
        assert document["openapi"] == "3.1.0"
        assert "/v1alpha1/why/{namespace}/{name}" in document["paths"]
        url = f"https://127.0.0.1:{found.port}/healthz"
        async with found.http.get(url, ssl=False) as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")

    play(story)


def test_rights_are_looked_up_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "REMEMBERED_SECONDS", 0.0)

    async def story(found: House) -> None:
        objects = Objects(found.admin)
        look = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
        assert (await found.refused("/v1alpha1/why/team-b/hidden-big"))[0] == 403
        await objects.apply(made("Role", "member", "team-b", rules=[look]))
        await objects.apply(bound("member", "team-b", "Role", ANN))
        told = msgspec.convert(await found.told("why/team-a/train"), Why)
        assert told.queue is not None
        assert [one.group for one in told.queue.first] == ["team-b/hidden-big"]

    play(story)


def test_neither_tokens_nor_their_bearers_questions_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    async def story(found: House) -> None:
        await found.told("why/team-a/train")
        await found.refused(TRAIN, "a-token-of-nobody")
        assert found.tokens[ANN] not in caplog.text
        assert "a-token-of-nobody" not in caplog.text

    play(story)


def test_a_defect_is_told_to_the_log_and_not_to_the_visitor(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any) -> None:
        raise ZeroDivisionError("hidden")

    monkeypatch.setattr("maitred.controllers.answers.service.as_seen_by", fail)

    async def story(found: House) -> None:
        status, reason, message = await found.refused(TRAIN)
        assert (status, reason) == (500, "Failed")
        assert_kept(message)

    play(story)
    assert "ZeroDivisionError" in caplog.text


# -- parts -------------------------------------------------------------------------------------------------


def test_few_wait_and_nobody_keeps_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "MOST_WAITING", 3)
    monkeypatch.setattr(desk, "MOST_EACH", 2)

    async def story() -> None:
        free, busy = threading.Event(), Desk()

        async def refused(who: str) -> bool:
            try:
                await busy.work(who, free.wait)
            except RefusedError as error:
                return error.reason == "Busy"
            return False

        waiting = [asyncio.create_task(refused("greedy")) for _ in range(2)]
        await asyncio.sleep(0)
        assert await refused("greedy")
        waiting.append(asyncio.create_task(refused("modest")))
        await asyncio.sleep(0)
        assert await refused("late")
        free.set()
        assert await asyncio.gather(*waiting) == [False] * 3
        await asyncio.sleep(0)
        assert await busy.work("greedy", lambda: 7) == 7
        await busy.close()

    asyncio.run(story())


def test_who_waits_too_long_is_told_so_and_keeps_their_place_until_the_thread_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(desk, "LONGEST_SECONDS", 0.0)
    monkeypatch.setattr(desk, "MOST_EACH", 1)

    async def story() -> None:
        free, busy = threading.Event(), Desk()
        with pytest.raises(RefusedError, match="no answer within 0 s"):
            await busy.work("one", free.wait)
        with pytest.raises(RefusedError, match="too many questions"):
            await busy.work("one", free.wait)
        free.set()
        await busy.close()

    asyncio.run(story())


def test_what_was_found_out_is_remembered_for_a_moment_and_within_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "MOST_REMEMBERED", 2)
    now, asked = 0.0, list[str]()
    memory = Memory[str](lambda: now)

    async def find(key: str) -> str:
        asked.append(key)
        return key

    async def story() -> None:
        nonlocal now
        for key in ("a", "a", "b", "c", "a"):
            assert await memory.recall(key, lambda key=key: find(key)) == key  # type: ignore[misc]
        assert asked == ["a", "b", "c", "a"]
        now = door.REMEMBERED_SECONDS
        await memory.recall("a", lambda: find("a"))
        assert asked == ["a", "b", "c", "a", "a"]

    asyncio.run(story())
