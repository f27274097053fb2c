"""Answers over HTTP: to whom, about what, and in which words they are refused."""

import asyncio
import io
import json
import re
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import msgspec
import pytest

from maitred.controllers.answers import access, question_queue, serving
from maitred.controllers.answers.access import RecentFindings
from maitred.controllers.answers.question_queue import QuestionQueue
from maitred.controllers.answers.rate_limit import RateLimit
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.replica import View
from maitred.explain.health.answer import FleetHealth
from maitred.explain.health.look import FleetLook
from maitred.explain.proposal.answer import Proposals
from maitred.explain.proposal.supposition import Supposition, gang_objects
from maitred.explain.why.answer import Comparison, Why
from maitred.kube.fleet import look_at_fleet
from maitred.kube.reviews import User
from maitred.model.policy import Policy
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.world.objects import WorldObjects
from tests.controllers.answers.house import ANN, ELSE, SECRETS, House, bound, house, made
from tests.explain.healths import health_of
from tests.oracle import builders as b
from tests.support import read, state_of

Story = Callable[[House], Awaitable[None]]
TRAIN = "/v1alpha1/why/team-a/train"
PLAN = "/v1alpha1/plan"
OWN = f"{PLAN}?namespaces=team-a"


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
        status, answer = await found.ask(OWN, method="POST", data=gang("team-a"))
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
            status, reason, message = await found.refused(OWN, method="POST", data=body)
            assert (status, reason) == (400, "BadQuestion"), body
            assert expected in message

    play(story)


def test_a_plan_is_for_own_namespaces_and_of_a_bounded_size() -> None:
    async def story(found: House) -> None:
        theirs = f"{PLAN}?namespaces=team-b"
        status, reason, _ = await found.refused(theirs, method="POST", data=gang("team-b"))
        assert (status, reason) == (403, "NotYours")
        status, reason, message = await found.refused(OWN, method="POST", data=gang("team-b"))
        assert (status, reason) == (400, "BadQuestion")
        assert message == "wish is in namespace team-b; the parameter namespaces does not list it"
        large = io.BytesIO(b" " * (serving.LARGEST_BODY + 1))
        status, reason, _ = await found.refused(OWN, method="POST", data=large)
        assert (status, reason) == (413, "TooLarge")

    play(story)


def test_what_is_supposed_leaves_no_trace() -> None:
    async def story(found: House) -> None:
        assert found.view is not None
        before = found.view.state.snapshot()
        found.view.state.take_news()
        await found.ask(OWN, method="POST", data=gang("team-a"))
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
        assert "is on standby" in message

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
    monkeypatch.setattr(access, "REMEMBERED_SECONDS", 0.0)

    async def story(found: House) -> None:
        objects = WorldObjects(found.admin)
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


def user(name: str) -> User:
    return User(name, "", (), ())


def test_few_wait_and_nobody_keeps_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_queue, "MOST_QUESTIONS", 4)
    monkeypatch.setattr(question_queue, "MOST_EACH", 2)
    monkeypatch.setattr(question_queue, "MOST_BODIES", 1)

    async def story() -> None:
        house = QuestionQueue()
        async with AsyncExitStack() as stack:

            async def refused(who: str, posts: bool = False) -> bool:
                try:
                    await stack.enter_async_context(house.seat(user(who), posts))
                except RefusedError as error:
                    return error.reason == "Busy"
                return False

            team = "system:serviceaccount:greedy:{}"
            assert not await refused(team.format("one"), posts=True)
            assert not await refused(team.format("two"))
            assert await refused(team.format("three")), "accounts of one namespace are one caller"
            assert await refused("modest", posts=True)
            assert not await refused("modest")
            assert not await refused("other")
            assert await refused("late")
        async with house.seat(user("late"), posts=True):
            pass
        house.close()

    asyncio.run(story())


def test_service_accounts_of_one_namespace_are_one_caller_and_those_of_others_are_not() -> None:
    accounts = [user(f"system:serviceaccount:{name}") for name in ("a:one", "a:two", "b:one")]
    one, other, foreign = map(question_queue.caller_of, accounts)
    assert one == other != foreign
    assert question_queue.caller_of(user("jane")) != question_queue.caller_of(user("joe"))


def test_a_pace_is_kept_by_each_and_by_few_who_come_often() -> None:
    now = 0.0
    pace = RateLimit(2, 10, lambda: now)
    assert [pace.allows("quick") for _ in range(3)] == [True, True, False]
    assert pace.allows("slow")
    now += 0.1
    assert [pace.allows("quick") for _ in range(2)] == [True, False]
    now += 1000
    for number in range(3000):
        assert pace.allows(number)
        now += 0.001
    assert len(pace._left) < 2000


