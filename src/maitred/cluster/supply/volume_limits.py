"""How many pods with volumes fit: nodes that reach them, room to attach them, volumes to give out."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from maitred.cluster.load import Load
from maitred.cluster.nodes import NODE_NAME, Codes, Ints, Mask
from maitred.cluster.selection import placed_nodes, reachable_nodes, selected_by
from maitred.cluster.supply.attachments import Attachments, Pool, Pools, made_at, nodes_with_driver
from maitred.cluster.supply.fit import Company, Fit, Quota, Room
from maitred.cluster.volumes import VolumeNeed
from maitred.model.selector import Requirement

PLENTY = 2**31
MOST_OVERLAPS = 6
MOST_KINDS = 4
FreePool = tuple[Pool, int]
"""Volumes that can be used from the same nodes, and how many of them are free."""
Needs = Sequence[tuple[VolumeNeed, ...]]
"""The volumes of each shape."""


class VolumeLimits:
    """Looks at the volumes of a load as they are now; `in_favour` of the pods, where something is estimated,
    and of storage that is missing or unbound as of something that may still come."""

    def __init__(self, load: Load, attachments: Attachments, in_favour: bool) -> None:
        self._storage, self._nodes = load.snapshot.storage, load.nodes
        self._attachments, self._in_favour = attachments, in_favour

    def fit(self, needs: Needs) -> Fit:
        fit = Fit.without_limits(len(needs))
        for position, volumes in enumerate(needs):
            if volumes:
                fit.masks[position] = self._reachable_by_all(volumes)
                tied = (self._followers(need, needs) for need in volumes if need.handle and need.unbound)
                fit.companies[position] = tuple(company for company in tied if company is not None)
        self._limit_attachments(needs, fit)
        fit.quotas += [self._exclusive_quota(claim, needs) for claim in _exclusive_claims(needs)]
        fit.quotas += list(self._pool_quotas(needs))
        fit.sure = self._in_favour or not self._is_mixed(needs)
        return fit

    # -- reach -----------------------------------------------------------------------------------------

    def _reachable_by_all(self, needs: tuple[VolumeNeed, ...]) -> Mask:
        mask = self._nodes.alive.copy()
        for need in needs:
            if not self._in_favour:
                mask &= bool(not need.problem) & self.with_driver(need)
            mask &= self._reachable(need)
        for rivals in _choices(self._undecided(needs)):
            mask &= self._one_for_each(rivals)
        return mask

    def _undecided(self, needs: Sequence[VolumeNeed]) -> list[VolumeNeed]:
        """Those that are yet to be given one of several volumes."""
        return [need for need in needs if need.candidates and need.handle not in self._attachments.shared]

    def _one_for_each(self, rivals: tuple[VolumeNeed, ...]) -> Mask:
        """Nodes on which each of these claims of one pod can have another volume."""
        pools = self._attachments.pools(tuple(dict.fromkeys(n for need in rivals for n in need.candidates)))
        free = self._attachments.free_in(pools)
        within_reach: Ints = np.append(free, 0)[pools.lone]
        for number in pools.overlapping:
            within_reach += free[number] * pools.each[number].reachable
        made = np.logical_or.reduce([made_at(self._nodes, need) for need in rivals])
        enough: Mask = made | (within_reach >= len(rivals))
        return enough

    def with_driver(self, need: VolumeNeed) -> Mask:
        """Nodes that have the driver of a volume, where the driver keeps pods away from the others."""
        known = self._storage.drivers.get(need.driver)
        if known is None or not known.spec.prevent_pod_scheduling_if_missing:
            return self._nodes.alive
        return nodes_with_driver(self._storage, self._nodes, need.driver, need.migrated)

    def _reachable(self, need: VolumeNeed) -> Mask:
        nodes = self._nodes
        if need.unbound:
            chosen = self._attachments.reach_of_shared(need.handle) if need.handle else None
            reached = made_at(nodes, need).copy() if chosen is None else chosen.copy()
            if chosen is None:
                reached |= self._with_free_volumes(need)
            if need.selected_node:
                reached &= selected_by(nodes, Requirement("", "In", (need.selected_node,)), field=NODE_NAME)
            return reached
        return reachable_nodes(nodes, need.affinity) & placed_nodes(nodes, need.places)

    def _with_free_volumes(self, need: VolumeNeed) -> Mask:
        """Nodes that can use a volume which exists and is still to be had."""
        pools = self._attachments.pools(need.candidates, placed=bool(need.handle))
        some = self._attachments.free_in(pools) > 0
        reached: Mask = np.append(some, False)[pools.lone]
        for number in pools.overlapping:
            if some[number]:
                reached |= pools.each[number].reachable
        return reached

    def _followers(self, need: VolumeNeed, needs: Needs) -> Company | None:
        """Once one pod has a node chosen for a claim that is not bound, all who share the claim must follow.

        A volume that is made for the claim ties them to that node, one that exists to the nodes that reach
        it.
        """
        if self._in_favour and self._is_open(need):
            return None
        if self._attachments.reach_of_shared(need.handle) is not None:
            return None
        alone, followed = self._nodes.column(NODE_NAME).codes, self._attachments.followed.get(need.handle, [])
        if need.provisioned and (followed or not need.candidates):
            codes = alone
        else:
            rivals = {one for volumes in needs for one in self._undecided(volumes) if one.handle}
            codes = self._apart(need.candidates, 0 if self._in_favour else len(rivals))
            if need.provisioned:
                codes = np.where(codes < 0, len(need.candidates) + len(alone) + alone, codes)
        present = np.zeros(int(codes.max(initial=0)) + 2, dtype=np.bool_)
        present[codes[followed]] = True
        present[-1] = False
        provided_by = tuple(any(other.handle == need.handle for other in volumes) for volumes in needs)
        return Company((codes,), (present,), bool(present.any()), provided_by, own=True)

    def _is_open(self, need: VolumeNeed) -> bool:
        """Whether it is not said yet which volume a claim gets, and with it which nodes are out of reach."""
        pools = self._attachments.pools(need.candidates, placed=True)
        return bool(pools.overlapping or (pools.each and need.provisioned))

    def _apart(self, names: tuple[str, ...], claims: int) -> Codes:
        """Nodes by the volumes that serve them, widest reach first: whoever shares a claim shares its volume.

        Where there are too few of one reach for all the claims that are shared, a node is by itself.
        """
        alone = self._nodes.column(NODE_NAME).codes
        codes: Codes = np.full(len(self._nodes.names), -1, dtype=np.int32)
        pools = self._attachments.pools(names, placed=True)
        free = self._attachments.free_in(pools)
        for number, place in enumerate(reversed(np.flatnonzero(free).tolist())):
            some = pools.each[place].reachable & (codes < 0)
            codes[some] = number if free[place] >= claims else len(free) + alone[some]
        return codes

    # -- amounts ---------------------------------------------------------------------------------------

    def _limit_attachments(self, needs: Needs, fit: Fit) -> None:
        drivers = {need.driver for volumes in needs for need in volumes}
        for driver in sorted(drivers & self._attachments.free.keys()):
            room, nothing_new = self._attach_room(driver, needs)
            fit.rooms.append(room)
            for volumes, mask, use in zip(needs, fit.masks, room.use, strict=True):
                if mask is not None and any(need.driver == driver for need in volumes):
                    mask &= (room.free >= 0) | (nothing_new if not use else False)
        for position in range(len(needs)):
            enough = [room.free // room.use[position] for room in fit.rooms if room.use[position]]
            if enough:
                fit.copies[position] = np.maximum(np.minimum.reduce(enough), 0)

    def _attach_room(self, driver: str, needs: Needs) -> tuple[Room, Mask]:
        """How many more volumes of a driver each node can attach, and how many a member brings; and the nodes
        to which all that the members share is attached already, so that a full node need not turn them away.

        A volume that all members share is attached once per node and taken off beforehand. One that only some
        share is counted for each of them: too much at worst, never too little; or, in favour, not at all.
        """
        free = self._attachments.free[driver].copy()
        mounted = [[need for need in volumes if need.driver == driver] for volumes in needs]
        handles = [{need.handle for need in volumes if need.handle} for volumes in mounted if volumes]
        common, nothing_new = set.intersection(*handles), np.ones(len(free), dtype=np.bool_)
        for handle in common:
            there = np.zeros(len(free), dtype=np.bool_)
            there[list(self._attachments.attached.get((driver, handle), ()))] = True
            free -= ~there
            nothing_new &= there
        own = [sum(not need.handle for need in volumes) for volumes in mounted]
        named = [len({need.handle for need in volumes if need.handle} - common) for volumes in mounted]
        if self._in_favour:
            named = [0] * len(named)
        return Room(free, tuple(map(sum, zip(own, named, strict=True)))), nothing_new

    def _exclusive_quota(self, claim: str, needs: Needs) -> Quota:
        free = 0 if claim in self._attachments.claims_taken else 1
        everywhere: Codes = np.zeros(len(self._nodes.names), dtype=np.int32)
        use = tuple(int(any(need.exclusive == claim for need in volumes)) for volumes in needs)
        return Quota(everywhere, np.array([free], dtype=np.int64), use)

    def _is_mixed(self, needs: Needs) -> bool:
        """Whether claims compete for volumes in a way that limits do not tell. Each limit is for some kinds
        of claims on some nodes, so where reaches overlap, those of one kind here and of another there may be
        too many all the same. A claim that is shared competes with the others, and is in no limit."""
        rivals = {need for volumes in needs for need in self._undecided(volumes)}
        names = tuple(sorted({name for need in rivals for name in need.candidates}))
        is_shared = any(need.handle for need in rivals)
        return len(rivals) > 1 and (is_shared or bool(self._attachments.pools(names).overlapping))

    def _pool_quotas(self, needs: Needs) -> Iterator[Quota]:
        """Each volume that exists serves one claim: needs of several kinds that could have the same ones have
        to share them, so there is a limit for every choice of kinds."""
        kinds = sorted(
            {need for volumes in needs for need in volumes if need.candidates and not need.handle},
            key=lambda need: (len(need.candidates), need.candidates),
        )
        for chosen in (*((need,) for need in kinds), *_choices(kinds)):
            names = tuple(dict.fromkeys(name for need in chosen for name in need.candidates))
            use = tuple(sum(map(volumes.count, chosen)) for volumes in needs)
            open_ended = np.logical_or.reduce([made_at(self._nodes, need) for need in chosen])
            pools = self._attachments.pools(names)
            free = self._attachments.free_in(pools)
            shared = [(pools.each[place], int(free[place])) for place in pools.overlapping if free[place]]
            for inside, limit in _enough_for(shared, open_ended, self._in_favour):
                codes: Codes = np.where(inside, 0, 1).astype(np.int32)
                yield Quota(codes, np.array([limit, PLENTY], dtype=np.int64), use)
            codes, limits = _own_volumes(pools, free, open_ended)
            if len(limits) > 1:
                yield Quota(codes, limits, use)


def _choices(kinds: list[VolumeNeed]) -> Iterator[tuple[VolumeNeed, ...]]:
    """Every choice of several kinds that compete for volumes; of many kinds, those with fewest candidates."""
    few = kinds[:MOST_KINDS]
    for chosen in chain.from_iterable(combinations(few, size) for size in range(2, len(few) + 1)):
        if all(any(set(a.candidates) & set(b.candidates) for b in chosen if b is not a) for a in chosen):
            yield chosen
    if len(kinds) > len(few):
        yield from (tuple(kinds[:count]) for count in range(len(few) + 1, len(kinds) + 1))


def _exclusive_claims(needs: Needs) -> list[str]:
    return sorted({need.exclusive for volumes in needs for need in volumes if need.exclusive})


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
