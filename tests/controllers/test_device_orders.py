"""The claims of a group are allocated before its pods are bound, and nothing of them is left where they are
not: whatever fails, and wherever a scheduler is killed."""

import asyncio
from typing import Any

import pytest

from maitred.controllers.scheduling import allocating
from maitred.controllers.scheduling.binding import Order
from maitred.kube import writes
from maitred.kube.outcomes import RefusalReason
from maitred.model.devices.claims import ResourceClaim
from maitred.model.plan import ClaimAllocation, ClaimToMake
from tests.controllers.device_world import BROKEN, READY, Mortal, Run, World, allocation, device, play
from tests.kube.pod_server import Fault

OWN = ["g-0-gpu", "g-1-gpu", "g-2-gpu", "g-3-gpu"]
EVERY = [*OWN, "shared"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "pause", lambda attempt, wanted=None: 0.0)


async def seat(run: Run) -> Order:
    order = run.order()
    await run.until_settled()
    return order


def first_problem(order: Order) -> str:
    refused = order.refused[0][1]
    assert refused.why is RefusalReason.UNPREPARED
    return refused.message


def test_a_gang_gets_its_devices_and_then_its_nodes() -> None:
    world = World()
    play(world, seat)
    assert world.bound() == world.names
    assert world.allocated() == EVERY
    assert [world.reserved(claim) for claim in EVERY] == [["g-0"], ["g-1"], ["g-2"], ["g-3"], ["g"]]
    paths = [path for _, path in world.server.asked]
    first_bind = next(number for number, path in enumerate(paths) if path.endswith("/binding"))
    assert all(path.endswith("/binding") for path in paths[first_bind:])
    assert len(paths) == 2 * len(EVERY) + world.size, "no more than it takes"


@pytest.mark.parametrize("fault", [Fault(), Fault(executed=True), Fault(409), Fault(503)])
def test_a_gang_is_seated_all_the_same(fault: Fault) -> None:
    world = World()
    world.server.faults = [fault] * 3
    play(world, seat)
    assert (world.bound(), world.allocated()) == (world.names, EVERY)


def test_another_schedulers_allocation_wins_and_nothing_is_bound() -> None:
    """It is written while we write. All else is given back."""
    world, theirs = World(), {"allocation": allocation("gpu-7"), "reservedFor": []}

    async def act(run: Run) -> None:
        order = run.order()
        world.server.changed = lambda *_: None
        world.server.set_claim("g-3-gpu", status=theirs)
        await run.until_settled()
        assert first_problem(order) == (
            "another scheduler allocated claim default/g-3-gpu first, with device gpu-7 of pool n1"
        )
        assert not run.mirror.overlay.assumed

    play(world, act, in_flight=1)
    assert world.bound() == []
    assert world.allocated() == ["g-3-gpu"]
    assert world.server.claims["g-3-gpu"]["status"] == theirs
    assert world.marked() == []


@pytest.mark.parametrize("slow_watch", [False, True])
def test_what_was_ordered_counts_as_allocated_until_it_is_seen_or_has_failed(slow_watch: bool) -> None:
    world = World(size=1)

    async def act(run: Run) -> None:
        def shown() -> list[str]:
            table = run.mirror.state._tables
            return [key for key, one in table[ResourceClaim].items() if one.status.allocation is not None]

        assert shown() == []
        run.order()
        assert sorted(shown()) == ["default/g-0-gpu", "default/shared"]
        await run.until_settled()
        assert sorted(shown()) == ["default/g-0-gpu", "default/shared"]

    play(world, act, slow_watch=slow_watch)


def test_what_was_not_written_counts_no_longer_when_the_order_has_failed() -> None:
    world = World(size=1)
    world.server.faults = [Fault(403, "no")] * 9

    async def act(run: Run) -> None:
        order = run.order()
        await run.until_settled()
        assert "no" in first_problem(order)
        assert not any(run.mirror.overlay.claims.is_promised(f"default/{claim}") for claim in EVERY)
        assert not run.mirror.overlay.claims.is_ordered("default/shared")

    play(world, act, in_flight=1)
    assert world.allocated() == []


