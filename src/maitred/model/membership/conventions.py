"""Groups in the languages of other schedulers: what their labels, annotations and PodGroups say.

Each scheduler has one row in `CONVENTIONS`, in the order in which they count. What they say of topology and
of queues is read whatever names the group: a Job that was written for Kueue has its topology in the template
of its pods, and no group.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from maitred.model.group import (
    TOPOLOGY_MARKS,
    Group,
    Marks,
    TopologyRequest,
    marks_of,
)
from maitred.model.meta import Lean, ObjectMeta, key_of, mark, own_mark, shortened
from maitred.model.operators.podgroups import (
    CoschedulingPodGroup,
    ForeignGroup,
    GodelPodGroup,
    KaiPodGroup,
    KoordinatorPodGroup,
    VolcanoPodGroup,
)
from maitred.model.protection import KAI_PREEMPTIBILITY, protection_of

YUNIKORN = "YuniKorn"
YUNIKORN_APP = ("yunikorn.apache.org/app-id", "applicationId")
YUNIKORN_TASK, YUNIKORN_TASKS = "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups"
KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_FAST = "kueue.x-k8s.io/pod-group-fast-admission"
"""Kueue admits such a group with its first pod: who makes it makes one pod after the other."""
KOORDINATOR_TOPOLOGY = "gang.scheduling.koordinator.sh/network-topology-spec"
MOST_TASKS = 1_000_000
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading JSON raises that a user has written: it may be nested however deep."""


class NamedGroup(NamedTuple):
    """A group that a pod names in the language of a scheduler."""

    source: str
    name: str
    members: str | None = None
    """How many it takes, as this pod says it."""


@dataclass(frozen=True, slots=True)
class Convention:
    """Labels or annotations that name a group; the first that a pod has counts."""

    title: str
    names: tuple[str, ...]
    counts: tuple[str, ...] = ()
    """How many members it takes, said by each of them."""
    objects: type[ForeignGroup] | None = None
    """The objects that say how many, which count before what the pods say."""
    also: tuple[str, ...] = ()
    """Other keys that it takes to read it."""
    read: Callable[["Convention", ObjectMeta], NamedGroup | None] | None = None
    """How it is read, if not by these keys alone."""

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.names, *self.counts, *self.also)

    def said_by(self, about: ObjectMeta) -> NamedGroup | None:
        if self.read is not None:
            return self.read(self, about)
        name = first_mark(about, self.names)
        return None if name is None else NamedGroup(self.title, name, first_mark(about, self.counts))

    @property
    def unsaid(self) -> str:
        """The words for a group of which nobody says how many members it takes."""
        places = [f"no member has {self.counts[0]}"] if self.counts else []
        places += ["there is no PodGroup of that name"] if self.objects is not None else []
        return f"{self.title} says how many members a group takes, and {' and '.join(places)}"


class TaskGroup(Lean, frozen=True):
    min_member: int = 0


def application(convention: Convention, about: ObjectMeta) -> NamedGroup | None:
    """The pods of a YuniKorn application that are in one of its task groups. At least one of them lists the
    task groups."""
    app, listed = first_mark(about, YUNIKORN_APP), mark(about, YUNIKORN_TASKS)
    if app is None or mark(about, YUNIKORN_TASK) is None:
        return None
    if listed is None:
        return NamedGroup(convention.title, app)
    try:
        tasks = msgspec.json.decode(listed, type=tuple[TaskGroup, ...])
    except UNREADABLE:
        return NamedGroup(convention.title, app, own_mark(about, YUNIKORN_TASKS))
    wanted = sum(max(task.min_member, 0) for task in tasks)
    return NamedGroup(convention.title, app, str(min(wanted, MOST_TASKS)))


def kueue_group(convention: Convention, about: ObjectMeta) -> NamedGroup | None:
    name = first_mark(about, convention.names)
    if name is None:
        return None
    count = "1" if mark(about, KUEUE_FAST) == "true" else first_mark(about, convention.counts)
    return NamedGroup(convention.title, name, count)


CONVENTIONS = (
    Convention("Coscheduling", ("scheduling.x-k8s.io/pod-group",), objects=CoschedulingPodGroup),
    Convention(
        "Volcano",
        ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"),
        ("scheduling.volcano.sh/group-min-member",),
        VolcanoPodGroup,
    ),
    Convention("KAI", ("pod-group-name",), ("kai.scheduler/batch-min-member",), KaiPodGroup),
    Convention(
        "Koordinator",
        (
            "gang.scheduling.koordinator.sh/name",
            "pod-group.scheduling.sigs.k8s.io/name",
            "pod-group.scheduling.sigs.k8s.io",
        ),
        ("gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available"),
        KoordinatorPodGroup,
    ),
    Convention(YUNIKORN, YUNIKORN_APP, (YUNIKORN_TASKS,), also=(YUNIKORN_TASK,), read=application),
    Convention(
        "Kueue", ("kueue.x-k8s.io/pod-group-name",), (KUEUE_TOTAL,), also=(KUEUE_FAST,), read=kueue_group
    ),
    Convention("Armada", ("armadaproject.io/gangId",), ("armadaproject.io/gangCardinality",)),
    Convention("Gödel", ("godel.bytedance.com/pod-group-name",), objects=GodelPodGroup),
)
"""In the order of precedence."""
BY_TITLE = {one.title: one for one in CONVENTIONS}

