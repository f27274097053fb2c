"""Rights of queues, over small random clusters: the engine against the oracle, the checker on its Plans."""

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.queues.book import in_queues
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import first_turn
from maitred.decide.ask import ask_of
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.admission import choices, first_excess, narrowed
from maitred.decide.queues.past_use import settle
from maitred.decide.queues.rights import QueueRights
from maitred.decide.queues.standings import Standings
from maitred.decide.queues.turns import QueueAgenda
from maitred.model.meta import Timestamp
from maitred.model.policy import FairShare, OrderRule
from maitred.model.priority import Rank
from maitred.model.usage import UsageMemory
from maitred.verify import verify
from tests.oracle.builders import GPU, Obj, gang, metadata, moment, namespace, node, pod
from tests.oracle.effort import examples
from tests.oracle.queues import Queues, Sharer
from tests.support import NOON, decide, policy_of, snapshot_of

MODEL = "nvidia.com/gpu.product"
MODELS = ("H100", "A100")
FLAT: tuple[Obj, ...] = ({"name": "a"}, {"name": "b"}, {"name": "c"})
DEEP: tuple[Obj, ...] = (
    {"name": "top"},
    {"name": "a", "parent": "top"},
    {"name": "b", "parent": "top"},
    {"name": "c"},
)
LEAVES = ("a", "b", "c", "default")
STARTED = 86_400 * 29


@dataclass(frozen=True)
class Team:
    """A group: what each of its members takes, and where they are; nowhere if it waits."""

    name: str
    queue: str
    devices: int
    members: int
    priority: int
    nodes: tuple[str, ...] = ()
    user: str = ""
    promised: tuple[str, ...] = ()
    """Nodes that its members are nominated to."""

    def pods(self, place: int) -> list[Obj]:
        made = []
        for member in range(self.members):
            marks = {"maitred.dev/queue": self.queue} if self.queue != "default" else {}
            marks |= {"maitred.dev/user": self.user} if self.user and self.members == 1 else {}
            if self.members > 1:
                marks |= gang(self.name, self.members)
            where = self.nodes[member] if self.nodes else None
            body = pod(
                f"{self.name}-{member}" if self.members > 1 else self.name,
                gpu=self.devices,
                annotations=marks,
                priority=self.priority,
                node=where,
                created=STARTED + place,
                where={MODEL: "H100"} if self.name.startswith("h") else None,
            )
            if where:
                body["status"]["startTime"] = moment(STARTED + place)
            elif self.promised:
                body["status"]["nominatedNodeName"] = self.promised[member]
            made.append(body)
        return made


@dataclass(frozen=True)
class World:
    queues: list[Obj]
    fair: bool
    nodes: dict[str, tuple[str, int]]
    """The model of each, and how many devices it has."""
    teams: tuple[Team, ...]

    @property
    def policy(self) -> Obj:
        return {
            "apiVersion": "maitred.dev/v1alpha1",
            "kind": "Policy",
            "queues": self.queues,
            "fairShare": {"reclaim": self.fair},
        }

    def objects(self) -> list[Obj]:
        objects = [namespace("default")]
        for name, (model, devices) in self.nodes.items():
            objects.append(node(name, gpu=devices, labels={MODEL: model}))
        for place, team in enumerate(self.teams):
            objects += team.pods(place)
        return objects

    def oracle(self) -> Queues:
        there = dict[tuple[str, str], int]()
        for model, devices in self.nodes.values():
            there[GPU, model] = there.get((GPU, model), 0) + devices
        return Queues(self.queues, there, self.fair)

    def seated(self) -> list[Sharer]:
        return [self.sharer(place) for place, team in enumerate(self.teams) if team.nodes]

    def sharer(self, place: int, model: str = "") -> Sharer:
        team, use = self.teams[place], dict[tuple[str, str], int]()
        for where in team.nodes or [""] * team.members:
            key = GPU, self.nodes[where][0] if where else model
            use[key] = use.get(key, 0) + team.devices
        user = team.user if team.members == 1 else ""
        return Sharer(f"default/{team.name}", team.queue, use, team.priority, place, user)

    def snapshot(self) -> Snapshot:
        return in_queues(snapshot_of(self.objects(), self.policy), policy_of(self.policy), None)