def test_more_questions_and_tokens_than_a_pace_allows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_queue, "BURST", 2.0)
    monkeypatch.setattr(access, "TOKENS_AT_ONCE", 3.0)
    monkeypatch.setattr(access, "TOKENS_PER_SECOND", 1e-6)
    monkeypatch.setattr(question_queue, "PER_SECOND", 1e-6)

    async def story(found: House) -> None:
        for _ in range(2):
            await found.told("why/team-a/train")
        assert (await found.refused(TRAIN))[:2] == (429, "Busy")
        answers = [(await found.refused(TRAIN, f"token-{number}"))[1] for number in range(4)]
        assert answers == ["TokenRefused", "TokenRefused", "Busy", "Busy"]

    play(story)


def for_ever() -> None:
    while True:
        pass


def test_callers_take_turns_and_who_is_gone_is_not_worked_for() -> None:
    async def story() -> None:
        house, order, began, free = QuestionQueue(), list[str](), threading.Event(), threading.Event()

        def hold() -> None:
            began.set()
            free.wait()

        first = asyncio.create_task(house.work(user("a"), hold))
        await asyncio.to_thread(began.wait)
        names = ("a1", "a2", "gone", "b1")
        tasks = [
            asyncio.create_task(house.work(user(name[0]), partial(order.append, name))) for name in names
        ]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.sleep(0)
        free.set()
        await first
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == ["a1", "b1", "a2"]
        house.close()

    asyncio.run(story())


def test_what_runs_too_long_is_stopped_and_the_thread_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_queue, "LONGEST_SECONDS", 0.05)
    monkeypatch.setattr(question_queue, "WORK_SECONDS", 0.1)

    async def story() -> None:
        house = QuestionQueue(stuck=lambda: pytest.fail("it could be stopped"))
        monkeypatch.setattr(question_queue, "STUCK_SECONDS", 5.0)
        for _ in range(20):
            with pytest.raises(RefusedError, match="so the question was dropped"):
                async with house.seat(user("one"), posts=False):
                    await house.work(user("one"), for_ever)
            with pytest.raises(RefusedError, match="this question takes more"):
                await house.work(user("one"), for_ever)
            assert await house.work(user("other"), lambda: 7) == 7
        house.close()

    asyncio.run(story())


def test_what_changes_something_is_done_whole() -> None:
    async def story() -> None:
        house, began, free, done = QuestionQueue(), threading.Event(), threading.Event(), list[str]()

        def change() -> None:
            began.set()
            free.wait()
            done.append("all of it")

        task = asyncio.create_task(house.work(user("one"), change, whole=True))
        await asyncio.to_thread(began.wait)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        free.set()
        assert await house.work(user("other"), lambda: list(done)) == ["all of it"]
        house.close()

    asyncio.run(story())


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer never gets past an exception not delivered")
def test_a_job_that_cannot_be_stopped_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_queue, "STUCK_SECONDS", 0.0)

    async def story() -> None:
        stuck, began, free = asyncio.Event(), threading.Event(), threading.Event()
        house = QuestionQueue(stuck=stuck.set)

        def wait() -> None:
            began.set()
            free.wait()  # a call into C, which an exception does not interrupt

        task = asyncio.create_task(house.work(user("one"), wait))
        await asyncio.to_thread(began.wait)
        task.cancel()
        await asyncio.wait_for(stuck.wait(), 30)
        free.set()
        house.close()

    asyncio.run(story())


def test_who_hangs_up_is_not_worked_for() -> None:
    async def story(found: House) -> None:
        began, stopped = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def endless(*args: Any) -> None:
            loop.call_soon_threadsafe(began.set)
            try:
                for_ever()
            finally:
                stopped.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("maitred.controllers.answers.service.as_seen_by", endless)
            asking = asyncio.create_task(found.ask(TRAIN))
            await asyncio.wait_for(began.wait(), 30)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert await asyncio.to_thread(stopped.wait, 30)
        await found.told("why/team-a/train")

    play(story)


