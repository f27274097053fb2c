"""Who may reserve nodes, and what is ordered then: rights, names, what is posted, and who leads."""

from datetime import UTC, datetime, timedelta
from typing import Any

from maitred.controllers.answers.orders import AnyOrder, OrderOutcome, ReservationOrder
from maitred.controllers.answers.replica import View
from maitred.kube.answers import Reason
from maitred.model.policy import Policy
from maitred.model.reserving import ReservationMemory
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.world.objects import WorldObjects
from tests.controllers.answers.house import ANN, House, bound, cluster, made
from tests.controllers.answers.test_service import play
from tests.decide.reserving import made_as
from tests.oracle import builders as b
from tests.support import read, state_of

RESERVATIONS = "/v1alpha1/reservations"


def asking(hours: float = 4, **fields: Any) -> dict[str, Any]:
    begin, until = (
        (datetime.now(UTC) + timedelta(hours=late)).strftime("%Y-%m-%dT%H:%M:%S")
        for late in (hours, hours + 1)
    )
    usual = {"name": "demo", "for": {"namespace": "team-b"}, "from": begin, "until": until}
    return {**usual, "nodes": {"matchLabels": {"pool": "demo"}}, **fields}


def with_pool() -> list[b.Obj]:
    return [*cluster(), b.node("p0", cpu=4, pods=10, labels={"pool": "demo"})]


class Scribe:
    """Carries orders out."""

    def __init__(self, found: House) -> None:
        self.orders = list[ReservationOrder]()
        found.view = View(state_of(read(with_pool())), {}, Policy(), None)
        found.orders.begin(self.take)

    async def take(self, order: AnyOrder) -> OrderOutcome:
        assert isinstance(order, ReservationOrder)
        self.orders.append(order)
        return OrderOutcome(order.id)


async def allow(found: House, kind: str = "ClusterRole") -> None:
    objects = WorldObjects(found.admin)
    if kind == "ClusterRole":
        binding = bound("maitred-reserve", "", "ClusterRole", ANN)
        name = {"name": binding["metadata"]["name"]}
        await objects.apply({**binding, "kind": "ClusterRoleBinding", "metadata": name})
        return
    rule = {"apiGroups": ["maitred.dev"], "resources": ["groups"], "verbs": ["reserve", "override"]}
    await objects.apply(made("Role", "reserves", "team-a", rules=[rule]))
    await objects.apply(bound("reserves", "team-a", "Role", ANN))


def test_it_takes_the_right_to_reserve_in_all_namespaces() -> None:
    async def story(found: House) -> None:
        scribe = Scribe(found)
        await allow(found, "Role")
        for path, body in ((RESERVATIONS, asking()), (f"{RESERVATIONS}/demo/cancel", {})):
            status, reason, words = await found.refused(path, method="POST", json=body)
            assert (status, reason) == (403, Reason.NOT_YOURS)
            assert "the verb reserve on groups.maitred.dev in all namespaces" in words
            for token in (None, "forged"):
                assert (await found.refused(path, token, method="POST", json=body))[0] == 401
        assert scribe.orders == []
        await allow(found)
        status, answer = await found.ask(RESERVATIONS, method="POST", json=asking())
        assert (status, answer["name"]) == (200, "demo")
        assert (answer["reservation"]["by"], answer["reservation"]["nodes"]) == ("ann", ["p0"])
        [order] = scribe.orders
        assert order.make is not None
        assert (order.make.by, order.make.said.beneficiary.namespace) == ("ann", "team-b")
        status, answer = await found.ask(f"{RESERVATIONS}/demo/cancel", method="POST", json={})
        assert (status, answer["cancelled"]) == (200, True)
        assert (scribe.orders[-1].cancel, scribe.orders[-1].by) == ("demo", "ann")

    play(story)


def test_what_is_posted_of_a_reservation_is_bounded_and_plain() -> None:
    async def story(found: House) -> None:
        scribe = Scribe(found)
        await allow(found)
        for body, words in (
            (asking(hours=-2), "--until: "),
            (asking(name="x" * 100_000), "--name: has 100000 characters, and may have 63"),
            (asking(name="\x1b]0;owned\x07"), "--name: "),
            (asking(timeZone="../../etc/passwd"), "--time-zone: "),
            (asking(every="FREQ=SECONDLY"), "--every: "),
            ({**asking(), "for": {"namespace": "team-c"}}, "--for: there is no namespace team-c"),
            ({**asking(), "by": "the-boss"}, "unknown field `by`"),
            ({"name": "demo"}, "missing required field"),
            ([], "Expected `object`"),
        ):
            status, reason, told = await found.refused(RESERVATIONS, method="POST", json=body)
            assert (status, reason) == (400, Reason.BAD_QUESTION), body
            assert words in told, told
            assert told.isprintable()
            assert len(told) < 600
        assert (await found.refused(RESERVATIONS, method="POST", data=b"\xff{"))[1] == Reason.BAD_QUESTION
        assert scribe.orders == []
        found.view = None
        assert (await found.refused(RESERVATIONS, method="POST", json=asking()))[1] == Reason.NOT_LEADING

    play(story)


def test_all_see_when_nodes_are_kept_and_only_those_whom_it_concerns_for_whom() -> None:
    async def story(found: House) -> None:
        scribe = Scribe(found)
        await allow(found)
        await found.ask(RESERVATIONS, method="POST", json=asking(name="hidden-plan"))
        memory = ReservationMemory(tuple(one.make for one in scribe.orders if one.make is not None))
        found.view = View(state_of(read([*with_pool(), made_as(memory)])), {}, Policy(), None)
        [told] = (await found.told("reservations"))["reservations"]
        assert (told["nodes"], told["by"]) == (["p0"], "somebody")
        assert "team-b" not in str(told)
        assert "hidden" not in str(told)
        [told] = (await found.told("reservations", ADMIN))["reservations"]
        assert (told["name"], told["for"], told["by"]) == ("hidden-plan", "namespace team-b", "ann")

    play(story)