@st.composite
def limits(draw: DrawFn, models: int) -> list[Obj]:
    """At most one of all devices, and one of a model."""
    found = list[Obj]()
    for model in ("*", "H100")[: 1 + (models > 1)]:
        if draw(st.booleans()):
            limit: Obj = {"resource": GPU, **({} if model == "*" else {"model": model})}
            guarantee = draw(st.none() | st.integers(0, 6))
            cap = draw(st.none() | st.integers(guarantee or 0, 10))
            user = draw(st.none() | st.none() | st.integers(0, 4))
            sizes = {"guarantee": guarantee, "cap": cap, "perUser": user}
            found.append(limit | {name: size for name, size in sizes.items() if size is not None})
    return found


@st.composite
def worlds(draw: DrawFn) -> World:
    models = draw(st.integers(1, 2))
    nodes = {
        f"n{number}": (MODELS[number % models], draw(st.integers(1, 6)))
        for number in range(draw(st.integers(1, 4)))
    }
    queues = []
    for queue in draw(st.sampled_from([FLAT, DEEP])):
        body = {**queue, "limits": draw(limits(models)), "weight": draw(st.sampled_from([1, 1, 2, 3]))}
        body |= {name: "never" for name in ("borrow", "lend") if not draw(st.integers(0, 5))}
        queues.append(body)
    free = {name: devices for name, (_, devices) in nodes.items()}
    teams = list[Team]()
    for number in range(draw(st.integers(1, 7))):
        team = Team(
            draw(st.sampled_from("gh")) + str(number) if models > 1 else f"g{number}",
            draw(st.sampled_from(LEAVES)),
            draw(st.integers(1, 3)),
            draw(st.sampled_from([1, 1, 2, 3])),
            draw(st.sampled_from([0, 0, 0, 5, 9])),
            user=draw(st.sampled_from(["", "ann"])),
        )
        homes = _homes(team, nodes, free) if draw(st.booleans()) else ()
        teams.append(replace(team, nodes=homes))
    return World(queues, draw(st.booleans()), nodes, tuple(teams))


def _homes(team: Team, nodes: dict[str, tuple[str, int]], free: dict[str, int]) -> tuple[str, ...]:
    """Nodes of one model with room for all members; none if there are none."""
    for model in MODELS:
        left, homes = dict(free), list[str]()
        for name in [one for one in nodes if nodes[one][0] == model] * team.members:
            if left[name] >= team.devices and len(homes) < team.members:
                left[name] -= team.devices
                homes.append(name)
        if len(homes) == team.members:
            free.update(left)
            return tuple(homes)
    return ()


def moment_of(text: str) -> datetime:
    return msgspec.convert(text, Timestamp)


def now() -> int:
    return round(moment_of(NOON).timestamp() * 1000)


def usage_of(used: dict[str, int], at: str) -> UsageMemory:
    """What queues have had on average; they have had just that when it was written down."""
    queues = [{"queue": queue, "had": {GPU: n}, "average": {GPU: n}} for queue, n in used.items()]
    return msgspec.convert({"at": at, "queues": queues}, UsageMemory)


@given(worlds())
@examples(300)
def test_who_is_entitled_at_every_level_is_as_the_rules_say(world: World) -> None:
    snapshot, oracle = world.snapshot(), world.oracle()
    book = snapshot.book
    assert book is not None
    standings = Standings(book, EvictablePods(snapshot, policy_of(world.policy), now()))
    names = _teams_of(snapshot)
    for queue, chain in enumerate(book.tree.chain):
        name, level = book.tree.queues[queue].name, len(chain) - 1
        inside = [one >= 0 and queue in book.tree.chain[one] for one in standings.queue.tolist()]
        entitled = {
            team
            for team, there, borrowed in zip(names, inside, standings.borrowed[level], strict=True)
            if there and not borrowed
        }
        assert entitled == oracle.entitled(name, world.seated()), name


