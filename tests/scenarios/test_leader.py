"""Law 11: only the leader writes."""

from tests.scenarios.api import eventually
from tests.scenarios.faults import Interlude, Partition, Stranger
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.line import Trouble
from tests.scenarios.objects import Group, members, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, StartServer, StopServer

LEASE = "maitred"
SPEED = 3.0
"""Of the time that the lease is counted in: nobody needs to wait for as long as operators do."""
A, B, C = (Group(name, quorum=3) for name in "abc")


def test_a_leader_that_is_cut_off_in_mid_gang_writes_nothing_after_another_leads(server: Server) -> None:
    scenario = Scenario("leader lost", nodes(3), (), settings=ONE_BY_ONE)

    async def act(stage: Stage) -> None:
        first = stage.start("first", lease=LEASE, speed=SPEED)
        await stage.play(Create(A, members(A, 3)), Bound(members(A, 3)))
        second = stage.start("second", lease=LEASE, speed=SPEED)

        async def cut_off() -> None:
            first.line.trouble = Partition()

        first.line.trouble = Interlude(2, "binding", cut_off)
        await stage.play(Create(B, members(B, 3)), Bound(members(B, 3)))
        written = len(first.line.journal.writes)
        first.line.trouble = Trouble()
        await stage.play(Create(C, members(C, 3)), Bound(members(C, 3)))
        assert len(second.line.journal.writes) > 0
        assert first.line.journal.writes[written:] == []

    play(server, scenario, act)


def test_a_stand_in_outlives_a_server_that_does_not_know_it_yet(server: Server) -> None:
    scenario = Scenario("stand-in", nodes(3), ())

    async def act(stage: Stage) -> None:
        first = stage.start("first", lease=LEASE)
        await stage.play(Create(A, members(A, 3)), Bound(members(A, 3)))
        second = stage.start("second", lease=LEASE)
        await eventually(lambda: "" if second.health.state == "standing by" else second.health.state)
        second.line.trouble = Stranger(2)
        await eventually(lambda: "" if len(second.line.journal.forbidden) == 2 else "not refused twice")
        second.line.journal.forbidden.clear()
        await first.stop()
        await stage.play(Create(B, members(B, 3)), Bound(members(B, 3)))

    play(server, scenario, act)


def test_a_leader_and_its_stand_in_outlive_a_restart_of_the_server(server: Server) -> None:
    scenario = Scenario("leader and stand-in", nodes(3), ())

    async def act(stage: Stage) -> None:
        for name in ("first", "second"):
            stage.start(name, lease=LEASE)
        await stage.play(Create(A, members(A, 3)), Bound(members(A, 3)), StopServer(), StartServer())
        await stage.play(Create(B, members(B, 3)), Bound(members(B, 3)))

    play(server, scenario, act)