QUEUES = (
    "scheduling.volcano.sh/queue-name",
    "kai.scheduler/queue",
    "quota.scheduling.koordinator.sh/name",
    "yunikorn.apache.org/queue",
    "kueue.x-k8s.io/queue-name",
)
"""Where others name the queue of a pod; the first counts. There are no queues yet: it is only a name."""
TOPOLOGIES = (
    ("kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement", "", ""),
    (
        "kueue.x-k8s.io/podset-required-topology",
        "kueue.x-k8s.io/podset-preferred-topology",
        "kueue.x-k8s.io/podset-slice-size",
        "kueue.x-k8s.io/podset-slice-required-topology",
    ),
    ("armadaproject.io/gangNodeUniformityLabel", "", "", ""),
)
"""What others call our four marks of topology. They all name label keys of nodes, as ours may."""
KEYS = frozenset(
    key
    for row in (*(one.keys for one in CONVENTIONS), QUEUES, *TOPOLOGIES, (KOORDINATOR_TOPOLOGY,))
    for key in row
    if key
)


def first_mark(about: ObjectMeta, keys: Iterable[str]) -> str | None:
    return next((value for key in keys if (value := own_mark(about, key))), None)


# -- topology and queues -----------------------------------------------------------------------------------


def all_marks(about: ObjectMeta) -> Marks:
    """Our marks, and what other schedulers' say of the same. Two that differ contradict each other."""
    own = marks_of(about)
    if KEYS.isdisjoint(about.labels) and KEYS.isdisjoint(about.annotations):
        return own
    found, problems = list(zip(own.topology, TOPOLOGY_MARKS, strict=True)), list[str]()
    for position, key, value in _topology_of_others(about):
        if not isinstance(value, str):
            problems.append(f"{key} cannot be read: {value.what}")
            continue
        known, place = found[position]
        if known is None:
            found[position] = (value, key)
        elif known != value:
            problems.append(f"{place} is {known} and {key} is {value}; remove one of the two")
    required, preferred, size, level = (value for value, _ in found)
    queue = first_mark(about, QUEUES) or ""
    return Marks(own.min_count, (required, preferred, size, level), queue, tuple(problems))


class Unread(NamedTuple):
    what: str


def _topology_of_others(about: ObjectMeta) -> Iterator[tuple[int, str, str | Unread]]:
    for row in TOPOLOGIES:
        for position, key in enumerate(row):
            if key and (value := own_mark(about, key)) is not None:
                yield position, key, value
    if (spec := mark(about, KOORDINATOR_TOPOLOGY)) is not None:
        for position, layers in _gathered(spec):
            yield position, KOORDINATOR_TOPOLOGY, layers


class GatherRule(Lean, frozen=True):
    layer: str = ""
    strategy: str = ""


class GatherSpec(Lean, frozen=True):
    gather_strategy: tuple[GatherRule, ...] = ()


MUST, PREFER = "MustGather", "PreferGather"


def _gathered(text: str) -> Iterator[tuple[int, str | Unread]]:
    """Koordinator's layers, which are to be called like levels of the policy."""
    try:
        rules = msgspec.json.decode(text, type=GatherSpec).gather_strategy
    except UNREADABLE:
        yield 0, Unread("it is not JSON with a gatherStrategy")
        return
    must = [rule.layer for rule in rules if rule.strategy == MUST]
    prefer = [rule.layer for rule in rules if rule.strategy == PREFER]
    if len(must) + len(prefer) < len(rules) or len(must) > 1:
        yield 0, Unread(f"it has more than one {MUST}, or a strategy that is neither {MUST} nor {PREFER}")
        return
    yield from ((0, shortened(layer)) for layer in must)
    if prefer:
        yield 1, shortened(",".join(prefer))


# -- PodGroups ---------------------------------------------------------------------------------------------


def group_from_foreign(group: ForeignGroup, title: str) -> Group | None:
    """A PodGroup of another scheduler as a group; None if it does not say how many members it takes."""
    if group.spec.min_member < 1:
        return None
    key, problems, topology, queue = key_of(group.metadata), list[str](), TopologyRequest(), ""
    about, priority_class = group.metadata, ""
    if isinstance(group, VolcanoPodGroup):
        queue, priority_class = group.spec.queue, group.spec.priority_class_name
        topology, problems = _volcano_topology(group)
    elif isinstance(group, KaiPodGroup):
        wanted, queue = group.spec.topology_constraint, group.spec.queue
        priority_class = group.spec.priority_class_name
        if group.spec.preemptibility:
            labels = {**about.labels, KAI_PREEMPTIBILITY: group.spec.preemptibility}
            about = msgspec.structs.replace(about, labels=labels)
        preferred = wanted.preferred_topology_level
        topology = TopologyRequest(wanted.required_topology_level, (preferred,) if preferred else ())
    return Group(
        key=key,
        quorum=group.spec.min_member,
        gang=True,
        topology=topology,
        priority_class_name=priority_class,
        class_may_lack=True,
        protection=protection_of(about),
        origin=f"PodGroup {key} of {title}",
        queue=queue,
        problems=tuple(problems),
    )


def _volcano_topology(group: VolcanoPodGroup) -> tuple[TopologyRequest, list[str]]:
    wanted = group.spec.network_topology
    if wanted is None:
        return TopologyRequest(), []
    name, tier = wanted.highest_tier_name, wanted.highest_tier_allowed
    if wanted.mode == "soft":
        return TopologyRequest(preferred=(name,) if name else ()), []
    if name:
        return TopologyRequest(name), []
    return TopologyRequest(), [
        f"spec.networkTopology allows tiers up to {'any' if tier is None else tier}, and maitred knows "
        "levels by name; set highestTierName to a level of policy.topology.levels, or remove networkTopology"
    ]
