"""A tree of 1,000 queues: cycles that seat nobody, and one that seats gangs of many teams."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import msgspec

from benchmarks.clusters import rack_of, training_cluster, zone_of
from benchmarks.figures import Figure, Goal, Work, in_turns
from benchmarks.loading import NOW, loaded
from benchmarks.objects import GPU, H100, Obj, Template, job_pod, node, pod_group
from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling.worklist import MOST_EXPLAINED
from maitred.decide import Scope, decide
from maitred.decide.scope import EVERYTHING
from maitred.model.manifest import read_policy
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.queues import QUEUE

REPEATS = 5
START = "2026-01-31T08:00:00Z"
GPUS = H100.gpus
SMALL = 8
"""Members of the other gangs that wait."""


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    departments: int
    teams: int
    """In each department."""
    waiting: int
    gangs: int
    """So many of those who wait find places, in the cycle in which anybody does."""
    members: int

    @property
    def case(self) -> str:
        queues = self.departments * (1 + self.teams)
        return f"{queues:,} queues, {self.nodes:,} nodes, {self.waiting:,} waiting groups"

    @property
    def names(self) -> list[str]:
        """Of the teams."""
        return [f"team-{d}-{t}" for d in range(self.departments) for t in range(self.teams)]


FULL = Size(5_000, 40, 24, 2_000, 100, 64)
QUICK = Size(320, 4, 4, 40, 6, 64)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    return [*seats_nobody(size), *seats_gangs(size)]


def seats_nobody(size: Size) -> list[Figure]:
    """All devices are taken: of every other team by what it has borrowed, which is too young to be reclaimed,
    else by what is guaranteed to it. Some of those who wait have no quota left, some no room."""
    policy = policy_when_full(size)
    snapshot = snapshot_of(chain(full_cluster(size), small_gangs(size, 0, size.waiting)))
    plan = decide(snapshot, policy, NOW)
    assert not plan.binds, "nobody finds places"
    assert not plan.evictions, "nobody leaves"
    assert {"Quota", "Capacity"} <= {found.category for group in plan.groups for found in group.blockers}
    some = as_in_scheduler(plan)
    works = [(policy, some), (policy, EVERYTHING), (Policy(), some)]
    usual, every, none = in_turns([Work(partial(decide, snapshot, p, NOW, s)) for p, s in works], REPEATS)
    return [
        Figure(size.case, "decide, nobody is seated, 64 groups are explained", "s", usual, goal=Goal(0.5)),
        Figure(size.case, "the same, all are explained", "s", every),
        Figure(size.case, "the former without queues", "s", none),
    ]


def seats_gangs(size: Size) -> list[Figure]:
    """Gangs of different teams, each to be in one rack; beside others that have no quota left, and alone."""
    policy, goal = policy_when_half_empty(size), Goal(50_000, at_least=True)
    pods = size.gangs * size.members
    alone = snapshot_of(chain(half_empty(size), gangs(size)))
    others = small_gangs(size, size.gangs, size.waiting - size.gangs)
    beside = snapshot_of(chain(half_empty(size), gangs(size), others))
    plans = [decide(snapshot, policy, NOW) for snapshot in (alone, beside)]
    assert all(len(plan.binds) == pods for plan in plans), "every gang is seated, and nobody else"
    some = as_in_scheduler(plans[1])
    works = [(alone, policy), (beside, policy), (alone, Policy())]
    whole, among, none = (
        seconds.rate(pods)
        for seconds in in_turns([Work(partial(decide, s, p, NOW, some)) for s, p in works], REPEATS)
    )
    what = f"decide, {size.gangs} gangs of {size.members} are seated"
    return [
        Figure(size.case, f"{what}, nobody else waits", "pods/s", whole, goal=goal, rate=True),
        Figure(size.case, f"{what}, the others wait", "pods/s", among, goal=goal, rate=True),
        Figure(size.case, "the former without queues", "pods/s", none, rate=True),
    ]


def as_in_scheduler(plan: Plan) -> Scope:
    """So many groups are explained in one cycle."""
    return Scope(explained={group.group for group in plan.groups[:MOST_EXPLAINED]})


def snapshot_of(objects: Iterable[Obj]) -> Snapshot:
    return loaded(objects).state.snapshot()


# -- the policies --------------------------------------------------------------------------------------------


def policy_when_full(size: Size) -> Policy:
    """Every other team is guaranteed what it has; a quarter of all teams may not have more."""
    share = GPUS * (size.nodes // len(size.names))
    limits = [{"guarantee": share * (place % 2)} for place in range(len(size.names))]
    for limit in limits[3::4]:
        limit["cap"] = share
    return tree(size, limits, "1d")


def policy_when_half_empty(size: Size) -> Policy:
    """The first teams are guaranteed a gang each; the others have all that they may have."""
    first = [{"guarantee": size.members}] * size.gangs
    limits = first + [{"cap": 0}] * (len(size.names) - size.gangs)
    return tree(size, limits[: len(size.names)], "0s")


def tree(size: Size, limits: Iterable[Obj], min_runtime: str) -> Policy:
    queues: list[Obj] = [{"name": f"department-{number}"} for number in range(size.departments)]
    for place, (name, limit) in enumerate(zip(size.names, limits, strict=True)):
        parent = f"department-{place // size.teams}"
        about = {"resource": GPU, **limit}
        queues.append({"name": name, "parent": parent, "limits": [about], "minRuntime": min_runtime})
    policy, _ = read_policy(msgspec.json.encode({"queues": queues}), "benchmark")
    return policy


# -- the cluster ---------------------------------------------------------------------------------------------


def full_cluster(size: Size) -> Iterator[Obj]:
    """Every team has the same number of whole nodes; the few that are left are in no queue of theirs."""
    share = size.nodes // len(size.names)
    for number in range(size.nodes):
        name, rack = f"gpu-{number:05}", rack_of(number, size.nodes)
        yield node(name, f"rack-{rack:04}", zone_of(rack), H100)
        place, index = divmod(number, share)
        team = size.names[place] if place < len(size.names) else ""
        pod = job_pod(f"run-{place:04}", index, Template(gpus=GPUS), node_name=name)
        pod["status"]["startTime"] = START
        yield in_queue(pod, team)


def half_empty(size: Size) -> Iterator[Obj]:
    """What runs is in the queue of those who name none."""
    return training_cluster(size.nodes, random.Random(1), busy=0.4)


def gangs(size: Size) -> Iterator[Obj]:
    for number, team in enumerate(size.names[: size.gangs]):
        name = f"train-{number:04}"
        yield pod_group(name, size.members, rack_bound=True)
        for index in range(size.members):
            yield in_queue(job_pod(name, index, Template(), name), team)


def small_gangs(size: Size, first: int, count: int) -> Iterator[Obj]:
    """Of all teams from the first, in turn."""
    teams = size.names[first:]
    for number in range(count):
        name = f"small-{number:04}"
        yield pod_group(name, SMALL)
        for index in range(SMALL):
            yield in_queue(job_pod(name, index, Template(), name), teams[number % len(teams)])


def in_queue(pod: Obj, team: str) -> Obj:
    if team:
        pod["metadata"]["annotations"][QUEUE] = team
    return pod
