"""The laws about evictions. Two of them one Plan can break; that there is no cycle takes many."""

from datetime import UTC, datetime, timedelta

from hypothesis import event, given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.oracle.builders import Obj, pod
from tests.oracle.effort import examples
from tests.oracle.traits import FEATURES
from tests.preemption.rounds import Habits, Rounds
from tests.preemption.worlds import START, lingered, squatted
from tests.support import decide

NOW = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=START + 86_400)
ASKING = frozenset(FEATURES) - {"priority", "mixed", "gates", "lost_volumes"}
PLAIN = ("topology", "node_selector", "pod_count", "anti_affinity")
"""Features that make no group wait for others to come."""


POLICIES: tuple[Obj, ...] = (
    *({},) * 6,
    {"preemption": {"mode": "never"}},
    {"preemption": {"victims": "own"}},
    {"preemption": {"graceLimit": "10s"}},
    {"preemption": {"graceLimit": "none"}},
    {"preemption": {"delay": "400d"}},
    {"preemption": {"delay": "1h", "jobs": "delete"}},
    {"preemption": {"protection": {"devicesPerNamespace": 2}}},
    {"preemption": {"protection": {"namespaces": {"matchLabels": {"may": "protect"}}}}},
    {"order": "fifo"},
    {"nodes": {"managed": {"matchLabels": {"rack": "r0"}}}},
)


@given(
    squatted() | lingered() | squatted(features=ASKING) | lingered(features=ASKING),
    st.sampled_from(POLICIES),
)
@examples(250)
def test_laws_4_and_5_no_eviction_upward_or_in_vain(objects: list[Obj], policy: Obj) -> None:
    plan = decide(objects, policy, NOW.isoformat())
    event("evicts" if plan["evictions"] else "evicts nobody")
    assert [breach for breach in verify(objects, plan, policy, now=NOW) if breach.law in (4, 5)] == []


# ---- law 6


def check_no_feud(world: Rounds) -> None:
    """Nobody is evicted for somebody who was evicted for it."""
    for group, victims in world.made_for.items():
        for victim in victims:
            avenged = [name for name in world.made_for if name.partition("--")[0] == victim]
            assert not any(group in world.made_for[name] for name in avenged), (group, victim)


@given(squatted(features=PLAIN, marks=False, surplus=False), st.booleans())
@examples(60)
def test_law_6_no_eviction_cycle(objects: list[Obj], eager: bool) -> None:
    """Owners make every victim anew and nothing else arrives: all comes to rest, and nobody left in vain.

    But a victim of one group that ranks higher than another comes back, and may take what that was promised.
    """
    world = Rounds(objects, Habits(eager=eager))
    world.settle()
    event(f"{len(world.made_for)} preemptors")
    check_no_feud(world)
    ranks = {f"default/{obj['metadata']['name']}": obj["spec"].get("priority", 0) for obj in objects}
    back = max((ranks[victim] for victims in world.made_for.values() for victim in victims), default=0)
    lost = world.made_for.keys() - world.seated
    assert all(world.ranks[group] < back for group in lost), "somebody left for a group that got nothing"


def is_waiting(obj: Obj) -> bool:
    return obj["kind"] == "Pod" and "nodeName" not in obj["spec"]


@given(squatted(features=PLAIN, marks=False, surplus=False), st.integers(0, 3), st.booleans())
@examples(60)
def test_law_6_plans_are_kept_and_not_doubled(objects: list[Obj], slowest: int, eager: bool) -> None:
    """Victims take their time, each another one; meanwhile nobody else is evicted for the same group.

    Only one who ranks higher may take its place, so this holds for the highest of those who wait.
    """
    world = Rounds(objects, Habits(lambda name: sum(map(ord, name)) % (slowest + 1), eager))
    world.settle()
    check_no_feud(world)
    top = max((obj["spec"]["priority"] for obj in objects if is_waiting(obj)), default=0)
    highest = {group for group, rank in world.ranks.items() if rank == top}
    assert all(world.preemptions[group] == 1 for group in highest), (highest, world.preemptions)
    assert highest <= world.seated


@given(squatted(features=ASKING))
@examples(60)
def test_law_6_whatever_groups_ask_for(objects: list[Obj]) -> None:
    world = Rounds(objects, Habits(lambda name: len(name) % 2))
    world.settle()
    check_no_feud(world)


@given(squatted(features=ASKING), st.sampled_from((1, 20_000, 60_000)))
@examples(60)
def test_laws_4_to_6_when_cycles_have_a_budget(objects: list[Obj], steps: int) -> None:
    """A cycle may not get to all, and lesser groups sit down before those whom it did not get to. Still every
    Plan keeps every law, everybody is examined in the end, and all comes to rest."""
    world = Rounds(objects, Habits(lambda name: len(name) % 2), steps=steps)
    world.settle()
    check_no_feud(world)
    assert not world.cut
    world.steps = None
    complete = world.decided()
    assert (complete["binds"], complete["evictions"]) == ([], [])


@given(squatted(features=PLAIN), st.integers(1, 3))
@examples(60)
def test_law_6_when_a_promised_node_dies(objects: list[Obj], late: int) -> None:
    """The node goes, and all on it are made anew somewhere else: decided anew, and it comes to rest."""
    world = Rounds(objects, Habits(lambda _: 3))
    for _ in range(late):
        world.play()
    dead = next(iter(world.promised()), None)
    event("a promised node dies" if dead else "nobody was promised anything")
    if dead is not None:
        world.lose(dead)
    world.settle()
    check_no_feud(world)


@given(squatted(features=PLAIN), st.sampled_from((-5, 7, 50)))
@examples(60)
def test_law_6_when_somebody_else_takes_the_place(objects: list[Obj], rank: int) -> None:
    """Another scheduler does not see what is held, and puts a pod of its own there when victims are gone."""
    world = Rounds(objects)
    world.play()
    rooms = {node: world.free(node) for node in world.promised()}
    place = max(rooms, key=lambda node: rooms[node], default="")
    event("a place is taken" if rooms.get(place) else "there is no place to take")
    if rooms.get(place, 0) > 0:
        taker = pod("taker", f"{rooms[place]}m", node=place, priority=rank, scheduler="other", created=START)
        world.put(taker)
    world.settle()
    check_no_feud(world)
