"""What `kubectl get -o json` wrote: nodes as they are, and groups of pods as jobs that arrive anew."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeVar

import msgspec

from maitred.model.group import MIN_COUNT, Group, PodGroup, group_from_pod_group, stated_priority
from maitred.model.kinds import row_of
from maitred.model.manifest import InputError, Reader, documents
from maitred.model.membership import ALONE, POD_GROUP, GroupId, group_of, named_group, said_by, settle
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.objects import Namespace, Object
from maitred.model.pod import Affinity, Pod, PodSpec, is_node_bound
from maitred.model.policy import Policy, Workloads, is_device
from maitred.model.priority import PriorityClass, rank_of
from maitred.model.queues import DEFAULT_QUEUE, Payer, named_queue
from maitred.model.requests import pod_requests
from maitred.model.world import MOST_NODES
from maitred.simulate.jobs import Crew
from maitred.simulate.traces.pod_lives import (
    FOREVER,
    PodLife,
    at_their_most,
    lasted,
    longest,
    stay_of,
    time_together,
)
from maitred.simulate.traces.rows import unpacked
from maitred.simulate.traces.traced import Traced, TraceReading, pod_name

Gangs = Literal["declared", "owners"]
"""Which pods are one job: those that name one group, or also those that one Job or the like controls."""
T = TypeVar("T", bound=Object)
AS_WRITTEN = Workloads(jobs="as-written", owners="as-written")
OWNER = "owner"
"""Instead of a source of membership: whatever kind the owner is of, a trace was told to take its pods so."""

TOO_FEW = "groups have fewer pods than their quorum; the quorum is set to all of their pods"
UNSAID = (
    f"groups have a quorum of 1: no pod has {MIN_COUNT} and there is no PodGroup; set quorum if it is more"
)
ALL_ALONE = "every job is a single pod; with gangs: owners, all pods of one owner, such as a Job, are one job"


def read_nodes(data: bytes, source: str) -> tuple[Node, ...]:
    reader = Reader()
    reader.read(unpacked(data, source), source)
    nodes = tuple(found for found in reader.objects if isinstance(found, Node))
    if len(nodes) > MOST_NODES:
        raise InputError(source, "", "", f"{len(nodes)} nodes; at most {MOST_NODES} are simulated")
    return nodes


def read_groups(
    data: bytes, source: str, gangs: Gangs = "declared", quorum: int | None = None
) -> TraceReading:
    """The jobs of all pods but those that belong to their nodes. `quorum` is that of each of them."""
    reader, stays, changed = Reader(), list[PodLife](), Counter[str]()
    for document in documents(unpacked(data, source), source):
        found = reader.take(document)
        if not isinstance(found, Pod):
            continue
        if is_node_bound(found.metadata):
            changed["pods belong to their nodes (DaemonSet or static pods) and were left out"] += 1
        else:
            stays.append(stay_of(found, document))
    return reading_of(stays, OtherObjects(reader.objects), gangs, quorum, changed, reader.warnings(), source)


def reading_of(
    stays: Iterable[PodLife],
    objects: "OtherObjects",
    gangs: Gangs,
    quorum: int | None,
    changed: Counter[str],
    told: Iterable[str],
    source: str,
) -> TraceReading:
    """The jobs that pods were, with what was `changed` for it and what was `told` of the file already."""
    groups = defaultdict[GroupId, list[PodLife]](list)
    for stay in stays:
        groups[group_in(stay, gangs)].append(stay)
    jobs = list(jobs_of(groups, objects, quorum, changed))
    warnings = [*told, *(f"{count} {what}" for what, count in changed.items() if count)]
    if jobs and gangs == "declared" and not any(map(is_gang, jobs)):
        warnings.append(ALL_ALONE)
    return TraceReading(jobs, tuple(f"{source}: {warning}" for warning in warnings))


def is_gang(job: Traced) -> bool:
    return sum(crew.count for crew in job.crews) > 1


def group_in(stay: PodLife, gangs: Gangs) -> GroupId:
    """A pod without a group is a job by itself."""
    about, owner = stay.pod.metadata, stay.owner
    if found := named_group(said_by(stay.pod)):
        return found
    if owner is not None and gangs == "owners":
        key = f"{about.namespace or 'default'}/{owner.name}"
        return GroupId(OWNER, key, f"{owner.kind} {owner.uid}")
    return GroupId(ALONE, key_of(about))


class OtherObjects:
    """What there is beside pods."""

    def __init__(self, objects: Collection[Object]) -> None:
        self.groups = {key_of(g.metadata): g for g in objects if isinstance(g, PodGroup)}
        self.namespaces = {n.metadata.name: n.metadata.labels for n in objects if isinstance(n, Namespace)}
        self._known = {(row_of(type(one)).type, key_of(one.metadata)): one for one in objects}
        self.classes: Mapping[str, PriorityClass] = {
            c.metadata.name: c for c in objects if isinstance(c, PriorityClass)
        }

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        found = self._known.get((kind, key))
        return found if isinstance(found, kind) and (not uid or found.metadata.uid in ("", uid)) else None

    def group(self, id: GroupId, members: list[PodLife]) -> Group:
        """As the pods name it; what owners imply has no say where a group is named."""
        settled = [settle(said_by(member.pod), self, AS_WRITTEN) for member in members]
        declared = next((one.group for one in settled if one.id == id), None)
        if id.source == POD_GROUP and declared is None and id.key in self.groups:
            declared = group_from_pod_group(self.groups[id.key])
        return group_of(id, [one.marks for one in settled], declared, len(members))

    def payer(self, member: PodLife) -> Payer:
        """On whose account it ran: its queue, as it, its owners or its namespace say, and its user."""
        namespace = member.pod.metadata.namespace or "default"
        found = settle(said_by(member.pod), self, AS_WRITTEN).payer or Payer(namespace)
        queue = named_queue(found, self.namespaces)
        return Payer(namespace, "" if queue == DEFAULT_QUEUE else queue, found.user)

    def quorum(self, id: GroupId, group: Group, members: int, changed: Counter[str]) -> int:
        if id.source == OWNER:
            return members
        changed[TOO_FEW] += group.quorum > members
        changed[UNSAID] += members > 1 and not group.gang and id.key not in self.groups
        return min(group.quorum, members)

    def priority(self, group: Group, member: PodSpec) -> int:
        """As decisions take it: that of the group, and where it says nothing that of its members."""
        said = stated_priority(group, self.classes) or (member.priority, member.priority_class_name)
        rank = rank_of(*said, "", self.classes)
        return rank.priority if rank else 0


def jobs_of(
    groups: Mapping[GroupId, list[PodLife]], objects: OtherObjects, quorum: int | None, changed: Counter[str]
) -> Iterator[Traced]:
    beginning = min((stay.created for stays in groups.values() for stay in stays), default=FOREVER)
    names = Counter[str]()
    for id, stays in groups.items():
        owned = id.source == OWNER
        members = at_their_most(stays) if owned else stays
        group, payer = objects.group(id, members), objects.payer(members[0])
        yield Traced(
            name=told_apart(pod_name(id.key), names),
            arrival=lasted(beginning, min(stay.created for stay in stays)),
            crews=tuple(crews_of([member.pod.spec for member in members], changed, Policy())),
            run_time=time_together(stays, members) if owned else longest(members),
            quorum=min(quorum or objects.quorum(id, group, len(members), changed), len(members)),
            priority=objects.priority(group, members[0].pod.spec),
            within=group.topology.required,
            queue=payer.queue,
            user=payer.user,
        )


def told_apart(name: str, taken: Counter[str]) -> str:
    taken[name] += 1
    return name if taken[name] == 1 else told_apart(f"{name}-{taken[name]}", taken)


def crews_of(specs: Iterable[PodSpec], changed: Counter[str], policy: Policy) -> Iterator[Crew]:
    """Members with the same spec, in the order in which they are given."""
    counts: dict[bytes, list[PodSpec]] = {}
    for told in specs:
        spec = as_new(told, changed)
        counts.setdefault(msgspec.json.encode(spec), []).append(spec)
    for alike in counts.values():
        requests = pod_requests(alike[0])
        devices = sum(count for resource, count in requests.items() if is_device(policy, resource))
        yield Crew(alike[0], len(alike), devices)


def as_new(spec: PodSpec, changed: Counter[str]) -> PodSpec:
    """The pod as if it came today. A run has nothing that pods refer to, and nobody who would lift gates."""
    affinity = spec.affinity or Affinity()
    for what, applies in (
        ("pods have resource claims; the simulation ignores the claims", claims_of(spec)),
        ("pods have scheduling gates; the simulation ignores the gates", spec.scheduling_gates),
        (
            "pods have rules about labels of other pods; the simulation ignores the rules",
            affinity.pod_affinity.required
            or affinity.pod_anti_affinity.required
            or spec.topology_spread_constraints,
        ),
    ):
        changed[what] += bool(applies)
    return msgspec.structs.replace(
        spec,
        node_name="",
        scheduling_group=None,
        scheduling_gates=(),
        priority=None,
        priority_class_name="",
        volumes=(),
        resource_claims=(),
    )


def claims_of(spec: PodSpec) -> bool:
    volumes = any(volume.persistent_volume_claim or volume.ephemeral for volume in spec.volumes)
    return volumes or bool(spec.resource_claims)
