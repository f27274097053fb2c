"""From what was seen of a cluster to the answer of an audit."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
import numpy as np

from maitred.cluster.devices.counted import held_devices
from maitred.cluster.leaving import lost_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState, Put
from maitred.decide import decide
from maitred.decide.context import Context
from maitred.decide.levels import known_levels
from maitred.explain.audit.answer import Audit, GroupKind, HeldDevices, HeldGang, Never
from maitred.explain.audit.costs import costs_of
from maitred.explain.audit.gangs import FoundGroup, found_groups, without_lost
from maitred.explain.audit.holding import holding, merged, total
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.stranded import StrandedDevices
from maitred.explain.empty import blocker_on_empty_cluster
from maitred.model.devices.slices import ResourceSlice
from maitred.model.kinds import Kind
from maitred.model.node import Node
from maitred.model.owner_chain import climb, row_of_owner
from maitred.model.policy import Policy, Preemption, at_mean_prices
from maitred.model.tariff import DAY
from maitred.model.words import counted, moment

STARTING_SECONDS = 300.0
"""A gang that came no longer ago than this is starting."""
MOST_WORST = 10
HOUR = 3600.0
LONE = "Pod"


def audit(observer: Observer, now: datetime) -> Audit:
    """A pure function of what was seen, and of the time."""
    snapshot, uncounted = snapshot_of(observer)
    note_claims(observer, snapshot)
    lost = {snapshot.nodes.names[row] for row in np.flatnonzero(lost_nodes(snapshot)).tolist()}
    found = [without_lost(found_group, lost) for found_group in found_groups(observer)]
    gangs = [
        HoldingGang(found_group, observer, now.timestamp()) for found_group in found if found_group.is_gang
    ]
    policy, at = observer.policy, round(now.timestamp() * 1000)
    survey = StrandedDevices(snapshot, policy)
    stranded = tuple(node for resource in survey.resources for node in survey.stranded(resource, policy))
    half = [case for case in gangs if case.is_half_started]
    vain = merged(case.holding.devices for case in half)
    levels = known_levels(policy, snapshot)
    return Audit(
        at=moment(int(now.timestamp())),
        watched_seconds=None if observer.watched_since is None else now.timestamp() - observer.watched_since,
        nodes=int(snapshot.nodes.alive.sum()),
        pods=sum(not stay.over for stay in observer.present.values()),
        groups=kinds_of(found),
        half_started=in_order(half),
        starting=in_order(case for case in gangs if case.is_starting),
        held=held_by(gangs, observer),
        devices=tuple(survey.summary(name, levels, stranded, vain) for name in survey.resources),
        unwell=tuple(survey.unwell()),
        stranded=stranded,
        never=tuple(never_of(snapshot, policy, now, found)),
        currency=policy.prices.currency if policy.prices.devices else "",
        costs=costs_of(at_mean_prices(policy, at, at + DAY), snapshot, vain, stranded, survey),
        warnings=(*uncounted, *warnings_of(observer)),
    )


def note_claims(observer: Observer, snapshot: Snapshot) -> None:
    """Pods hold what their claims have by now; since when, is when they were bound."""
    for place, kinds in held_devices(snapshot).items():
        stay = observer.present.get(snapshot.bound.occupants[place].key)
        if stay is not None:
            by_driver = Counter[str]()
            for kind, count in kinds.items():
                by_driver[kind.driver] += count
            stay.devices.update(by_driver)


class HoldingGang:
    """A gang, and what it held."""

    def __init__(self, found_group: FoundGroup, observer: Observer, now: float) -> None:
        self.found_group, self.now = found_group, now
        self.begin = begin_of(found_group) if observer.watched_since is None else observer.watched_since
        self.holding = holding(found_group, self.begin, now, observer.watched_since)

    @property
    def lasted(self) -> float | None:
        return None if self.holding.since is None else self.now - self.holding.since

    @property
    def is_half_started(self) -> bool:
        return self.lasted is not None and self.lasted >= STARTING_SECONDS

    @property
    def is_starting(self) -> bool:
        return self.lasted is not None and self.lasted < STARTING_SECONDS

    @property
    def record(self) -> HeldGang:
        found, since = self.holding, self.holding.since
        return HeldGang(
            group=self.found_group.key,
            by=self.found_group.by,
            quorum=self.found_group.quorum or 1,
            members=found.members,
            seated=found.seated,
            since=None if since is None else moment(int(since)),
            seconds=found.seconds if self.lasted is None else self.lasted,
            devices=total(found.devices),
            incomplete_device_hours=total(found.incomplete) / HOUR,
            starting_device_hours=total(found.starting) / HOUR,
        )


def begin_of(found_group: FoundGroup) -> float:
    return min(stay.created for stay in found_group.stays)


def in_order(cases: Iterable[HoldingGang]) -> tuple[HeldGang, ...]:
    """Those first that hold most."""
    found = [case.record for case in cases]
    return tuple(sorted(found, key=lambda gang: (-gang.devices, -gang.seconds, gang.group)))


def held_by(gangs: Sequence[HoldingGang], observer: Observer) -> HeldDevices | None:
    if not gangs:
        return None
    since = observer.watched_since
    worst = [case.record for case in gangs if case.holding.seconds >= STARTING_SECONDS]
    worst.sort(key=lambda gang: (-gang.incomplete_device_hours, gang.group))
    return HeldDevices(
        since=moment(int(min(case.begin for case in gangs) if since is None else since)),
        watched=since is not None,
        incomplete_device_hours=sum(total(case.holding.incomplete) for case in gangs) / HOUR,
        starting_device_hours=sum(total(case.holding.starting) for case in gangs) / HOUR,
        gangs=len(worst),
        worst=tuple(gang for gang in worst if gang.incomplete_device_hours)[:MOST_WORST],
    )


def kinds_of(found: Iterable[FoundGroup]) -> tuple[GroupKind, ...]:
    by_kind = defaultdict[str, list[FoundGroup]](list)
    for found_group in found:
        by_kind[found_group.by].append(found_group)
    return tuple(
        GroupKind(by, len(theirs), sum(p.is_gang for p in theirs), sum(p.quorum is None for p in theirs))
        for by, theirs in sorted(by_kind.items())
    )


# -- what can never fit ------------------------------------------------------------------------------------


def snapshot_of(observer: Observer) -> tuple[Snapshot, list[str]]:
    """The cluster as decisions see it; and warnings of objects whose amounts no cluster has."""
    state, uncounted = ClusterState(), list[str]()
    for item in (*observer.objects(), *(stay.pod for stay in observer.present.values())):
        try:
            state.apply(Put(item))
        except ValueError as problem:
            uncounted.append(f"{type(item).__name__} {item.metadata.name} is not counted: {problem}")
    return state.snapshot(), uncounted


def never_of(
    snapshot: Snapshot, policy: Policy, now: datetime, found: Iterable[FoundGroup]
) -> Iterable[Never]:
    """What is in the way is told of the cluster with nothing on it, on which it was proven; who may take
    whose place has no say there."""
    if not snapshot.nodes.alive.any():
        return
    by_key = {found_group.key: found_group for found_group in found}
    alone = msgspec.structs.replace(policy, preemption=Preemption("never"))
    context = Context(alone, known_levels(alone, snapshot))
    for view, verdict in zip(snapshot.groups, decide(snapshot, alone, now).decisions, strict=True):
        if verdict.verdict != "Impossible":
            continue
        found_group = by_key.get(verdict.group)
        first = blocker_on_empty_cluster(snapshot, context, view)
        yield Never(
            group=verdict.group if found_group is None else found_group.key,
            by=LONE if found_group is None else found_group.by,
            members=verdict.members,
            category=first.category,
            message=first.message,
        )


def warnings_of(observer: Observer) -> Iterable[str]:
    stays = observer.present.values()
    if next(observer.every(Node), None) is None:
        yield "there are no nodes; kubectl get nodes,pods,jobs -A -o json writes what an audit reads"
    if not stays:
        yield "there are no pods"
    yield from missing_owners(observer)
    claims = sum(bool(stay.pod.spec.resource_claims) for stay in stays)
    if claims and next(observer.every(ResourceSlice), None) is None:
        yield (
            f"{counted(claims, 'pod')} ask for devices by claims, which are not counted: there are no "
            f"resourceslices; add resourceslices,resourceclaims,deviceclasses to the dump"
        )
    if observer.forgotten:
        yield f"{counted(observer.forgotten, 'deleted pod')} are not counted: there were too many to remember"


def missing_owners(observer: Observer) -> Iterable[str]:
    """Owners of pods that are not in the dump, so that nobody knows how their pods belong together."""
    words = {stay.said for stay in observer.present.values()}
    chains = (climb(said.namespace, said.owner, observer) for said in words)
    missing = defaultdict[Kind, set[str]](set)
    for said, chain in zip(words, chains, strict=True):
        row = None if chain.unseen is None else row_of_owner(chain.unseen)
        if chain.unseen is not None and row is not None:
            missing[row].add(f"{said.namespace}/{chain.unseen.name}")
    for row in sorted(missing, key=lambda row: row.title):
        keys = sorted(missing[row])
        yield (
            f"{counted(len(keys), row.name)} that pods belong to {'is' if len(keys) == 1 else 'are'} "
            f"not in the dump, such as {keys[0]}, so it is not known whether these are gangs; add "
            f"{row.plural} to the dump"
        )
