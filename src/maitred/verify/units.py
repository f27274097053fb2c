"""Units: pods that break together, and so are evicted together."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from .case import Case
from .groups import Group, ancestors, is_atomic
from .pods import Pod
from .priorities import standing


@dataclass(frozen=True)
class Unit:
    """Victims that go together. `left` would stay and should not; `spare` could go without the others."""

    name: str
    pods: tuple[Pod, ...]
    left: tuple[Pod, ...] = ()
    spare: int = 0


@dataclass(frozen=True)
class Sacrifice:
    """Everybody who leaves for one group, and who had to leave for others before."""

    preemptor: Group
    units: list[Unit]
    earlier: list[Pod]

    @cached_property
    def pods(self) -> list[Pod]:
        return [pod for unit in self.units for pod in unit.pods]


@dataclass(frozen=True)
class Household:
    """Running pods that may break together. Without groups they do, because an owner takes all along."""

    name: str
    pods: tuple[Pod, ...]
    groups: tuple[Group, ...] = ()


def sacrifices(case: Case) -> list[Sacrifice]:
    """By preemptor, in the order in which they are decided: who goes first changes what is above a quorum."""
    found: list[Sacrifice] = []
    homes_of = households(case) if case.evictions else {}
    earlier: dict[Pod, None] = {}
    for preemptor in case.preempting:
        victims = {eviction.pod for eviction in case.evicted_for(preemptor)}
        touched = {id(home := homes_of[pod]): home for pod in victims if pod.running}
        homes = sorted(touched.values(), key=lambda home: home.name)
        units = [unit for home in homes for unit in _units(home, victims, earlier)]
        # Those that linger count for no quorum: nobody breaks with them.
        units += [Unit(pod.key, (pod,)) for pod in sorted(victims, key=_key) if case.lingers(pod)]
        found.append(Sacrifice(preemptor, units, list(earlier)))
        earlier |= dict.fromkeys(found[-1].pods)
    return found


def households(case: Case) -> dict[Pod, Household]:
    """By pod."""
    return {pod: home for home in _households(case) for pod in home.pods}


def _households(case: Case) -> list[Household]:
    """Groups that break together, and whole owners; those of the two that share a pod are one."""
    homes: dict[str, Household] = {}
    for name, groups in _houses(case).items():
        running = tuple(pod for group in groups for pod in group.running)
        homes[name] = Household(name, running, tuple(groups))
    for owner, pods in _taken_along(case).items():
        names = {name for name, home in homes.items() if not set(home.pods).isdisjoint(pods)}
        tied = [homes[name] for name in sorted(names) if is_tied(homes[name])]
        if len(tied) == 1 and set(pods) <= set(tied[0].pods):
            continue  # one group has all of them, and says what may go without the rest
        for name in names - {home.name for home in tied}:  # others of a loose group stay as they are
            kept = tuple(pod for pod in homes[name].pods if pod not in pods)
            homes[name] = Household(name, kept, homes[name].groups)
        together = dict.fromkeys([*pods, *(pod for home in tied for pod in home.pods)])
        for home in tied:
            del homes[home.name]
        homes[f"owner {owner}"] = Household(f"owner {owner}", tuple(together))
    return list(homes.values())


def is_tied(home: Household) -> bool:
    """Whether its pods break together, at least if more of them go than can be spared."""
    group = home.groups[0] if home.groups else None
    if group is None:
        return True
    if any(each.at_odds for each in home.groups):
        return False
    gang = group.gang and group.quorum is not None and not group.loose
    return home.name.startswith("composite ") or group.atomic or gang


def _taken_along(case: Case) -> dict[str, list[Pod]]:
    """Owners that take all of their running pods along: where these are of one rank."""
    found: dict[str, list[Pod]] = {}
    running = [pod for pod in case.cluster.pods.values() if pod.running]
    for pod in running if case.policy.preemption.suspends else ():
        way = case.cluster.suspendable.way_out(pod)
        if way is not None and way.whole and not way.stopped:
            found.setdefault(str(way.owner), []).append(pod)
    return {
        owner: pods
        for owner, pods in sorted(found.items())
        if len({standing(case.cluster, case.leaf_of[pod.key], pod) for pod in pods}) == 1
    }


def _key(pod: Pod) -> str:
    return pod.key


def _houses(case: Case) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for leaf in (leaf for group in case.groups if case.evictions for leaf in group.leaves):
        found.setdefault(house(case, leaf), []).append(leaf)
    return found


def house(case: Case, group: Group) -> str:
    """What a group breaks with: the topmost composite that is disrupted as a whole, else itself."""
    whole = [key for key, spec in ancestors(case.cluster, group).items() if is_atomic(spec)]
    return f"composite {whole[-1]}" if whole else f"{group.kind} {group.key}"


def _units(home: Household, victims: set[Pod], earlier: Container[Pod]) -> Iterator[Unit]:
    present = [pod for pod in home.pods if pod not in earlier]
    taken = [pod for pod in present if pod in victims]
    whole, spare = _whole(home, present, taken)
    if not whole:
        yield from (Unit(pod.key, (pod,)) for pod in taken)
        return
    left = tuple(pod for pod in present if pod not in victims)
    yield Unit(home.name.partition(" ")[2], tuple(taken), left, spare)


def _whole(home: Household, present: list[Pod], taken: list[Pod]) -> tuple[bool, int]:
    """Whether these cannot go without the rest, and how many could have."""
    if not is_tied(home):
        return False, 0
    if not home.groups or home.name.startswith("composite ") or home.groups[0].atomic:
        return True, 0
    group = home.groups[0]
    spare = max(0, len(present) + group.succeeded - (group.quorum or 0))
    if any(_leads(pod) for pod in taken):
        return True, 0
    return len(taken) > spare, spare


def _leads(pod: Pod) -> bool:
    """The head of a Ray cluster, or the master or launcher of a training job: the others end with it."""
    role = pod.labels.get("training.kubeflow.org/job-role")
    return pod.labels.get("ray.io/node-type") == "head" or role in ("master", "launcher")
