"""Units: pods that break together, and so are evicted together."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from .case import Case
from .groups import Group, ancestors, is_atomic
from .pods import Pod


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


def sacrifices(case: Case) -> list[Sacrifice]:
    """By preemptor, in the order in which they are decided: who goes first changes what is above a quorum."""
    found: list[Sacrifice] = []
    houses = _houses(case)
    earlier: dict[Pod, None] = {}
    for preemptor in case.preempting:
        victims = {eviction.pod for eviction in case.evicted_for(preemptor)}
        touched = {house(case, case.leaf_of[pod.key]) for pod in victims if pod.running}
        units = [unit for name in sorted(touched) for unit in _units(name, houses[name], victims, earlier)]
        # Those that linger count for no quorum: nobody breaks with them.
        units += [Unit(pod.key, (pod,)) for pod in sorted(victims, key=_key) if case.lingers(pod)]
        found.append(Sacrifice(preemptor, units, list(earlier)))
        earlier |= dict.fromkeys(found[-1].pods)
    return found


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


def _units(name: str, groups: list[Group], victims: set[Pod], earlier: Container[Pod]) -> Iterator[Unit]:
    present = [pod for group in groups for pod in group.running if pod not in earlier]
    taken = [pod for pod in present if pod in victims]
    whole, spare = _whole(groups, present, len(taken), name)
    if not whole:
        yield from (Unit(pod.key, (pod,)) for pod in taken)
        return
    left = tuple(pod for pod in present if pod not in victims)
    yield Unit(name.partition(" ")[2], tuple(taken), left, spare)


def _whole(groups: list[Group], present: list[Pod], taken: int, name: str) -> tuple[bool, int]:
    """Whether so many cannot go without the rest, and how many could have."""
    group = groups[0]
    if any(each.at_odds for each in groups):
        return False, 0
    if name.startswith("composite ") or group.atomic:
        return True, 0
    if not group.gang or group.quorum is None:
        return False, 0
    spare = max(0, len(present) + group.succeeded - group.quorum)
    return taken > spare, spare
