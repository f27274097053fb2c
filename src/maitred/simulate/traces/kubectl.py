"""What `kubectl get -o json` wrote: nodes as they are, and groups of pods as jobs that arrive anew."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from maitred.model.group import (
    Group,
    PodGroup,
    group_from_marks,
    group_from_pod_group,
    group_key,
    marks_of,
    names_pod_group,
)
from maitred.model.manifest import Document, InputError, Reader, documents
from maitred.model.manifest.errors import field_error
from maitred.model.meta import Lean, Timestamp, key_of
from maitred.model.node import Node
from maitred.model.pod import Affinity, Pod, PodSpec, is_node_bound
from maitred.model.policy import Policy, is_device
from maitred.model.priority import PriorityClass, rank_of
from maitred.model.requests import pod_requests
from maitred.model.world import MOST_NODES
from maitred.simulate.clock import Time
from maitred.simulate.jobs import Crew
from maitred.simulate.traces.rows import unpacked
from maitred.simulate.traces.traced import Reading, Traced, pod_name

MICROSECOND = timedelta(microseconds=1)


class Terminated(Lean, frozen=True):
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None


class ContainerState(Lean, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(Lean, frozen=True):
    state: ContainerState = ContainerState()


class Ending(Lean, frozen=True):
    container_statuses: tuple[ContainerStatus, ...] = ()


class Ended(Lean, frozen=True):
    """The part of a pod that no decision reads: how long it ran."""

    status: Ending = Ending()


def read_nodes(data: bytes, source: str) -> tuple[Node, ...]:
    reader = Reader()
    reader.read(unpacked(data, source), source)
    nodes = tuple(found for found in reader.objects if isinstance(found, Node))
    if len(nodes) > MOST_NODES:
        raise InputError(source, "", "", f"{len(nodes)} nodes; at most {MOST_NODES} are simulated")
    return nodes


def read_groups(data: bytes, source: str) -> Reading:
    """The groups of all pods but those that belong to their nodes."""
    reader, pods, runs, changed = Reader(), list[Pod](), dict[str, Time](), Counter[str]()
    for document in documents(unpacked(data, source), source):
        found = reader.take(document)
        if not isinstance(found, Pod):
            continue
        if is_node_bound(found.metadata):
            changed["pods belong to their nodes and were left out"] += 1
            continue
        if found.metadata.creation_timestamp is None:
            what = "is required: jobs arrive when their pods were created"
            raise InputError(source, document.title, "metadata.creationTimestamp", what)
        pods.append(found)
        if (ran := run_time(document)) is not None:
            runs[key_of(found.metadata)] = ran
    jobs = list(jobs_of(pods, runs, Objects(reader), changed))
    warnings = [*reader.warnings(), *(f"{count} {what}" for what, count in changed.items() if count)]
    return Reading(jobs, tuple(f"{source}: {warning}" for warning in warnings))


class Objects:
    """What a dump has beside pods."""

    def __init__(self, reader: Reader) -> None:
        self.groups = {key_of(g.metadata): g for g in reader.objects if isinstance(g, PodGroup)}
        self.classes: Mapping[str, PriorityClass] = {
            c.metadata.name: c for c in reader.objects if isinstance(c, PriorityClass)
        }

    def group(self, key: str, members: list[Pod]) -> Group:
        if declared := self.groups.get(key) if names_pod_group(members[0]) else None:
            return group_from_pod_group(declared)
        return group_from_marks(key, (marks_of(pod.metadata) for pod in members))

    def priority(self, group: Group, member: PodSpec) -> int:
        """As decisions take it: that of the group, and where it says nothing that of its members."""
        if group.priority is not None or group.priority_class_name:
            rank = rank_of(group.priority, group.priority_class_name, "", self.classes)
        else:
            rank = rank_of(member.priority, member.priority_class_name, "", self.classes)
        return rank.priority if rank else 0


def jobs_of(
    pods: list[Pod], runs: Mapping[str, Time], objects: Objects, changed: Counter[str]
) -> Iterator[Traced]:
    groups = defaultdict[str, list[Pod]](list)
    for pod in pods:
        groups[group_key(pod) or f"pod {key_of(pod.metadata)}"].append(pod)
    beginning = min((created(pod) for pod in pods), default=datetime.min)
    names = Counter[str]()
    for key, members in groups.items():
        group = objects.group(key, members)
        times = [runs.get(key_of(pod.metadata)) for pod in members]
        ran = [time for time in times if time is not None]
        name = pod_name(key.removeprefix("pod "))
        names[name] += 1
        if group.quorum > len(members):
            changed["groups have fewer pods than their quorum; it is taken to be all of them"] += 1
        yield Traced(
            name=name if names[name] == 1 else f"{name}-{names[name]}",
            arrival=(min(map(created, members)) - beginning) // MICROSECOND,
            crews=tuple(crews_of(members, changed)),
            run_time=max(ran) if len(ran) == len(members) else None,
            quorum=min(group.quorum, len(members)),
            priority=objects.priority(group, members[0].spec),
            within=group.topology.required,
        )


def created(pod: Pod) -> datetime:
    assert pod.metadata.creation_timestamp is not None  # Others were refused.
    return pod.metadata.creation_timestamp


def crews_of(members: list[Pod], changed: Counter[str]) -> Iterator[Crew]:
    """Members with the same spec, in the order of the file."""
    counts: dict[bytes, list[PodSpec]] = {}
    for pod in members:
        spec = as_new(pod.spec, changed)
        counts.setdefault(msgspec.json.encode(spec), []).append(spec)
    policy = Policy()
    for alike in counts.values():
        requests = pod_requests(alike[0])
        devices = sum(count for resource, count in requests.items() if is_device(policy, resource))
        yield Crew(alike[0], len(alike), devices)


def as_new(spec: PodSpec, changed: Counter[str]) -> PodSpec:
    """The pod as if it came today. A run has nothing that pods refer to, and nobody who would lift gates."""
    affinity = spec.affinity or Affinity()
    for what, applies in (
        ("pods have claims, of which a run knows nothing; they do without", claims_of(spec)),
        ("pods are gated; in a run they come without gates", spec.scheduling_gates),
        (
            "pods have rules about labels of other pods, and pods of a run have no labels",
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


def run_time(document: Document) -> Time | None:
    """From the first start of a container to the last end; None for a pod that has not ended."""
    plain = document.plain()
    try:
        statuses = msgspec.convert(plain, Ended).status.container_statuses
    except msgspec.ValidationError as error:
        problem = field_error(error, plain, Ended)
        raise InputError(document.source, document.title, problem.field, problem.what) from None
    ends = [status.state.terminated for status in statuses]
    starts = [end.started_at for end in ends if end and end.started_at]
    finishes = [end.finished_at for end in ends if end and end.finished_at]
    if not ends or len(starts) < len(ends) or len(finishes) < len(ends):
        return None
    return max(0, (max(finishes) - min(starts)) // MICROSECOND)