@given(worlds())
@examples(300)
def test_who_is_admitted_and_who_yields_is_as_the_rules_say(world: World) -> None:
    """For every group that waits, on devices of each model; `among` others, only those who are there."""
    snapshot, oracle, policy = world.snapshot(), world.oracle(), policy_of(world.policy)
    trial, names, seated = Trial.of(snapshot), _teams_of(snapshot), world.seated()
    use, places = trial.queues, {f"default/{team.name}": place for place, team in enumerate(world.teams)}
    assert use is not None
    standings = Standings(use.book, EvictablePods(snapshot, policy, now()))
    rights = QueueRights(use, standings, policy, by_rank=True)
    for view in snapshot.groups:
        assert view.account != NO_ACCOUNT
        ask = ask_of(view)
        for one, amounts in narrowed(use, ask, policy):
            models = {
                world.nodes[name][0] for name, row in snapshot.nodes.rows.items() if row not in one.closed
            }
            if len(models) > 1:
                continue  # which of them it will be is not known yet
            claimant = world.sharer(places[view.group.key], models.pop())
            excess = first_excess(use, ask, amounts)
            assert (excess is None) == (oracle.refusal(claimant, seated) == ""), view.group.key
            found = rights.over(ask.account, amounts, Rank(claimant.priority), view.pending_schedulers)
            causes = {names[pod]: found.rule(pod)[0] for pod in np.flatnonzero(found.pods).tolist()}
            assert causes == oracle.evictable(claimant, seated), view.group.key


@given(worlds(), st.lists(st.integers(0, 50), max_size=6))
@examples(100)
def test_what_is_remembered_of_an_account_is_what_is_worked_out_anew(world: World, moves: list[int]) -> None:
    """Whoever sits down, is held a place, or gives it back in between."""
    snapshot, policy = world.snapshot(), policy_of(world.policy)
    trial, asks = Trial.of(snapshot), [ask_of(view) for view in snapshot.groups]
    use, marks = trial.queues, [trial.checkpoint()]
    assert use is not None
    nobody = np.zeros(len(snapshot.bound.node), dtype=np.bool_)
    for move in [0, *moves]:
        if move and asks:
            ask, row = asks[move % len(asks)], np.array([move % len(snapshot.nodes.names)], dtype=np.intp)
            copies = np.ones(1, dtype=np.int64)
            if move % 4 == 0 and len(marks) > 1:
                trial.rollback(marks.pop())
            elif move % 4 == 1:
                trial.hold(ask.shapes[0], row, copies, nobody, ask.account)
            else:
                marks.append(trial.checkpoint())
                trial.seat(ask.shapes[0], row, copies, ask.account)
        anew = use.on(trial.load)
        for ask in asks:
            known, fresh = list(choices(use, ask, policy)), list(choices(anew, ask, policy))
            assert [(one.ask, one.model) for one in known] == [(one.ask, one.model) for one in fresh]
            for one, amounts in narrowed(use, ask, policy):
                assert first_excess(use, ask, amounts) == first_excess(anew, ask, amounts)
                assert use.borrows(ask.account, amounts) == anew.borrows(ask.account, amounts)
                assert one.shapes == ask.shapes


@given(worlds())
@examples(100)
def test_groups_are_on_the_accounts_of_this_cycle_not_of_the_last(world: World) -> None:
    """Views are kept from one cycle for the next; another user, or another policy, is another account."""
    objects = world.objects()
    first = snapshot_of(objects)
    policy, other = policy_of(world.policy), policy_of({**world.policy, "fairShare": {"reclaim": True}})
    renamed = tuple(
        replace(view, payer=msgspec.structs.replace(view.payer, user="somebody")) for view in first.groups
    )
    # In another order, accounts have other numbers.
    turned = replace(first, groups=first.groups[::-1])
    for tree in (policy, other):
        for snapshot in (first, first, replace(first, groups=renamed), first, turned):
            found = in_queues(snapshot, tree, None)
            assert found.book is not None
            expected = tuple(replace(view, account=found.book.account_of(view)) for view in snapshot.groups)
            assert list(map(repr, found.groups)) == list(map(repr, expected))


