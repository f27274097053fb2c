"""What claims count for queues, over small random clusters: against plain counting, before and after pods
leave, and on the Plans."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.queues.book import in_queues
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.trial import Trial
from maitred.verify import verify
from tests.decide.test_queue_claims import BASE, CLASS, GPU, accelerators, claiming, held, policy, queue
from tests.oracle.builders import Obj
from tests.oracle.device_builders import claim_spec, claim_template, exactly, use, wish
from tests.oracle.effort import examples
from tests.support import NOON, decide, policy_of, snapshot_of

QUEUES = ("a", "b")
EACH = 6
"""Devices of a node."""


@dataclass(frozen=True)
class Claim:
    """Allocated: how many devices, on which node, and in which queues its users are, the first first."""

    devices: int
    node: str
    users: tuple[str, ...]
    joined: str = ""
    """The queue of a pod that waits for it, too."""


@dataclass(frozen=True)
class World:
    claims: tuple[Claim, ...]
    waiting: tuple[tuple[str, int], ...]
    """Pods with a claim of their own: their queue, and how many devices."""
    caps: tuple[int | None, ...]

    @property
    def rules(self) -> Obj:
        sizes = zip(QUEUES, self.caps, strict=True)
        return policy(*(queue(name, cap=EACH * 2 if cap is None else cap) for name, cap in sizes))

    def objects(self) -> list[Obj]:
        made = [*BASE, *accelerators("n0", EACH), *accelerators("n1", EACH)]
        made += [
            claim_template(f"t{count}", claim_spec(exactly("gpu", wish(CLASS, count)))) for count in (1, 2, 3)
        ]
        free = {"n0": 0, "n1": 0}
        for number, one in enumerate(self.claims):
            name, first = f"c{number}", free[one.node]
            free[one.node] += one.devices
            users = [
                claiming(f"{name}-{place}", where, [use("gpu", name)], at=one.node)
                for place, where in enumerate(one.users)
            ]
            devices = [f"d{place}" for place in range(first, first + one.devices)]
            spec = claim_spec(exactly("gpu", wish(CLASS, one.devices)))
            made += [*users, held(name, spec, one.node, devices, users)]
            if one.joined:
                made.append(claiming(f"{name}-more", one.joined, [use("gpu", name)]))
        for number, (where, count) in enumerate(self.waiting):
            made.append(claiming(f"w{number}", where, [use("gpu", template=f"t{count}")]))
        return made

    def used(self, gone: frozenset[str] = frozenset()) -> dict[str, int]:
        """By queue: a claim counts for its first user, as long as any is there."""
        found = dict.fromkeys(QUEUES, 0)
        for number, one in enumerate(self.claims):
            names = {f"default/c{number}-{place}" for place in range(len(one.users))}
            if names - gone:
                found[one.users[0]] += one.devices
        return found


@st.composite
def worlds(draw: DrawFn) -> World:
    free, claims = {"n0": EACH, "n1": EACH}, list[Claim]()
    for _ in range(draw(st.integers(0, 4))):
        where, count = draw(st.sampled_from([*free])), draw(st.integers(1, 2))
        if free[where] >= count:
            free[where] -= count
            users = draw(st.lists(st.sampled_from(QUEUES), min_size=1, max_size=3))
            joined = draw(st.sampled_from(["", "", *QUEUES]))
            claims.append(Claim(count, where, tuple(users), joined))
    pod = st.tuples(st.sampled_from(QUEUES), st.integers(1, 3))
    waiting = draw(st.lists(pod, max_size=4))
    caps = st.none() | st.integers(0, 6)
    return World(tuple(claims), tuple(waiting), (draw(caps), draw(caps)))


def counted(found: QueueUse) -> dict[str, int]:
    return {
        one.name: int(found.now[found.book.row(place)].sum())
        for place, one in enumerate(found.book.tree.queues)
        if one.name in QUEUES
    }


@given(worlds(), st.data())
@examples(40)
def test_a_claim_counts_once_for_its_first_user_as_long_as_any_is_there(
    world: World, data: st.DataObject
) -> None:
    snapshot = in_queues(snapshot_of(world.objects(), world.rules), policy_of(world.rules), None)
    trial = Trial.of(snapshot)
    found, pods = trial.queues, len(snapshot.bound.node)
    assert found is not None
    assert counted(found) == world.used()
    chosen = data.draw(st.sets(st.integers(0, pods - 1))) if pods else set[int]()
    rows = np.array(sorted(chosen), dtype=np.intp)
    gone = frozenset(snapshot.bound.occupants[place].key for place in rows.tolist())
    start = trial.checkpoint()
    trial.evict(rows)
    assert counted(found) == world.used(gone)
    for view in snapshot.groups:  # whoever takes seats and gives them back leaves no trace
        shape = int(view.shapes[0])
        trial.seat(shape, np.array([0]), np.array([1]), view.account)
    trial.rollback(start)
    assert counted(found) == world.used()


@given(worlds())
@examples(40)
def test_no_queue_gets_devices_beyond_its_cap(world: World) -> None:
    objects = world.objects()
    plan = decide(objects, world.rules, NOON)
    assert verify(objects, plan, world.rules) == []
    bound = {one["pod"].partition("/")[2] for one in plan["binds"]}
    after, fresh = world.used(), dict.fromkeys(QUEUES, 0)
    for number, (where, count) in enumerate(world.waiting):
        fresh[where] += count * (f"w{number}" in bound)
    for name, cap in zip(QUEUES, world.caps, strict=True):
        if fresh[name] and cap is not None:
            assert after[name] + fresh[name] <= cap, (name, GPU)