def test_a_pod_that_is_gone_when_it_is_bound_leaves_nothing() -> None:
    """Of the others nothing is taken back: they are bound, and use the claim of the group."""
    world = World()

    async def act(run: Run) -> None:
        run.order()
        world.server.faults = [Fault(503)] * 1
        world.server.pods["g-3"]["spec"]["schedulingGates"] = [{"name": "wait"}]
        await run.until_settled()
        await run.repair.look()

    play(world, act)
    assert world.bound() == ["g-0", "g-1", "g-2"]
    assert world.allocated() == world.marked() == ["g-0-gpu", "g-1-gpu", "g-2-gpu", "shared"]


def test_when_no_bind_succeeds_the_groups_own_claim_is_freed_too() -> None:
    world = World()

    async def act(run: Run) -> None:
        see = world.server.changed

        def looked_at(name: str, claim: Any) -> None:
            see(name, claim)
            run.mirror.device_claims.touched.clear()

        world.server.changed = looked_at
        run.order()
        for name in world.names:
            world.server.pods[name]["spec"]["schedulingGates"] = [{"name": "wait"}]
        await run.until_settled()
        world.server.changed = see
        await run.repair.look()

    play(world, act)
    assert world.bound() == world.allocated() == world.marked() == []


WRITES = 2 * len(EVERY) + 4


@pytest.mark.parametrize("write", range(WRITES + 1))
def test_killed_between_any_two_writes_nothing_leaks_and_the_next_scheduler_completes_it(write: int) -> None:
    world = World()
    play(world, seat, permit=Mortal(write), in_flight=1)
    bound = world.bound()
    assert len(bound) == max(0, write - 2 * len(EVERY))

    async def repair(run: Run) -> None:
        await run.repair.look()

    play(world, repair)
    kept = [*(f"{name}-gpu" for name in bound), *(["shared"] if bound else [])]
    assert world.allocated() == world.marked() == kept
    if len(bound) < world.size:
        play(world, seat)
    assert (world.bound(), world.allocated()) == (world.names, EVERY)
    assert [world.reserved(claim) for claim in EVERY] == [["g-0"], ["g-1"], ["g-2"], ["g-3"], ["g"]]


@pytest.mark.parametrize("write", range(1, 2 * len(EVERY) + 1))
def test_killed_while_it_takes_back_what_it_had_written(write: int) -> None:
    world = World()
    play(world, seat, permit=Mortal(2 * len(EVERY)), in_flight=1)
    assert world.allocated() == EVERY

    async def repair(run: Run) -> None:
        await run.repair.look()

    play(world, repair, permit=Mortal(write), in_flight=1)
    play(world, repair)
    assert world.allocated() == world.marked() == []


def test_what_others_use_is_never_touched() -> None:
    """Pods of another scheduler that wait, with claims as we would have left them but for the annotation."""
    world = World(scheduler="another")
    for name in world.names:
        user = {"resource": "pods", "name": name, "uid": world.uid(name)}
        world.server.set_claim(f"{name}-gpu", status={"allocation": allocation("x"), "reservedFor": [user]})
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-of-group"}
    world.server.set_claim("shared", status={"allocation": allocation("y"), "reservedFor": [group]})

    async def repair(run: Run) -> None:
        await run.repair.look()

    play(world, repair)
    assert world.server.asked == []
    for name in world.names:
        del world.server.pods[name]
    play(world, repair)
    assert world.server.asked == [], "the PodGroup of others has no pods any more, and keeps its claim"


def test_nothing_is_taken_back_from_who_is_on_the_way() -> None:
    """Not while it is written, not while a bind is under way, and not until the watch has shown the bind."""
    world = World()

    async def act(run: Run) -> None:
        see, unused = world.server.changed, list[str]()

        def looked_at(name: str, claim: Any) -> None:
            see(name, claim)
            unused.extend(filter(run.devices.is_unused, (f"default/{one}" for one in EVERY)))

        world.server.changed, world.server.bound = looked_at, lambda _: None
        run.order()
        await run.until_settled()
        assert unused == []
        assert run.mirror.overlay.assumed == world.size
        await run.repair.look()

    play(world, act)
    assert (world.bound(), world.allocated()) == (world.names, EVERY)


