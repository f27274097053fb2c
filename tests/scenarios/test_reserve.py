"""A reservation that somebody makes begins with its nodes empty, and a crash loses none."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.service import Service
from maitred.controllers.scheduling.reservation_notices import WARNED
from maitred.controllers.scheduling.term import Witnesses
from maitred.decide.holding import beginning
from maitred.kube.resources import CONFIG_MAPS, EVENTS, PODS
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole
from tests.scenarios.objects import Job, nodes
from tests.scenarios.ordering import CrashAtRecord, answering, crash_at_record, order
from tests.scenarios.preempting import Suspended
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Create, Delete, Exist, Gone, NotBound, PodsTold

RESERVATIONS = "maitred-reservations"
STRANGER, GUEST, LATE = Job("stranger", 2), Job("guest", 4), Job("late", 1)
BEGINS, LASTS = timedelta(seconds=8), timedelta(hours=1)


def test_a_reservation_begins_with_its_nodes_empty(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginning, "LEAST_NOTICE", timedelta(seconds=1))

    async def act(stage: Stage) -> None:
        home, backlog = Api(stage.api.client, SYSTEM_NAMESPACE), Backlog()
        actor = stage.start(witnesses=Witnesses(backlog=backlog))
        await stage.play(Create(LATE), Whole(LATE), Delete(LATE), Gone(LATE))
        async with answering(actor.line, backlog) as service:
            with pytest.raises(RefusedError, match="there is no namespace nowhere"):
                await reserve(stage, service, {"for": {"group": "nowhere/x"}})
            assert await reserved(home) == []
            begin = datetime.now(UTC) + BEGINS
            await reserve(stage, service, {"onStart": "evict", "leadTime": "0s"}, begin)
            await stage.play(Create(STRANGER), Whole(STRANGER))
            assert datetime.now(UTC) < begin, "it started before"
            await eventually(lambda: warned(stage))
            # Whoever waits for the nodes gets all of them once it begins.
            await stage.play(Create(GUEST), Exist(GUEST), Suspended(STRANGER), Whole(GUEST))
            assert await started(stage, GUEST) >= begin.replace(microsecond=0)
            await stage.play(Delete(GUEST), Gone(GUEST), Create(LATE), Exist(LATE))
            await stage.play(PodsTold(LATE, "Waiting: Reservation", reason="Reservation"), NotBound(LATE))
            await reserve(stage, service, cancel=True)
            assert await reserved(home) == []
            await stage.play(Whole(LATE), Whole(STRANGER))
        await home.delete(CONFIG_MAPS, RESERVATIONS)

    play(server, Scenario("reserved", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)


def test_killed_at_the_write_it_is_kept_if_it_was_written_and_else_not(server: Server) -> None:
    """And to ask again is safe."""

    async def act(stage: Stage) -> None:
        home = Api(stage.api.client, SYSTEM_NAMESPACE)
        for executed in (False, True):
            trouble = CrashAtRecord(RESERVATIONS, executed)
            await crash_at_record(stage, trouble, partial(reserve, stage))
            assert len(await reserved(home)) == executed
            job = Job(f"late-{executed}".lower(), 1)
            stage.start()
            await stage.play(Create(job), Exist(job))
            if executed:
                await stage.play(PodsTold(job, "Waiting: Reservation", reason="Reservation"), NotBound(job))
            else:
                await stage.play(Whole(job))
            await stage.play(Delete(job), Gone(job))
            await stage.stop()
        await home.delete(CONFIG_MAPS, RESERVATIONS)

    play(server, Scenario("killed when it is made", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)


async def reserve(
    stage: Stage,
    service: Service,
    fields: Json | None = None,
    begin: datetime | None = None,
    *,
    cancel: bool = False,
) -> None:
    """All nodes for the group `guest`, by one who may do everything."""
    start = begin or datetime.now(UTC)
    times = {"from": start, "until": start + LASTS}
    said = {name: time.strftime("%Y-%m-%dT%H:%M:%S") for name, time in times.items()}
    guest = {"group": f"{stage.api.namespace}/{GUEST.name}"}
    body = {} if cancel else {"name": "demo", "for": guest, "nodes": {}, **said, **(fields or {})}
    path = "reservations/{reservation}/cancel" if cancel else "reservations"
    await order(stage, service, path, {"reservation": "demo"} if cancel else {}, body)


async def warned(stage: Stage) -> str:
    found = [one for one in await stage.api.list(EVENTS) if one["reason"] == WARNED]
    return "" if found and "reserved for others" in found[0]["note"] else "nobody is warned"


async def started(stage: Stage, who: Job) -> datetime:
    names = {pod.metadata.name for pod in stage.observer.of_job(who.name)}
    found = [pod for pod in await stage.api.list(PODS) if pod["metadata"]["name"] in names]
    return min(datetime.fromisoformat(pod["status"]["startTime"]) for pod in found)


async def reserved(home: Api) -> Sequence[Any]:
    found = [one for one in await home.list(CONFIG_MAPS) if one["metadata"]["name"] == RESERVATIONS]
    said: Json = json.loads(found[0]["data"]["record"]) if found else {"reservations": []}
    return list(said["reservations"])
