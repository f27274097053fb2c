"""Groups in the languages of other schedulers: what their labels, annotations and PodGroups say.

Each scheduler has one row in `CONVENTIONS`, in the order in which they count. What they say of topology and
of queues is read whatever names the group: a Job that was written for Kueue has its topology in the template
of its pods, and no group.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Annotated, NamedTuple

import msgspec

from maitred.model.group import (
    MOST_MEMBERS,
    TOPOLOGY_MARKS,
    Count,
    Group,
    Marks,
    TopologyRequest,
    marks_of,
)
from maitred.model.meta import Lean, ObjectMeta, contradiction, key_of, mark, own_mark, said_under, shortened
from maitred.model.operators.podgroups import (
    CoschedulingPodGroup,
    ForeignGroup,
    GodelPodGroup,
    KaiPodGroup,
    KaiPodGroupSpec,
    KoordinatorPodGroup,
    VolcanoPodGroup,
)
from maitred.model.protection import KAI_PREEMPTIBILITY, protection_of
from maitred.model.words import counted

YUNIKORN = "YuniKorn"
YUNIKORN_APP = ("yunikorn.apache.org/app-id", "applicationId")
YUNIKORN_TASK, YUNIKORN_TASKS = "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups"
KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_FAST = "kueue.x-k8s.io/pod-group-fast-admission"
"""Kueue admits such a group with its first pod: who makes it makes one pod after the other."""
KUEUE_LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
KOORDINATOR_TOPOLOGY = "gang.scheduling.koordinator.sh/network-topology-spec"
KAI_SEGMENTS, KAI_SEGMENT_LEVEL = (
    "kai.scheduler/segment-size",
    "kai.scheduler/segment-topology-required-placement",
)
KAI_SEGMENT_WISH = "kai.scheduler/segment-topology-preferred-placement"
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading JSON raises that a user has written: it may be nested however deep."""


class NamedGroup(NamedTuple):
    """A group that a pod names in the language of a scheduler."""

    source: str
    name: str
    key: str
    """What it names it by."""
    members: str | None = None
    """How many it takes, as this pod says it."""
    problem: str = ""
    """What of this contradicts itself, or cannot be read."""


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
        return self.plainly(about)

    def plainly(self, about: ObjectMeta) -> NamedGroup | None:
        names = said_under(about, self.names)
        if not names:
            return None
        counts = said_under(about, self.counts)
        problem = contradiction(names) or contradiction(counts)
        count = shortened(counts[0].value) if counts else None
        return NamedGroup(self.title, names[0].value, names[0].key, count, problem)

    @property
    def unsaid(self) -> str:
        """The words for a group of which nobody says how many members it takes."""
        places = [f"no member has {self.counts[0]}"] if self.counts else []
        places += ["no PodGroup of this name that can be read says it"] if self.objects is not None else []
        return f"it is not known how many members this group of {self.title} takes: {', and '.join(places)}"


class TaskGroup(Lean, frozen=True):
    min_member: int = 0


def application(convention: Convention, about: ObjectMeta) -> NamedGroup | None:
    """The pods of a YuniKorn application that are in one of its task groups. At least one of them lists the
    task groups."""
    apps, listed = said_under(about, YUNIKORN_APP), mark(about, YUNIKORN_TASKS)
    if not apps or mark(about, YUNIKORN_TASK) is None:
        return None
    found = NamedGroup(convention.title, apps[0].value, apps[0].key, problem=contradiction(apps))
    if listed is None:
        return found
    try:
        least = [task.min_member for task in msgspec.json.decode(listed, type=tuple[TaskGroup, ...])]
    except UNREADABLE:
        unread = f"{YUNIKORN_TASKS} cannot be read: it is not a list of task groups with a minMember each"
        return found._replace(problem=found.problem or unread)
    if min(least, default=0) < 0 or not 1 <= sum(least) <= MOST_MEMBERS:
        wrong = f"{YUNIKORN_TASKS}: {', '.join(map(str, least[:3])) or 'nothing'} as minMember is no quorum"
        return found._replace(problem=found.problem or wrong)
    return found._replace(members=str(sum(least)))


def kueue_group(convention: Convention, about: ObjectMeta) -> NamedGroup | None:
    """With fast admission, Kueue lets the group start with its first pod."""
    found = convention.plainly(about)
    fast = found is not None and mark(about, KUEUE_FAST) == "true"
    return found._replace(members="1") if found is not None and fast else found


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
"""Where others name the queue of a pod; the first counts."""
TOPOLOGIES = (
    (
        "kai.scheduler/topology-required-placement",
        "kai.scheduler/topology-preferred-placement",
        KAI_SEGMENTS,
        KAI_SEGMENT_LEVEL,
    ),
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
    for row in (*(one.keys for one in CONVENTIONS), QUEUES, *TOPOLOGIES, (KUEUE_LAYERS, KOORDINATOR_TOPOLOGY))
    for key in row
    if key
)


def first_mark(about: ObjectMeta, keys: Iterable[str]) -> str | None:
    return next((value for key in keys if (value := own_mark(about, key))), None)


# -- topology ----------------------------------------------------------------------------------------------


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
    return Marks(own.min_count, (required, preferred, size, level), (*own.problems, *problems))


class Unread(NamedTuple):
    what: str


