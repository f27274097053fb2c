"""Two teams share nodes: what one leaves idle the other borrows, and gives back when it is wanted."""

import json
from dataclasses import dataclass

from maitred.controllers.policy import PolicyKeeper
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import IsSuspended, Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.preempting import NoRecords
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Delete, Exist, Gone, PodsTold, Settle

NODES = 4
BORROWER, OWNER, BEYOND = Job("borrower", NODES), Job("owner", NODES // 2), Job("beyond", NODES // 2)
STRANGER = Job("stranger", 1)


@dataclass(frozen=True)
class HalfEach:
    """A policy that guarantees half of the nodes to each of two teams."""

    async def run(self, keeper: PolicyKeeper) -> None:
        half = [{"resource": "cpu", "guarantee": NODES // 2}]
        queues = [{"name": name, "limits": half} for name in ("mine", "yours")]
        keeper.offer(json.dumps({"queues": queues}).encode(), "the scenario")


def test_what_was_lent_is_taken_back_and_who_borrowed_it_returns(server: Server) -> None:
    """Of all three priorities are equal. The last would itself borrow, and takes nothing from anybody."""

    async def act(stage: Stage) -> None:
        stage.start(source=lambda _: HalfEach())
        await create_marked(stage, BORROWER, {"maitred.dev/queue": "yours"})
        await stage.play(Whole(BORROWER))
        await create_marked(stage, OWNER, {"maitred.dev/queue": "mine"})
        await stage.play(IsSuspended(BORROWER), Whole(OWNER))
        await create_marked(stage, BEYOND, {"maitred.dev/queue": "mine"})
        await stage.play(Whole(BEYOND), Settle(), IsSuspended(BORROWER))
        await stage.check_laws()
        await stage.play(Delete(OWNER), Gone(OWNER), Delete(BEYOND), Gone(BEYOND))
        await stage.play(Whole(BORROWER), NoRecords())
        await create_marked(stage, STRANGER, {"maitred.dev/queue": "nobodys"})
        words = "Invalid: Request: there is no queue nobodys; set maitred.dev/queue to"
        await stage.play(Exist(STRANGER), PodsTold(STRANGER, words, "SchedulerError"))

    play(server, Scenario("two teams", nodes(NODES, cpu=1), (), settings=ONE_BY_ONE), act)
