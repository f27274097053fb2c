"""Volumes as rules: nodes that can reach them, room to attach them, and volumes that serve one claim each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations

import numpy as np

from maitred.cluster.attachments import Pool, Pools, nodes_with_driver
from maitred.cluster.nodes import NODE_NAME, Codes, Ints, Mask, NodeView
from maitred.cluster.selection import placed_nodes, provisionable_nodes, reachable_nodes, selected_by
from maitred.cluster.trial import Trial
from maitred.cluster.volumes import VolumeNeed
from maitred.decide.rules import Company, Quota, Room
from maitred.model.selector import Requirement

PLENTY = 2**31
MOST_OVERLAPS = 6
FreePool = tuple[Pool, int]
"""Volumes that can be used from the same nodes, and how many of them are free."""


@dataclass(slots=True)
class StorageRules:
    """The part of the rules that comes from volumes."""

    masks: list[Mask | None]
    """Per shape of the group, the nodes that can reach all its volumes; None for a shape without any."""
    companies: list[tuple[Company, ...]]
    rooms: list[Room] = field(default_factory=list)
    quotas: list[Quota] = field(default_factory=list)


def storage_rules(trial: Trial, shapes: tuple[int, ...], others_may_help: bool) -> StorageRules:
    """`others_may_help`: take storage that is missing or unbound as something that may still come. Whoever
    asks so wants to prove that no place will ever do: what is estimated is estimated in the group's favour.

    They stay the same while nothing is mounted: whoever looks for victims asks for them again and again.
    """
    needs = [trial.shape(shape).volumes for shape in shapes]
    if not any(needs):
        return StorageRules([None] * len(shapes), [()] * len(shapes))
    known, key = trial.attachments.derived, ("storage rules", shapes, others_may_help)
    if key not in known:
        known[key] = _storage_rules(trial, needs, others_may_help)
    rules: StorageRules = known[key]
    return rules


def _storage_rules(trial: Trial, needs: list[tuple[VolumeNeed, ...]], others_may_help: bool) -> StorageRules:
    rules = StorageRules([None] * len(needs), [()] * len(needs))
    for position, volumes in enumerate(needs):
        if volumes:
            rules.masks[position] = _reachable_by_all(trial, volumes, others_may_help)
            tied = (_followers(trial, need, needs) for need in volumes if need.handle and need.unbound)
            rules.companies[position] = tuple(company for company in tied if company is not None)
    _limit_attachments(trial, needs, rules, others_may_help)
    rules.quotas += [_exclusive_quota(trial, claim, needs) for claim in _exclusive_claims(needs)]
    rules.quotas += list(_pool_quotas(trial, needs, others_may_help))
    return rules


# -- reach -------------------------------------------------------------------------------------------------


def _reachable_by_all(trial: Trial, needs: tuple[VolumeNeed, ...], others_may_help: bool) -> Mask:
    mask = trial.nodes.alive.copy()
    for need in needs:
        if not others_may_help:
            mask &= bool(not need.problem) & with_driver(trial, need)
        mask &= _reachable(trial, need)
    return mask


def with_driver(trial: Trial, need: VolumeNeed) -> Mask:
    """Nodes that have the driver of a volume, where the driver asks that pods keep away from the others."""
    known = trial.snapshot.storage.drivers.get(need.driver)
    if known is None or not known.spec.prevent_pod_scheduling_if_missing:
        return trial.nodes.alive
    return nodes_with_driver(trial.snapshot.storage, trial.nodes, need.driver, need.migrated)


def _reachable(trial: Trial, need: VolumeNeed) -> Mask:
    nodes = trial.nodes
    if need.unbound:
        chosen = trial.attachments.reach_of_chosen(need.handle) if need.handle else None
        reached = _provisionable(nodes, need).copy() if chosen is None else chosen.copy()
        if chosen is None:
            reached |= _with_free_volumes(trial, need)
        if need.selected_node:
            reached &= selected_by(nodes, Requirement("", "In", (need.selected_node,)), field=NODE_NAME)
        return reached
    return reachable_nodes(nodes, need.affinity) & placed_nodes(nodes, need.places)


def _with_free_volumes(trial: Trial, need: VolumeNeed) -> Mask:
    """Nodes that can use a volume which exists and is still to be had."""
    pools = trial.attachments.pools(need.candidates, placed=bool(need.handle))
    some = trial.attachments.free_in(pools) > 0
    reached: Mask = np.append(some, False)[pools.lone]
    for number in pools.overlapping:
        if some[number]:
            reached |= pools.each[number].reachable
    return reached


def _provisionable(nodes: NodeView, need: VolumeNeed) -> Mask:
    if not need.provisioned:
        return np.zeros(len(nodes.names), dtype=np.bool_)
    return nodes.derived(("made", need.topologies), lambda: provisionable_nodes(nodes, need.topologies))


def _followers(trial: Trial, need: VolumeNeed, needs: list[tuple[VolumeNeed, ...]]) -> Company | None:
    """Once one pod has a node chosen for a claim that is not bound, all who share the claim must follow.

    A volume that is made for the claim ties them to that node, one that exists to the nodes that reach it.
    """
    if need.provisioned:
        codes = trial.nodes.column(NODE_NAME).codes
    elif trial.attachments.reach_of_chosen(need.handle) is None:
        codes = _apart(trial, need.candidates)
    else:
        return None
    present = np.zeros(int(codes.max(initial=0)) + 2, dtype=np.bool_)
    present[codes[trial.attachments.followed.get(need.handle, [])]] = True
    present[-1] = False
    provided_by = tuple(any(other.handle == need.handle for other in volumes) for volumes in needs)
    return Company((codes,), (present,), bool(present.any()), provided_by, own=True)


def _apart(trial: Trial, names: tuple[str, ...]) -> Codes:
    """Nodes by the volume that serves them, widest reach first: whoever shares a claim shares its volume."""
    codes: Codes = np.full(len(trial.nodes.names), -1, dtype=np.int32)
    pools = trial.attachments.pools(names, placed=True)
    free = np.flatnonzero(trial.attachments.free_in(pools))
    for number, place in enumerate(reversed(free.tolist())):
        codes[pools.each[place].reachable & (codes < 0)] = number
    return codes


# -- amounts -----------------------------------------------------------------------------------------------


def _limit_attachments(
    trial: Trial, needs: list[tuple[VolumeNeed, ...]], rules: StorageRules, in_favour: bool
) -> None:
    drivers = {need.driver for volumes in needs for need in volumes}
    for driver in sorted(drivers & trial.attachments.free.keys()):
        room, nothing_new = _attach_room(trial, driver, needs, in_favour)
        rules.rooms.append(room)
        for volumes, mask, use in zip(needs, rules.masks, room.use, strict=True):
            if mask is not None and any(need.driver == driver for need in volumes):
                mask &= (room.free >= 0) | (nothing_new if not use else False)


def _attach_room(
    trial: Trial, driver: str, needs: list[tuple[VolumeNeed, ...]], in_favour: bool
) -> tuple[Room, Mask]:
    """How many more volumes of a driver each node can attach, and how many a member brings; and the nodes to
    which all that the members share is attached already, so that a full node need not turn them away.

    A volume that all members share is attached once per node and taken off beforehand. One that only some
    share is counted for each of them: too much at worst, never too little. `in_favour`: not at all.
    """
    attachments, free = trial.attachments, trial.attachments.free[driver].copy()
    mounted = [[need for need in volumes if need.driver == driver] for volumes in needs]
    handles = [{need.handle for need in volumes if need.handle} for volumes in mounted if volumes]
    common, nothing_new = set.intersection(*handles), np.ones(len(free), dtype=np.bool_)
    for handle in common:
        there = np.zeros(len(free), dtype=np.bool_)
        there[list(attachments.attached.get((driver, handle), ()))] = True
        free -= ~there
        nothing_new &= there
    own = [sum(not need.handle for need in volumes) for volumes in mounted]
    named = [len({need.handle for need in volumes if need.handle} - common) for volumes in mounted]
    if in_favour:
        named = [0] * len(named)
    return Room(free, tuple(map(sum, zip(own, named, strict=True)))), nothing_new


def _exclusive_claims(needs: list[tuple[VolumeNeed, ...]]) -> list[str]:
    return sorted({need.exclusive for volumes in needs for need in volumes if need.exclusive})


def _exclusive_quota(trial: Trial, claim: str, needs: list[tuple[VolumeNeed, ...]]) -> Quota:
    free = 0 if claim in trial.attachments.claims_taken else 1
    everywhere: Codes = np.zeros(len(trial.nodes.names), dtype=np.int32)
    use = tuple(int(any(need.exclusive == claim for need in volumes)) for volumes in needs)
    return Quota(everywhere, np.array([free], dtype=np.int64), use)


def _pool_quotas(trial: Trial, needs: list[tuple[VolumeNeed, ...]], in_favour: bool) -> Iterator[Quota]:
    """Each volume that exists serves one claim, so it is counted for one kind of need only."""
    limited = {need for volumes in needs for need in volumes if need.candidates and not need.handle}
    counted: set[str] = set()
    for need in sorted(limited, key=lambda need: (len(need.candidates), need.candidates)):
        names = tuple(name for name in need.candidates if name not in counted)
        counted.update(names)
        use = tuple(volumes.count(need) for volumes in needs)
        open_ended = _provisionable(trial.nodes, need)
        pools = trial.attachments.pools(names)
        free = trial.attachments.free_in(pools)
        overlapping = [(pools.each[place], int(free[place])) for place in pools.overlapping if free[place]]
        for inside, limit in _enough_for(overlapping, open_ended, in_favour):
            codes: Codes = np.where(inside, 0, 1).astype(np.int32)
            yield Quota(codes, np.array([limit, PLENTY], dtype=np.int64), use)
        codes, limits = _own_volumes(pools, free, open_ended)
        if len(limits) > 1:
            yield Quota(codes, limits, use)


def _own_volumes(pools: Pools, free: Ints, open_ended: Mask) -> tuple[Codes, Ints]:
    """Volumes whose reach no other volume's overlaps: each set of nodes is a domain with so many of them."""
    counted = free > 0
    counted[list(pools.overlapping)] = False
    domains = np.append(np.where(counted, np.cumsum(counted), 0), 0)
    codes: Codes = np.where(open_ended, 0, domains[pools.lone]).astype(np.int32)
    return codes, np.concatenate(([PLENTY], free[counted]))


def _enough_for(overlapping: list[FreePool], open_ended: Mask, in_favour: bool) -> Iterator[tuple[Mask, int]]:
    """Sets of nodes, and how many volumes are within reach of any of them, where reaches overlap.

    With one limit for every choice of volumes, on the nodes that reach no others, there is a volume for each.
    Of more kinds of reach than can be chosen from, those of most nodes are not used: too few, never too many.
    `in_favour`: their nodes are not limited at all.
    """
    mixed, unused = overlapping[:MOST_OVERLAPS], overlapping[MOST_OVERLAPS:]
    if unused:
        outside = np.logical_or.reduce([pool.reachable for pool, _ in unused]) & ~open_ended
        if in_favour:
            open_ended = open_ended | outside
        else:
            yield outside & ~np.logical_or.reduce([pool.reachable for pool, _ in mixed]), 0
    for chosen in chain.from_iterable(combinations(mixed, size) for size in range(1, len(mixed) + 1)):
        inside = np.logical_or.reduce([pool.reachable for pool, _ in chosen]) & ~open_ended
        for pool, _ in mixed:
            if not any(pool is other for other, _ in chosen):
                inside &= ~pool.reachable
        yield inside, sum(free for _, free in chosen)
