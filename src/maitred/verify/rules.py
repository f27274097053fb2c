"""What a group asks for as a whole: one domain for all its members, one for each of its slices."""

from collections.abc import Collection, Iterable

from .groups import Group
from .objects import Node
from .pods import Pod

Bind = tuple[Pod, Node]


def group_rule(group: Group, running: list[Bind], new: list[Bind]) -> str | None:
    """Why members may not come to sit where they do, beside those that run.

    Slices that get no new member are what they were before: not this Plan's doing.
    """
    in_part = slices_in_part(group, group.pending, {pod.key for pod, _ in new})
    if in_part:
        return f"slice {in_part[0]} is placed in part"
    seats = running + new
    touched = {group.slice_of(pod) for pod, _ in new} if group.slice_size else set()
    return domain_broken(group, seats) or slices_broken(
        group, [seat for seat in seats if touched and group.slice_of(seat[0]) in touched]
    )


def domain_broken(group: Group, seats: Iterable[Bind]) -> str | None:
    """Why members may not sit where they do together, by the topology that the whole group shares."""
    return one_domain(group.topology, list(seats), "the group") if group.topology else None


def slices_broken(group: Group, seats: Iterable[Bind]) -> str | None:
    """Why members may not sit where they do together, by the topology that each slice shares."""
    if not group.slice_size:
        return None
    slices: dict[int, list[Bind]] = {}
    for pod, node in seats:
        slices.setdefault(group.slice_of(pod), []).append((pod, node))
    broken = (one_domain(group.slice_topology, s, f"slice {n}") for n, s in sorted(slices.items()))
    return next((reason for reason in broken if reason is not None), None)


def one_domain(key: str, seats: list[Bind], what: str) -> str | None:
    bare = sorted(node.name for _, node in seats if key not in node.labels)
    if bare:
        return f"{what} needs the label {key}, which {bare[0]} does not have"
    domains = sorted({node.labels[key] for _, node in seats})
    return (
        f"{what} must be in one domain of {key} and is in {', '.join(domains)}" if len(domains) > 1 else None
    )


def slices_in_part(group: Group, pods: Iterable[Pod], chosen: Collection[str]) -> list[int]:
    """The slices of which some pods are chosen and some are not: they are seated whole or not at all."""
    if not group.slice_size:
        return []
    inside: dict[int, set[bool]] = {}
    for pod in pods:
        inside.setdefault(group.slice_of(pod), set()).add(pod.key in chosen)
    return sorted(number for number, both in inside.items() if len(both) > 1)
