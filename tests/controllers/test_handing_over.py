"""Binds are on their way before it is found out what is in the way of those who wait."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from maitred.controllers.scheduling import notices
from maitred.controllers.scheduling.binding import Binder, Order
from maitred.controllers.scheduling.condition_writer import Teller
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.loop import SchedulingLoop
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.notices import Notices
from maitred.controllers.scheduling.overlay import on_node
from maitred.controllers.scheduling.worklist import Worklist
from maitred.decide.diagnose import Diagnosis
from maitred.kube.bodies import Regarding
from maitred.kube.outcomes import Bound, Done, RefusalReason, Refused
from maitred.kube.wire import Condition
from maitred.model.policy import Policy
from tests.cluster.seen import put
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, node

SECONDS = 20.0
"""Long enough on any machine: nothing here waits for a clock unless it fails."""


@dataclass
class Server:
    """Stands for the API server and its watch: a bind is seen at once."""

    mirror: Mirror
    awaited: int
    """How many answers to binds the first explanation waits for."""
    refuses: str = ""
    happened: list[str] = field(default_factory=list)
    """In the order in which it did."""
    told: list[str] = field(default_factory=list)
    answered: threading.Event = field(default_factory=threading.Event)

    async def bind(
        self, namespace: str, name: str, uid: str, where: str, annotations: dict[str, str]
    ) -> Bound | Refused:
        refused = name == self.refuses
        self.happened.append(f"{'refuse' if refused else 'bind'} {name}")
        if not refused:
            self.mirror.put_pod(on_node(self.mirror.waiting[f"{namespace}/{name}"], where))
        self.awaited -= 1
        if not self.awaited:
            asyncio.get_running_loop().call_soon(self.answered.set)  # when the binder has heard of it
        return Refused(RefusalReason.FORBIDDEN, "no") if refused else Bound()

    async def patch_pod_condition(
        self, namespace: str, name: str, uid: str, condition: Condition, version: str
    ) -> Done:
        key = f"{namespace}/{name}"
        self.told.append(f"{name}: {condition.message.partition(':')[0]}")
        known = self.mirror.waiting[key]
        status = msgspec.structs.replace(known.status, conditions=(condition,))
        self.mirror.put_pod(msgspec.structs.replace(known, status=status))
        return Done()

    async def record(self, regarding: Regarding, reason: str, note: str, action: str, type: str) -> bool:
        self.told.append(f"{regarding.name}: {note}" if type == "Normal" else f"{regarding.name}: {reason}")
        return True


class Stage:
    """A scheduler with its binder and its notices. To explain anything takes until all binds are answered."""

    def __init__(self, mirror: Mirror, server: Server, patch: pytest.MonkeyPatch) -> None:
        self.server, metrics, anything = server, Metrics(), server
        writer: Any = anything
        teller = Teller(mirror, writer, writer, None, "", metrics)
        verdicts = LastVerdicts(mirror.waiting_by_group)
        self.notices = Notices(mirror, verdicts, teller)
        self.finished = list[Order]()
        self.binder = Binder(writer, mirror, 8, self._finished)
        self.loop = SchedulingLoop(
            mirror,
            verdicts,
            Worklist(),
            Policy,
            "maitred",
            (),
            (self.notices,),
            None,
            self.binder,
            metrics,
            600.0,
        )
        explain = Diagnosis.of

        def slowly(diagnosis: Diagnosis, *args: Any) -> Any:
            assert server.answered.wait(SECONDS), "the binds wait for the explanations"
            server.happened.append("explain")
            return explain(diagnosis, *args)

        patch.setattr(Diagnosis, "of", slowly)

    def _finished(self, order: Order) -> None:
        self.server.happened.append(f"finish {order.group}")
        self.finished.append(order)
        if not order.refused:
            self.notices.seated(order.verdict)

    async def until(self, *told: str) -> None:
        tasks = [asyncio.create_task(part.run()) for part in (self.binder, self.notices, self.loop)]
        async with asyncio.timeout(SECONDS):
            while not set(told) <= set(self.server.told):
                done, _ = await asyncio.wait(tasks, timeout=0.01)
                for task in done:
                    task.result()
        for task in tasks:
            task.cancel()


def test_whoever_has_seats_is_bound_before_anything_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a gang one member is left over. What is said of it, and of the gang, waits for the explanation. And
    a pod that is bound by then, and waits no more, is told of all the same."""
    monkeypatch.setattr(notices, "SLACK", -10)  # as if notices of many who are gone had to be forgotten

    async def run() -> None:
        mirror = Mirror("maitred")
        put(mirror.state, node("n1", cpu=3))
        mirror.put_pod(watched_pod("a", cpu=1))
        for number in range(3):
            mirror.put_pod(watched_pod(f"g-{number}", cpu=1, annotations=gang("g", 2)))
        mirror.put_pod(watched_pod("large", cpu=4))
        server = Server(mirror, awaited=3)
        stage = Stage(mirror, server, monkeypatch)
        await stage.until(
            "a: Scheduled: 1 of 1 member placed",
            "g-0: Scheduled: 2 of 3 members placed",
            "g-2: Waiting",
            "large: FailedScheduling",
        )
        bound, others = server.happened[:3], server.happened[3:]
        assert sorted(bound) == ["bind a", "bind g-0", "bind g-1"]
        assert others[0] == "explain"
        assert not any(what.startswith("bind") for what in others)
        (order,) = (order for order in stage.finished if order.group == "default/g")
        assert [blocker.category for blocker in order.verdict.blockers] == ["Priority"]
        assert order.settled_at >= order.ordered_at

    asyncio.run(run())


def test_who_is_refused_meanwhile_is_told_nothing_and_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        mirror = Mirror("maitred")
        put(mirror.state, node("n1", cpu=2))
        mirror.put_pod(watched_pod("fits", cpu=1))
        mirror.put_pod(watched_pod("large", cpu=4))
        server = Server(mirror, awaited=1, refuses="fits")
        stage = Stage(mirror, server, monkeypatch)
        await stage.until("large: FailedScheduling")
        assert server.happened[:3] == ["refuse fits", "explain", "finish default/fits"]
        assert not any(words.startswith("fits: Scheduled") for words in server.told)

    asyncio.run(run())