ORDERS: tuple[tuple[OrderRule, ...], ...] = (
    ("priority", "fair-share", "age", "name"),
    ("priority", "age", "fair-share"),
    ("priority", "age"),
    ("fair-share",),
    ("age", "fair-share", "name"),
)


USED = st.none() | st.dictionaries(st.sampled_from(LEAVES), st.integers(0, 8))


@given(worlds(), st.sampled_from(ORDERS), st.sets(st.integers(0, 6)), USED)
@examples(200)
def test_whose_turn_it_is_is_as_the_rules_say(
    world: World, order: tuple[OrderRule, ...], patient: set[int], used: dict[str, int] | None
) -> None:
    """While one after the other is seated, wherever that is; on devices of one model, so that it is clear
    what each of them uses. Some of them have waited for long, some queues have had more than others."""
    one_model = {name: ("H100", devices) for name, (_, devices) in world.nodes.items()}
    world = replace(world, nodes=one_model)
    snapshot, oracle = world.snapshot(), world.oracle()
    oracle.order = [rule for rule in order if rule != "name"]
    policy = msgspec.structs.replace(policy_of(world.policy), order=order)
    places = {f"default/{team.name}": place for place, team in enumerate(world.teams)}
    trial, row = Trial.of(snapshot), np.zeros(1, dtype=np.intp)
    seated, asks = world.seated(), [ask_of(view) for view in snapshot.groups]
    waiting = {view.group.key: world.sharer(places[view.group.key], "H100") for view in snapshot.groups}
    for number in patient.intersection(range(len(snapshot.groups))):
        key = snapshot.groups[number].group.key
        waiting[key] = replace(waiting[key], waits_since=100 - places[key])
    if used is not None:
        oracle.past = {queue: {(GPU, "H100"): count} for queue, count in used.items()}
        policy = msgspec.structs.replace(policy, fair_share=FairShare(half_life="1d"))
    past = settle(replace(snapshot, usage=usage_of(used or {}, NOON)), policy, moment_of(NOON)).past
    agenda = QueueAgenda(policy, lambda turn: asks[turn.number], past)
    for number, view in enumerate(snapshot.groups):
        sharer = waiting[view.group.key]
        waited = math.inf if sharer.waits_since is None else sharer.waits_since
        turn = first_turn(order, sharer.priority, view.created, sharer.name, waited=waited, number=number)
        agenda.add(turn)
    while (taken := agenda.next(trial)) is not None:
        first = oracle.next(list(waiting.values()), seated)
        assert taken.key == first.name
        seated.append(waiting.pop(taken.key))
        ask = asks[taken.number]
        trial.seat(ask.shapes[0], row, np.array([len(ask.shapes)]), ask.account)
    assert not waiting


@given(worlds())
@examples(300)
def test_no_plan_breaks_a_law_of_queues(world: World) -> None:
    plan = decide(world.objects(), world.policy)
    assert verify(world.objects(), plan, world.policy) == []


@given(worlds(), USED, st.integers(0, 7_200))
@examples(60)
def test_what_is_remembered_of_use_is_as_the_rules_say(
    world: World, used: dict[str, int] | None, seconds: int
) -> None:
    """The checker computes it again."""
    policy = world.policy | {"fairShare": {"halfLife": "1h"}}
    objects = world.objects()
    if used is not None:
        at = msgspec.to_builtins(moment_of(NOON) - timedelta(seconds=seconds))
        meta = metadata("maitred-usage", "maitred-system")
        text = str(usage_of(used, at))
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}})
    plan = decide(objects, policy)
    assert plan["usage"] is None or used is None or seconds >= 300
    assert verify(objects, plan, policy, now=moment_of(NOON)) == []


@given(worlds())
@examples(150)
def test_law_6_queues_do_not_take_from_each_other_for_ever(world: World) -> None:
    """Nothing arrives but what is made anew: a fixed point is reached."""
    settled(world)