def test_a_body_is_read_when_nothing_is_against_it() -> None:
    """Somebody unknown, of another team, or in too great a number never gets to send one."""

    async def story(found: House) -> None:
        read = 0

        async def body() -> AsyncIterator[bytes]:
            nonlocal read
            await asyncio.sleep(0.05)
            read += 1
            yield b"{}"

        for token, namespace, status in ((None, "team-a", 401), (ANN, "team-b", 403)):
            path = f"{PLAN}?namespaces={namespace}"
            assert (await found.refused(path, token, method="POST", data=body()))[0] == status
        found.view = None
        assert (await found.refused(f"{PLAN}?namespaces=team-a", method="POST", data=body()))[0] == 503

    play(story)


def test_what_was_found_out_is_remembered_for_a_moment_and_within_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "MOST_REMEMBERED", 2)
    now, asked = 0.0, list[str]()
    memory = RecentFindings[str](lambda: now)

    async def find(key: str) -> str:
        asked.append(key)
        return key

    async def story() -> None:
        nonlocal now
        for key in ("a", "a", "b", "c", "a"):
            assert await memory.recall(key, lambda key=key: find(key)) == key  # type: ignore[misc]
        assert asked == ["a", "b", "c", "a"]
        now = access.REMEMBERED_SECONDS
        await memory.recall("a", lambda: find("a"))
        assert asked == ["a", "b", "c", "a", "a"]

    asyncio.run(story())


async def be_unwell(found: House) -> list[dict[str, Any]]:
    """Two groups of two teams, each with a member on a node that does not answer."""
    objects, teams = WorldObjects(found.admin), (("train", "team-a"), ("hidden", "team-b"))
    pods = [
        b.pod(f"{name}-{i}", cpu=1, node=f"n{i}", namespace=space, labels=b.gang(name, 2))
        for name, space in teams
        for i in range(2)
    ]
    world = [b.node("n0"), b.node("n1", ready=None), *pods, *(b.namespace(space) for _, space in teams)]
    for body in world[:-2]:
        await objects.apply(body)
        await objects.patch(await objects.path(body, "status"), {"status": body["status"]})
    await objects.patch(await objects.path(world[0]), {"spec": {"taints": None}})
    found.view = View(state_of(read(world)), {}, Policy(), None)
    return world


def test_health_is_told_to_everybody_and_groups_only_to_their_own() -> None:
    """Nodes and pods are looked at when somebody asks. A dump of the same objects gives the same answer."""

    async def story(found: House) -> None:
        dumped = health_of(await be_unwell(found))
        whole = msgspec.convert(await found.told("health", ADMIN), FleetHealth)
        assert [one.node for one in whole.unwell] == ["n1"]
        assert [one.group for one in whole.hurt] == ["team-a/train", "team-b/hidden"]
        assert [one.words for one in whole.hurt] == [one.words for one in dumped.hurt]
        assert [(one.state, one.words) for one in whole.unwell] == [
            (one.state, one.words) for one in dumped.unwell
        ]
        answer = await found.told("health")
        own = msgspec.convert(answer, FleetHealth)
        assert ([one.group for one in own.hurt], own.elsewhere) == (["team-a/train"], 1)
        assert (own.unwell[0].groups, own.unwell[0].elsewhere) == (("team-a/train",), 1)
        assert_kept(answer)

    play(story)


def test_health_of_one_node_or_group() -> None:
    async def story(found: House) -> None:
        await be_unwell(found)
        assert (await found.told("health?name=n0"))["unwell"] == []
        assert (await found.told("health?name=n1"))["unwell"][0]["state"] == "Lost"
        assert (await found.told("health?name=train&home=team-a"))["hurt"][0]["below"] is True
        for name in ("team-b/hidden", "hidden", "nosuch"):
            status, reason, _ = await found.refused(f"/v1alpha1/health?name={name}")
            assert (status, reason) == (404, "UnknownName")

    play(story)


def test_many_who_ask_for_health_at_once_cost_the_api_server_one_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = list[None]()

    async def look(*arguments: Any) -> FleetLook:
        looks.append(None)
        return await look_at_fleet(*arguments)

    monkeypatch.setattr("maitred.controllers.answers.service.look_at_fleet", look)

    async def story(found: House) -> None:
        await be_unwell(found)
        answers = await asyncio.gather(found.told("health"), found.told("health", ADMIN))
        assert [len(one["hurt"]) for one in answers] == [1, 2]
        assert len(looks) == 1

    play(story)


def test_health_without_pods_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maitred.kube.fleet.LOOK_SECONDS", 0.0)

    async def story(found: House) -> None:
        await be_unwell(found)
        told = msgspec.convert(await found.told("health", ADMIN), FleetHealth)
        assert [note.partition(",")[0] for note in told.notes] == [
            "the nodes could not be read",
            "the pods could not be read",
        ]

    play(story)