def test_the_claim_of_a_group_that_was_made_to_leave_is_freed_though_the_group_stays() -> None:
    """Its pods are deleted, and nobody makes them anew: their owner is suspended."""
    world = World()
    play(world, seat)

    async def repair(run: Run) -> None:
        await run.repair.look()
        assert world.reserved("shared") == ["g"], "they run"
        for name in world.names:
            run.mirror.pod_gone(f"default/{name}")
        await run.repair.look()

    play(world, repair)
    assert world.allocated() == OWN, "of pods that are gone Kubernetes itself takes care"
    assert world.server.claims["shared"]["status"] == {}


# -- devices that have to be made ready ----------------------------------------------------------------------

CONDITIONS = {"bindingConditions": [READY], "bindingFailureConditions": [BROKEN]}


def say(world: World, claim: str, condition: str, **more: Any) -> None:
    """As a driver says it."""
    status = world.server.claims[claim]["status"]
    [result] = status["allocation"]["devices"]["results"]
    about = {key: result[key] for key in ("driver", "pool", "device")}
    conditions = [{"type": condition, "status": "True", **more}]
    world.server.set_claim(claim, status={**status, "devices": [{**about, "conditions": conditions}]})


def test_a_gang_is_bound_when_the_devices_of_all_are_ready() -> None:
    world = World(conditions=CONDITIONS)

    async def act(run: Run) -> None:
        run.order()
        await run.until(lambda: world.allocated() == EVERY)
        for claim in EVERY[1:]:
            say(world, claim, READY)
        await asyncio.sleep(0.3)
        assert world.bound() == []
        say(world, EVERY[0], READY)
        await run.until_settled()

    play(world, act)
    assert world.bound() == world.names


def test_a_quorum_does_not_wait_for_the_devices_of_the_others() -> None:
    world = World(conditions=CONDITIONS)

    async def act(run: Run) -> None:
        run.order(quorum=2)
        await run.until(lambda: world.allocated() == EVERY)
        for claim in ("g-1-gpu", "g-2-gpu", "shared"):
            say(world, claim, READY)
        await run.until(lambda: world.bound() == ["g-1", "g-2"])
        say(world, "g-0-gpu", READY)
        await run.until(lambda: world.bound() == ["g-0", "g-1", "g-2"])
        say(world, "g-3-gpu", BROKEN, reason="NoLink", message="the cable is out")
        await run.until_settled()

    play(world, act)
    assert world.bound() == ["g-0", "g-1", "g-2"]
    assert world.allocated() == world.marked() == ["g-0-gpu", "g-1-gpu", "g-2-gpu", "shared"]


def test_when_a_device_fails_the_whole_gang_gives_its_devices_back() -> None:
    world = World(conditions=CONDITIONS)

    async def act(run: Run) -> None:
        order = run.order()
        await run.until(lambda: world.allocated() == EVERY)
        say(world, "g-1-gpu", BROKEN, reason="NoLink", message="the cable is out")
        await run.until_settled()
        assert first_problem(order) == (
            "claim default/g-1-gpu: device gpu-g-1 of pool n1 (d.example.com) failed: example.com/broken"
            " (NoLink: the cable is out)"
        )
        assert order.unprepared is not None
        assert order.unprepared.category == "Devices"

    play(world, act)
    assert world.bound() == world.allocated() == world.marked() == []


def test_devices_that_are_not_ready_in_time_are_given_back() -> None:
    world = World(conditions=CONDITIONS)

    async def act(run: Run) -> None:
        order = run.order()
        await run.until_settled()
        assert first_problem(order) == (
            "claim default/g-0-gpu: device gpu-g-0 of pool n1 (d.example.com) is not ready:"
            " condition example.com/ready is not True (waited 0.001 s)"
        )

    play(world, act, timeout="1ms")
    assert world.bound() == world.allocated() == world.marked() == []


