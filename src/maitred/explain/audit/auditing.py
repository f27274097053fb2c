"""From what was seen of a cluster to the answer of an audit."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState, Put
from maitred.decide import decide
from maitred.decide.house import House
from maitred.decide.levels import known_levels
from maitred.explain.audit.answer import Audit, Held, HeldGang, Kind, Never
from maitred.explain.audit.costs import costs_of
from maitred.explain.audit.gangs import Party, parties
from maitred.explain.audit.holding import holding, merged, total
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.room import Survey
from maitred.explain.audit.stays import Stay
from maitred.explain.empty import blocker_on_empty_cluster
from maitred.model.group import GROUP, MIN_COUNT
from maitred.model.job import Job
from maitred.model.membership import JOB, is_decided, membership_of
from maitred.model.node import Node
from maitred.model.pod import Pod
from maitred.model.policy import Policy, Preemption
from maitred.model.words import counted, moment

STARTING_SECONDS = 300.0
"""A gang that came no longer ago than this is starting."""
MOST_WORST = 10
HOUR = 3600.0
LONE = "Pod"


def audit(observer: Observer, now: datetime) -> Audit:
    """A pure function of what was seen, and of the time."""
    found = list(parties(observer))
    gangs = [Case(party, observer, now.timestamp()) for party in found if party.is_gang]
    snapshot, uncounted = snapshot_of(observer, found)
    policy = observer.policy
    survey = Survey(snapshot, policy)
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
        stranded=stranded,
        never=tuple(never_of(snapshot, policy, now, found)),
        currency=policy.prices.currency if policy.prices.devices else "",
        costs=costs_of(policy, snapshot, vain, stranded, survey),
        warnings=(*uncounted, *warnings_of(observer)),
    )


class Case:
    """A gang, and what it held."""

    def __init__(self, party: Party, observer: Observer, now: float) -> None:
        self.party, self.now = party, now
        self.begin = begin_of(party) if observer.watched_since is None else observer.watched_since
        self.holding = holding(party, self.begin, now, observer.watched_since)

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
            group=self.party.key,
            by=self.party.by,
            quorum=self.party.quorum or 1,
            members=found.members,
            seated=found.seated,
            since=None if since is None else moment(int(since)),
            seconds=found.seconds if self.lasted is None else self.lasted,
            devices=total(found.devices),
            incomplete_device_hours=total(found.incomplete) / HOUR,
            starting_device_hours=total(found.starting) / HOUR,
        )


def begin_of(party: Party) -> float:
    return min(stay.created for stay in party.stays)


def in_order(cases: Iterable[Case]) -> tuple[HeldGang, ...]:
    """Those first that hold most."""
    found = [case.record for case in cases]
    return tuple(sorted(found, key=lambda gang: (-gang.devices, -gang.seconds, gang.group)))


def held_by(gangs: Sequence[Case], observer: Observer) -> Held | None:
    if not gangs:
        return None
    since = observer.watched_since
    worst = [case.record for case in gangs if case.holding.seconds >= STARTING_SECONDS]
    worst.sort(key=lambda gang: (-gang.incomplete_device_hours, gang.group))
    return Held(
        since=moment(int(min(case.begin for case in gangs) if since is None else since)),
        watched=since is not None,
        incomplete_device_hours=sum(total(case.holding.incomplete) for case in gangs) / HOUR,
        starting_device_hours=sum(total(case.holding.starting) for case in gangs) / HOUR,
        gangs=len(worst),
        worst=tuple(gang for gang in worst if gang.incomplete_device_hours)[:MOST_WORST],
    )


def kinds_of(found: Iterable[Party]) -> tuple[Kind, ...]:
    by_kind = defaultdict[str, list[Party]](list)
    for party in found:
        by_kind[party.by].append(party)
    return tuple(
        Kind(by, len(theirs), sum(p.is_gang for p in theirs), sum(p.quorum is None for p in theirs))
        for by, theirs in sorted(by_kind.items())
    )


# -- what can never fit ------------------------------------------------------------------------------------


def snapshot_of(observer: Observer, found: Iterable[Party]) -> tuple[Snapshot, list[str]]:
    """The cluster as decisions see it, with the gangs that conventions make as groups of ours; and warnings
    of objects whose amounts no cluster has."""
    state, gang_of, uncounted = ClusterState(), dict[int, Party](), list[str]()
    for party in found:
        if party.is_gang and not is_decided(party.id):
            gang_of.update({id(stay): party for stay in party.stays})
    pods = (marked(stay, gang_of.get(id(stay))) for stay in observer.present.values())
    for item in (*observer.objects(), *pods):
        try:
            state.apply(Put(item))
        except ValueError as problem:
            uncounted.append(f"{type(item).__name__} {item.metadata.name} is not counted: {problem}")
    return state.snapshot(), uncounted


def marked(stay: Stay, gang: Party | None) -> Pod:
    pod: Pod = stay.pod
    if gang is None or membership_of(pod) is not None:
        return pod
    marks = {GROUP: name_of(gang), MIN_COUNT: str(gang.quorum)}
    about = msgspec.structs.replace(pod.metadata, annotations={**pod.metadata.annotations, **marks})
    return msgspec.structs.replace(pod, metadata=about)


def name_of(gang: Party) -> str:
    """No group that was declared can be called so."""
    return f"{gang.by}: {gang.key.partition('/')[2]}"


def never_of(snapshot: Snapshot, policy: Policy, now: datetime, found: Iterable[Party]) -> Iterable[Never]:
    """What is in the way is told of the cluster with nothing on it, on which it was proven; who may take
    whose place has no say there."""
    if not snapshot.nodes.alive.any():
        return
    inferred = {f"{party.key.partition('/')[0]}/{name_of(party)}": party for party in found}
    declared = {party.key: party for party in found if is_decided(party.id)}
    alone = msgspec.structs.replace(policy, preemption=Preemption("never"))
    house = House(alone, known_levels(alone, snapshot))
    for view, verdict in zip(snapshot.groups, decide(snapshot, alone, now).groups, strict=True):
        if verdict.verdict != "Impossible":
            continue
        party = inferred.get(verdict.group) or declared.get(verdict.group)
        first = blocker_on_empty_cluster(snapshot, house, view)
        yield Never(
            group=verdict.group if party is None else party.key,
            by=LONE if party is None else party.by,
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
    found = (stay.membership for stay in stays)
    jobs = {one.key for one in found if one is not None and one.source == JOB}
    missing = sorted(key for key in jobs if observer.find(Job, key) is None)
    if missing:
        yield (
            f"{counted(len(missing), 'Job')} that pods belong to {'is' if len(missing) == 1 else 'are'} "
            f"not in the dump, such as {missing[0]}, so it is not known whether these are gangs; add "
            f"jobs to the dump"
        )
    claims = sum(bool(stay.pod.spec.resource_claims) for stay in stays)
    if claims:
        yield f"{counted(claims, 'pod')} ask for devices by claims, which are not counted"
    if observer.forgotten:
        yield f"{counted(observer.forgotten, 'deleted pod')} are not counted: there were too many to remember"