def _topology_of_others(about: ObjectMeta) -> Iterator[tuple[int, str, str | Unread]]:
    for row in TOPOLOGIES:
        for position, key in enumerate(row):
            if key and (value := own_mark(about, key)) is not None and not _only_a_wish(about, key):
                yield position, key, value or Unread("it is empty")
    for key, read in ((KUEUE_LAYERS, _innermost), (KOORDINATOR_TOPOLOGY, _gathered)):
        if (text := mark(about, key)) is not None:
            for position, found in read(text):
                yield position, key, found


def _only_a_wish(about: ObjectMeta, key: str) -> bool:
    """Segments of KAI that are better together and need not be: slices are no such thing."""
    wish = mark(about, KAI_SEGMENT_WISH) is not None and mark(about, KAI_SEGMENT_LEVEL) is None
    return key == KAI_SEGMENTS and wish


class SliceLayer(Lean, frozen=True):
    topology: Annotated[str, msgspec.Meta(min_length=1)]
    size: Count


Layers = Annotated[tuple[SliceLayer, ...], msgspec.Meta(min_length=1, max_length=3)]


def slice_layers(text: str) -> tuple[SliceLayer, ...] | None:
    """Kueue's slices within slices, the widest first; None if they cannot be read."""
    try:
        layers = msgspec.json.decode(text, type=Layers)
    except UNREADABLE:
        return None
    uneven = any(wide.size % narrow.size for wide, narrow in pairwise(layers))
    return None if uneven or len({layer.topology for layer in layers}) < len(layers) else layers


def _innermost(text: str) -> Iterator[tuple[int, str | Unread]]:
    """There are slices of one level only: of several, those whose members are nearest to each other."""
    layers = slice_layers(text)
    if layers is None:
        yield 2, Unread(LAYERS_UNREAD)
        return
    yield 2, str(layers[-1].size)
    yield 3, layers[-1].topology


LAYERS_UNREAD = (
    "it is not a JSON list of one to three layers, each with a topology of its own and a size, and each size "
    "a multiple of the next"
)


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
    quorum = kai_quorum(group.spec) if isinstance(group, KaiPodGroup) else group.spec.min_member
    if not quorum:
        return None
    key, problems, topology = key_of(group.metadata), list[str](), TopologyRequest()
    about, priority_class = group.metadata, ""
    if isinstance(group, VolcanoPodGroup):
        priority_class = group.spec.priority_class_name
        topology, problems = _volcano_topology(group)
    elif isinstance(group, KaiPodGroup):
        wanted, priority_class = group.spec.topology_constraint, group.spec.priority_class_name
        if group.spec.preemptibility:
            labels = {**about.labels, KAI_PREEMPTIBILITY: group.spec.preemptibility}
            about = msgspec.structs.replace(about, labels=labels)
        problems += _kai_problems(group.spec)
        preferred = wanted.preferred_topology_level
        topology = TopologyRequest(wanted.required_topology_level, (preferred,) if preferred else ())
    if quorum > MOST_MEMBERS:
        problems.append(
            f"PodGroup {key} of {title} has a quorum of {quorum}, which is more than {MOST_MEMBERS}"
        )
    return Group(
        key=key,
        quorum=min(quorum, MOST_MEMBERS),
        gang=True,
        topology=topology,
        priority_class_name=priority_class,
        class_may_lack=True,
        protection=protection_of(about),
        origin=f"PodGroup {key} of {title}",
        problems=tuple(problems),
    )


def kai_quorum(spec: KaiPodGroupSpec) -> int | None:
    """`minMember`, of which 0 makes no gang of it; else what the smallest of its parts take, as many of them
    as it needs. None if neither is said."""
    if spec.min_member is not None or spec.min_sub_group is None:
        return None if spec.min_member is None else max(1, spec.min_member)
    known, below = {part.name: part for part in spec.sub_groups}, dict[str, list[str]]()
    for one in known.values():
        below.setdefault(one.parent, []).append(one.name)
    least: dict[str, int] = {}
    try:
        for name in TopologicalSorter(below).static_order():
            part = known.get(name)
            own, wanted = (0, spec.min_sub_group) if part is None else (part.min_member, part.min_sub_group)
            inner = sorted(least[child] for child in below.get(name, ()))
            least[name] = sum(inner[:wanted]) if inner else own or 0
    except CycleError:
        return None
    return max(1, least.get("", 0))


def _kai_problems(spec: KaiPodGroupSpec) -> Iterator[str]:
    wanted, there = spec.min_sub_group, sum(not part.parent for part in spec.sub_groups)
    if wanted is None:
        return
    if spec.min_member is not None:
        yield f"spec.minMember is {spec.min_member} and spec.minSubGroup is {wanted}; remove one of the two"
    elif wanted > there:
        yield f"spec.minSubGroup is {wanted}, and it has {counted(there, 'subgroup')}"


def _volcano_topology(group: VolcanoPodGroup) -> tuple[TopologyRequest, list[str]]:
    wanted = group.spec.network_topology
    if wanted is None:
        return TopologyRequest(), []
    name, tier = wanted.highest_tier_name, wanted.highest_tier_allowed
    if wanted.mode not in ("hard", "soft"):
        return TopologyRequest(), [f"spec.networkTopology.mode: {wanted.mode!r} is not hard or soft"]
    if wanted.mode == "soft":
        return TopologyRequest(preferred=(name,) if name else ()), []
    if name:
        return TopologyRequest(name), []
    return TopologyRequest(), [
        f"spec.networkTopology names {'no tier' if tier is None else f'tier {tier} by its number'}, and "
        "maitred knows levels by name; set highestTierName to a level of policy.topology.levels, or remove "
        "networkTopology"
    ]