@st.composite
def crowded(draw: DrawFn) -> World:
    """Every device is taken, mostly by what is borrowed, and some wait who are guaranteed something."""
    sizes = [draw(st.integers(1, 6)) for _ in range(draw(st.integers(1, 3)))]
    nodes = {f"n{number}": ("H100", size) for number, size in enumerate(sizes)}
    queues = [
        {**queue, "limits": [{"resource": GPU, "guarantee": draw(st.integers(0, 4))}]}
        for queue in draw(st.sampled_from([FLAT, DEEP]))
        if queue["name"] != "top"
    ]
    if any("parent" in queue for queue in queues):
        queues.insert(0, {"name": "top"})
    teams = list[Team]()
    for name, (_, left) in nodes.items():
        while left:
            size = draw(st.integers(1, left))
            queue, priority = draw(st.sampled_from(LEAVES)), draw(st.sampled_from([0, 0, 9]))
            teams.append(Team(f"g{len(teams)}", queue, size, 1, priority, (name,)))
            left -= size
    for _ in range(draw(st.integers(1, 2))):
        queue = draw(st.sampled_from(LEAVES[:-1]))
        teams.append(Team(f"g{len(teams)}", queue, draw(st.integers(1, 2)), draw(st.integers(1, 2)), 0))
    return World(queues, draw(st.booleans()), nodes, tuple(teams))


@given(crowded())
@examples(150)
def test_everybody_has_what_is_guaranteed_if_it_can_be_had(world: World) -> None:
    found = settled(world)
    oracle, seated = found.oracle(), found.seated()
    waiting = [place for place, team in enumerate(found.teams) if not team.nodes]
    most = max((found.teams[place].priority for place in waiting), default=0)
    for place in waiting:
        # What one might reclaim may go to another of higher priority, which is then no gain.
        if found.teams[place].priority == most:
            assert not _could_reclaim(found, oracle, place, "H100", seated), found.teams[place]


def settled(world: World) -> World:
    """Once nobody comes or leaves any more. Who was to have a place that others left has it next."""
    teams, claimants = {f"default/{team.name}": team for team in world.teams}, set[str]()
    for _ in range(4 * len(teams) + 4):
        now = replace(world, teams=tuple(teams.values()))
        plan = decide(now.objects(), world.policy)
        gone = {one["group"] or one["pod"] for one in plan["evictions"]}
        bound, promised = _by_group(plan["binds"]), _by_group(plan["nominations"])
        assert claimants <= bound.keys()
        claimants = {one["for"] for one in plan["evictions"]}
        if not gone and not bound:
            return now
        for name, team in teams.items():
            stays = () if name in gone else team.nodes
            teams[name] = replace(team, nodes=stays, promised=promised.get(name, ()))
        for name, places in bound.items():
            if len(places) == teams[name].members:
                teams[name] = replace(teams.pop(name), nodes=places)  # started after all others
    raise AssertionError("queues take from each other for ever")


def _could_reclaim(world: World, oracle: Queues, place: int, model: str, seated: list[Sharer]) -> bool:
    """Whether a group is within all guarantees and limits, and fits once those have left whom it may reclaim
    from."""
    team, claimant = world.teams[place], world.sharer(place, model)
    within = all(oracle.would_be_entitled(claimant, one, seated) for one in oracle.path(team.queue))
    if not within or oracle.refusal(claimant, seated):
        return False
    causes = oracle.evictable(claimant, seated)
    free = {name: devices for name, (_, devices) in world.nodes.items()}
    for other in world.teams:
        stays = causes.get(f"default/{other.name}") != "Reclaim"
        for name in other.nodes:
            free[name] -= other.devices * stays
    return sum(max(0, left) // team.devices for left in free.values()) >= team.members


def _by_group(binds: list[Any]) -> dict[str, tuple[str, ...]]:
    """The nodes of the members of each group, in their order."""
    found = dict[str, tuple[str, ...]]()
    for bind in sorted(binds, key=lambda one: str(one["pod"])):
        found[bind["group"]] = (*found.get(bind["group"], ()), bind["node"])
    return found


def _teams_of(snapshot: Snapshot) -> list[str]:
    """The group of each pod on a node."""
    names = []
    for number, occupant in zip(
        snapshot.bound.group.tolist(), snapshot.bound.occupants.tolist(), strict=True
    ):
        seated = snapshot.seated[number] if number >= 0 else None
        names.append(occupant.key if seated is None else seated.group.key)
    return names
