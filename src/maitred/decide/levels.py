"""Levels of the topology and their domains, as columns over nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, NodeView
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.group import TopologyRequest
from maitred.model.policy import Level, Policy


@dataclass(frozen=True, slots=True)
class Ladder:
    """Domains to try, narrow to wide, as one column of codes per rung.

    The last rung is the widest that is allowed. `anchors` are nodes that the group already has members on.
    """

    rungs: tuple[Codes, ...]
    widest: Codes
    anchors: Rows


def known_levels(policy: Policy, snapshot: Snapshot) -> tuple[Level, ...]:
    """The levels, wide to narrow: the policy's, or else those that groups name, fewest domains first."""
    if policy.topology.levels:
        return policy.topology.levels
    keys = {key for view in snapshot.groups for key in keys_of(view)}
    sized = sorted((len(snapshot.nodes.column(key).values), key) for key in keys)
    return tuple(Level(key, key) for _, key in sized)


def named_keys(request: TopologyRequest) -> Iterable[str]:
    return (key for key in (request.required, *request.preferred, request.slice_level) if key)


def keys_of(view: GroupView) -> Iterable[str]:
    """All that a group names; in a tree, its parts as well."""
    yield from named_keys(view.group.topology)
    if view.tree is not None:
        for branch, _ in view.tree.root.walk():
            yield from named_keys(branch.topology)


def key_of_level(name: str, levels: Iterable[Level]) -> str:
    """Users name a level by its name in the policy or by its label key."""
    return next((level.key for level in levels if name == level.name), name)


def name_of_level(key: str, levels: Iterable[Level]) -> str:
    return next((level.name for level in levels if level.key == key), key)


def position_of(key: str, levels: tuple[Level, ...]) -> int | None:
    return next((position for position, level in enumerate(levels) if level.key == key), None)


def shared_domains(
    nodes: NodeView, levels: tuple[Level, ...], request: TopologyRequest, rows: Sequence[int]
) -> dict[str, str]:
    """The domains that all these nodes share, by level: of the levels there are, and of those asked for."""
    if not rows:
        return {}
    asked = [key_of_level(name, levels) for name in named_keys(request)]
    domains = {}
    for key in dict.fromkeys([*(level.key for level in levels), *asked]):
        column = nodes.column(key)
        codes = set(column.codes[rows].tolist())
        if len(codes) == 1 and (code := codes.pop()) >= 0:
            domains[name_of_level(key, levels)] = column.values[code]
    return domains


def codes_of(nodes: NodeView, key: str) -> Codes:
    return nodes.column(key).codes


def codes_inside(nodes: NodeView, key: str, outer: str) -> Codes:
    """Domains of a level cut along those of another, for where a domain lies in two of the other's."""
    return nodes.derived(("inside", key, outer), lambda: _codes_inside(nodes, key, outer))


def _codes_inside(nodes: NodeView, key: str, outer: str) -> Codes:
    inner, around = codes_of(nodes, key).astype(np.int64), codes_of(nodes, outer)
    both = np.where((inner >= 0) & (around >= 0), inner * (int(around.max(initial=0)) + 1) + around, -1)
    values = np.unique(both[both >= 0])
    cut: Codes = np.where(both >= 0, np.searchsorted(values, both), -1).astype(np.int32)
    return cut
