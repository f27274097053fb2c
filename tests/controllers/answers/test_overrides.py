"""Who may lift a group, and what is ordered then: rights, names, what is posted, and who leads."""

from datetime import UTC, datetime, timedelta
from typing import Any

from maitred.controllers.answers.orders import AnyOrder, OrderOutcome, OverrideOrder
from maitred.controllers.answers.replica import View
from maitred.kube.answers import Reason
from maitred.model.overrides import LONGEST_REASON, OverrideMemory
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.world.objects import WorldObjects
from tests.controllers.answers.house import ANN, House, bound, cluster, made
from tests.controllers.answers.test_service import play
from tests.decide.test_overrides import kept
from tests.support import policy_of, read, state_of

QUEUES = policy_of({"queues": [{"name": "default", "limits": [{"resource": "cpu", "cap": 8}]}]})
TRAIN = "/v1alpha1/overrides/team-a/train"
THEIRS = "/v1alpha1/overrides/team-b/hidden-big"


def wish(reason: str = "the board sees it today", hours: float = 4) -> dict[str, Any]:
    return {"reason": reason, "until": (datetime.now(UTC) + timedelta(hours=hours)).isoformat()}


class Leader:
    """Carries orders out, or says why not."""

    def __init__(self, found: House, refusal: str = "") -> None:
        self.orders, self.refusal = list[OverrideOrder](), refusal
        found.view = View(state_of(read(cluster())), {}, QUEUES, None)
        found.orders.begin(self.take)

    async def take(self, order: AnyOrder) -> OrderOutcome:
        assert isinstance(order, OverrideOrder)
        self.orders.append(order)
        return OrderOutcome(order.id, self.refusal)


async def allow(found: House, *names: str, namespace: str = "team-a") -> None:
    rule: dict[str, Any] = {"apiGroups": ["maitred.dev"], "resources": ["groups"], "verbs": ["override"]}
    rule |= {"resourceNames": list(names)} if names else {}
    objects = WorldObjects(found.admin)
    await objects.apply(made("Role", "lifts", namespace, rules=[rule]))
    await objects.apply(bound("lifts", namespace, "Role", ANN))


def test_it_takes_the_right_to_override_in_the_namespace_of_the_group() -> None:
    async def story(found: House) -> None:
        leader = Leader(found)
        status, reason, words = await found.refused(TRAIN, method="POST", json=wish())
        assert (status, reason) == (403, Reason.NOT_YOURS)
        assert "takes the verb override on groups.maitred.dev there" in words
        await allow(found)
        status, answer = await found.ask(TRAIN, method="POST", json=wish())
        assert (status, answer["override"]["by"], answer["override"]["lifts"]) == (200, "ann", True)
        [order] = leader.orders
        assert order.grant is not None
        assert (order.grant.group, order.grant.by, order.grant.asks["cpu"]) == ("team-a/train", "ann", 8000)
        for path in (THEIRS, "/v1alpha1/overrides/team-b/nobody"):
            status, reason, words = await found.refused(path, method="POST", json=wish())
            assert (status, reason) == (403, Reason.NOT_YOURS), "whether there is such a group is not told"
        for token in (None, "forged"):
            assert (await found.refused(TRAIN, token, method="POST", json=wish()))[0] == 401
        assert len(leader.orders) == 1

    play(story)


def test_a_right_to_one_name_is_none_to_the_group_behind_it() -> None:
    """The pod train-0 is in the group train."""

    async def story(found: House) -> None:
        leader = Leader(found)
        await allow(found, "train-0")
        path = "/v1alpha1/overrides/team-a/train-0"
        assert (await found.refused(path, method="POST", json=wish()))[1] == Reason.NOT_YOURS
        await allow(found, "train-0", "train")
        assert (await found.ask(path, method="POST", json=wish()))[0] == 200
        assert [order.name for order in leader.orders] == ["train"]

    play(story)


def test_what_is_posted_is_bounded_and_plain() -> None:
    async def story(found: House) -> None:
        leader = Leader(found)
        await allow(found)
        for body, words in (
            (wish("x" * (LONGEST_REASON + 1)), "length <= 300"),
            (wish("two\nlines"), "control characters"),
            (wish("\x1b]0;owned\x07"), "control characters"),
            (wish(" "), "say why"),
            (wish(hours=-1), "not in the future"),
            (wish(hours=24 * 7 + 1), "7 days at most"),
            ({**wish(), "by": "the-boss"}, "unknown field `by`"),
            ({"reason": "because"}, "missing required field `until`"),
            ([], "Expected `object`"),
        ):
            status, reason, told = await found.refused(TRAIN, method="POST", json=body)
            assert (status, reason) == (400, Reason.BAD_QUESTION), body
            assert words in told, told
        assert (await found.refused(TRAIN, method="POST", data=b"\xff{"))[1] == Reason.BAD_QUESTION
        assert (await found.refused("/v1alpha1/overrides/team-a/nobody", method="POST", json=wish()))[
            0
        ] == 400
        assert leader.orders == []

    play(story)


def test_who_does_not_lead_hands_over_and_what_is_refused_is_said() -> None:
    async def story(found: House) -> None:
        await allow(found)
        found.view = None
        assert (await found.refused(TRAIN, method="POST", json=wish()))[:2] == (503, Reason.NOT_LEADING)
        leader = Leader(found, "there are 20 overrides in namespace team-a already")
        answer = await found.refused(TRAIN, method="POST", json=wish())
        assert answer == (400, Reason.BAD_QUESTION, leader.refusal)
        found.orders.end()
        assert (await found.refused(TRAIN, method="POST", json=wish()))[:2] == (503, Reason.NOT_LEADING)

    play(story)


def test_they_are_listed_to_those_who_may_look_and_ended_by_those_who_may_override() -> None:
    async def story(found: House) -> None:
        leader = Leader(found)
        await allow(found)
        assert (await found.ask(TRAIN, method="POST", json=wish()))[0] == 200
        await allow(found, namespace="team-b")
        assert (await found.ask(THEIRS, method="POST", json=wish("secret of team-b")))[0] == 200
        grants = [order.grant for order in leader.orders if order.grant is not None]
        memory = OverrideMemory(tuple(sorted(grants, key=lambda one: one.group)))
        found.view = View(state_of(read([*cluster(), kept(memory)])), {}, QUEUES, None)
        own = await found.told("overrides")
        assert [one["group"] for one in own["overrides"]] == ["team-a/train"]
        assert "secret" not in str(await found.told("why/team-a/train"))
        every = await found.told("overrides", ADMIN)
        assert [one["group"] for one in every["overrides"]] == ["team-a/train", "team-b/hidden-big"]
        status, answer = await found.ask(f"{TRAIN}/end", method="POST", json={})
        assert (status, answer["ended"], answer["group"]) == (200, True, "team-a/train")
        assert (leader.orders[-1].end, leader.orders[-1].by) == ("team-a/train", "ann")

    play(story)