def test_what_a_driver_says_is_no_news_to_groups_that_wait() -> None:
    world = World(size=1, conditions=CONDITIONS)

    async def act(run: Run) -> None:
        run.order()
        await run.until(lambda: world.allocated() == ["g-0-gpu", "shared"])
        run.mirror.state.take_news()
        say(world, "shared", "example.com/warm")
        assert not run.mirror.state.take_news().effects
        say(world, "shared", READY)
        say(world, "g-0-gpu", READY)
        await run.until_settled()

    play(world, act)
    assert world.bound() == ["g-0"]


def test_a_claim_that_others_deallocate_meanwhile_is_a_reason_to_stop() -> None:
    world = World(size=1, conditions=CONDITIONS)

    async def act(run: Run) -> None:
        order = run.order()
        await run.until(lambda: world.allocated() == ["g-0-gpu", "shared"])
        world.server.set_claim("shared", status={})
        await run.until_settled()
        assert first_problem(order) == "claim default/shared was deallocated by others"

    play(world, act)
    assert world.bound() == world.allocated() == []


# -- claims that the scheduler makes -------------------------------------------------------------------------

SPEC = {"devices": {"requests": [{"name": "container-0-request-0", "exactly": {"deviceClassName": "gpu"}}]}}
MAPPING = {
    "containerName": "main",
    "resourceName": "example.com/gpu",
    "requestName": "container-0-request-0",
}


def made(world: World) -> list[ClaimAllocation]:
    user = {"resource": "pods", "name": "g-0", "uid": world.uid("g-0")}
    result = {"devices": {"results": [device("gpu-0") | {"request": "container-0-request-0"}]}}
    making = ClaimToMake("default/g-0", SPEC, (MAPPING,))
    return [ClaimAllocation("default/g-0-extended-resources", result, (user,), making)]


async def seat_with_made_claim(run: Run) -> None:
    run.order(claims=made(run.world))
    await run.until_settled()


def test_a_claim_is_made_for_a_pod_and_named_in_its_status_before_it_is_bound() -> None:
    world = World(size=1)
    play(world, seat_with_made_claim)
    assert world.allocated() == ["g-0-extended-resources"]
    assert world.reserved("g-0-extended-resources") == ["g-0"]
    assert world.server.pods["g-0"]["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": "g-0-extended-resources",
        "requestMappings": [MAPPING],
    }
    ends = [path.rpartition("/")[2] for _, path in world.server.asked]
    assert ends == ["resourceclaims", "status", "status", "binding"]


@pytest.mark.parametrize("write", range(5))
def test_killed_at_any_write_it_leaves_no_claim_that_it_made_in_vain(write: int) -> None:
    world = World(size=1)
    play(world, seat_with_made_claim, permit=Mortal(write), in_flight=1)

    async def repair(run: Run) -> None:
        await run.repair.look()

    play(world, repair)
    there = ["g-0-extended-resources"] if write == 4 else []
    assert world.marked() == there
    assert ("g-0-extended-resources" in world.server.claims) == bool(there)
    if write < 4:
        play(world, seat_with_made_claim)
    assert world.bound() == ["g-0"]
    assert world.allocated() == ["g-0-extended-resources"]


def test_a_gang_steps_back_when_another_claim_has_one_of_its_devices_by_the_time_its_own_are_written() -> (
    None
):
    """Nothing of it is bound, and nothing is left on its claims."""
    world = World()
    world.server.add_claim("theirs")

    async def act(run: Run) -> None:
        order = run.order()
        world.server.set_claim("theirs", status={"allocation": allocation("gpu-g-2"), "reservedFor": []})
        run.see("theirs", world.server.claims["theirs"])
        await run.until_settled()
        assert first_problem(order) == (
            "another scheduler gave device gpu-g-2 of pool n1 to another claim at the same time"
        )

    play(world, act)
    assert world.bound() == []
    assert world.allocated() == ["theirs"]
    assert world.marked() == []


def test_a_watch_that_shows_nothing_keeps_no_gang_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocating, "LONGEST_LOOK_SECONDS", 0.01)
    world = World()
    play(world, seat, slow_watch=True)
    assert (world.bound(), world.allocated()) == (world.names, EVERY)
