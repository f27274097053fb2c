"""Volumes as rules: nodes that can reach them, room to attach them, and volumes that serve one claim each."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from maitred.cluster.nodes import Codes, Mask
from maitred.cluster.selection import provisionable_nodes, reachable_nodes, selected_by
from maitred.cluster.trial import Trial
from maitred.cluster.volumes import VolumeNeed
from maitred.decide.rules import Quota, Room
from maitred.model.selector import Requirement


@dataclass(slots=True)
class StorageRules:
    """The part of the rules that comes from volumes."""

    masks: list[Mask | None]
    """Per shape of the group, the nodes that can reach all its volumes; None for a shape without any."""
    rooms: list[Room] = field(default_factory=list)
    quotas: list[Quota] = field(default_factory=list)


def storage_rules(trial: Trial, shapes: tuple[int, ...], others_may_help: bool) -> StorageRules:
    """`others_may_help`: take storage that is missing or unbound as something that may still come."""
    rules = StorageRules([None] * len(shapes))
    exclusive: dict[str, list[int]] = {}
    pools: dict[tuple[str, ...], list[int]] = {}
    for position, shape in enumerate(shapes):
        needs = trial.shape(shape).volumes
        if not needs:
            continue
        mask = trial.nodes.alive.copy()
        for need in needs:
            if need.problem and not others_may_help:
                mask[:] = False
            mask &= _reachable(trial, need)
            if need.exclusive:
                exclusive.setdefault(need.exclusive, [0] * len(shapes))[position] = 1
            if need.candidates and not need.provisioned:
                pools.setdefault(need.candidates, [0] * len(shapes))[position] += 1
        rules.masks[position] = mask
    for driver in _limited_drivers(trial, shapes):
        room = _attach_room(trial, shapes, driver)
        rules.rooms.append(room)
        if len(shapes) == 1 and rules.masks[0] is not None:
            rules.masks[0] &= room.free >= 0
    rules.quotas += [_exclusive_quota(trial, claim, use) for claim, use in exclusive.items()]
    counted: set[str] = set()
    for pool, use in sorted(pools.items(), key=lambda item: (len(item[0]), item[0])):
        rules.quotas.append(_pool_quota(trial, tuple(name for name in pool if name not in counted), use))
        counted.update(pool)
    return rules


def _limited_drivers(trial: Trial, shapes: tuple[int, ...]) -> list[str]:
    drivers = {need.driver for shape in shapes for need in trial.shape(shape).volumes}
    return sorted(drivers & trial.attachments.free.keys()) if drivers else []


def _reachable(trial: Trial, need: VolumeNeed) -> Mask:
    nodes = trial.nodes
    mask = reachable_nodes(nodes, need.affinity).copy()
    for keys, values in need.places:
        inside = np.zeros(len(nodes.names), dtype=np.bool_)
        for key in keys:
            inside |= selected_by(nodes, Requirement(key, "In", values))
        mask &= inside
    if need.provisioned:
        return mask & provisionable_nodes(nodes, need.topologies)
    reached = np.zeros(len(nodes.names), dtype=np.bool_)
    for reachable, _ in _free_pools(trial, need.candidates):
        reached |= reachable
    return mask & reached


def _attach_room(trial: Trial, shapes: tuple[int, ...], driver: str) -> Room:
    """How many more volumes of a driver each node can attach, and how many a member brings.

    A shared volume is attached once per node: that is exact for a group of one shape, and where shapes differ
    it is counted for every member, which is too much at worst, never too little.
    """
    attachments, use = trial.attachments, []
    free = attachments.free[driver].copy()
    for shape in shapes:
        needs = [need for need in trial.shape(shape).volumes if need.driver == driver]
        use.append(sum(1 for need in needs if not need.handle or len(shapes) > 1))
        for need in needs if len(shapes) == 1 else ():
            if need.handle:
                attached = np.zeros(len(free), dtype=np.bool_)
                attached[list(attachments.attached.get((driver, need.handle), ()))] = True
                free -= ~attached
    return Room(free, tuple(use))


def _exclusive_quota(trial: Trial, claim: str, use: list[int]) -> Quota:
    free = 0 if claim in trial.attachments.claims_taken else 1
    everywhere: Codes = np.zeros(len(trial.nodes.names), dtype=np.int32)
    return Quota(everywhere, np.array([free], dtype=np.int64), tuple(use))


def _pool_quota(trial: Trial, pool: tuple[str, ...], use: list[int]) -> Quota:
    """Existing volumes, each counted for one set of nodes.

    Volumes reached from the same nodes form a domain. Where the sets overlap, a volume counts for the domain
    of its first node only: too few at worst, never too many.
    """
    codes: Codes = np.full(len(trial.nodes.names), -1, dtype=np.int32)
    limits: list[int] = []
    for reachable, free in _free_pools(trial, pool):
        rows = np.flatnonzero(reachable)
        known = codes[rows][codes[rows] >= 0]
        if len(rows) and not len(known):
            codes[rows] = len(limits)
            limits.append(free)
        elif len(known):
            limits[int(known.min())] += free
    return Quota(codes, np.array(limits or [0], dtype=np.int64), tuple(use))


def _free_pools(trial: Trial, names: tuple[str, ...]) -> Iterator[tuple[Mask, int]]:
    """Volumes that are still to be had: the nodes that can use them, and how many there are."""
    taken = trial.attachments.volumes_taken
    for pool in trial.attachments.pools(names):
        free = sum(name not in taken for name in pool.names) if taken else len(pool.names)
        if free:
            yield pool.reachable, free
