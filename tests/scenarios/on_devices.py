"""A stage with devices on it, and gangs of two that are after them."""

from collections.abc import Awaitable, Callable, Sequence

from maitred.kube.resources import PODS
from maitred.sandbox.kubelets.bodies import Machine
from tests.scenarios.api import Json
from tests.scenarios.devices import all_is_free, equipped
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.objects import Group, Pods
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Delete, Gone

FIRST, SECOND, THIRD = (Group(name, quorum=2) for name in ("first", "second", "third"))


def on_devices(
    server: Server,
    machines: Sequence[Machine],
    things: Sequence[Json],
    act: Callable[[Stage], Awaitable[None]],
) -> None:
    """A scheduler of ours is there, unless the act stops it. When all pods are gone, all devices are free."""

    async def on_it(stage: Stage) -> None:
        async with equipped(stage, things):
            stage.start()
            await act(stage)
            await stage.check_laws()
            await stage.api.delete_all(PODS)
            await all_is_free(stage)

    play(server, Scenario("devices", machines, (), settings=ONE_BY_ONE), on_it)


async def leave(stage: Stage, who: Pods) -> None:
    await stage.play(Delete(who), Gone(who))
