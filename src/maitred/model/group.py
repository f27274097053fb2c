"""Groups: pods that are one decision, from three API versions and from marks on pods, as one model.

A group may have a parent, a composite (such as a CompositePodGroup), which may have one, too. So groups form
trees, and a tree is one decision. `cluster/trees.py` puts them together.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from maitred.model.healing import NO_WISH, ON_FAILURE, FailureWish, failure_wish
from maitred.model.job import Ranges
from maitred.model.meta import Lean, ObjectMeta, contradiction, key_of, own_mark, said_under
from maitred.model.objects import Object
from maitred.model.pod import MadeClaim, PodResourceClaim
from maitred.model.priority import BUILT_IN, PriorityClass
from maitred.model.protection import PROTECTION_MARKS, UNPROTECTED, Protection, protection_of
from maitred.model.queues import DEVICE_MODELS, QUEUE, USER
from maitred.model.runtime import EXPECTED_RUNTIME, MAX_RUNTIME, NOT_SAID, Runtime, runtime_of
from maitred.model.timing import TIMING_MARKS

MARK_PREFIX = "maitred.dev/"
GROUP = "maitred.dev/group"
MIN_COUNT = "maitred.dev/min-count"
TOPOLOGY_REQUIRED = "maitred.dev/topology-required"
TOPOLOGY_PREFERRED = "maitred.dev/topology-preferred"
SLICE_SIZE = "maitred.dev/slice-size"
SLICE_TOPOLOGY = "maitred.dev/slice-topology"
GANG, EACH_JOB = "maitred.dev/gang", "replicated-job"
"""On a JobSet: each of its replicated jobs is a gang by itself."""

MOST_DIGITS = 20
MOST_SHOWN = 5
"""Of what members contradict each other in."""

MOST_MEMBERS = 1_000_000
Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_MEMBERS)]


class BasicPolicy(Lean, frozen=True):
    pass


class GangPolicy(Lean, frozen=True):
    min_count: Count


class SchedulingPolicy(Lean, frozen=True):
    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Lean, frozen=True):
    key: str


class SchedulingConstraints(Lean, frozen=True):
    topology: tuple[TopologyConstraint, ...] = ()


class WorkloadReference(Lean, frozen=True):
    workload_name: str = ""
    template_name: str = ""
    pod_group_template_name: str = ""


class TemplateReference(Lean, frozen=True):
    workload: WorkloadReference = WorkloadReference()


class PodGroupSpec(Lean, frozen=True):
    """v1alpha2, v1alpha3 and v1beta1 in one; each names its workload and disruption mode in its own way."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    disruption_mode: str | dict[str, Any] = "Pod"
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: Literal["", "PreemptLowerPriority", "Never"] = ""
    workload_ref: WorkloadReference = WorkloadReference()
    pod_group_template_ref: TemplateReference = TemplateReference()
    parent_composite_pod_group_name: str = ""
    min_member: Count | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()


class PodGroupStatus(Lean, frozen=True):
    resource_claim_statuses: tuple[MadeClaim, ...] = ()


class PodGroup(Object, frozen=True):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class CompositeGangPolicy(Lean, frozen=True):
    min_group_count: Count


class CompositePolicy(Lean, frozen=True):
    basic: BasicPolicy | None = None
    gang: CompositeGangPolicy | None = None


class CompositePodGroupSpec(Lean, frozen=True):
    scheduling_policy: CompositePolicy = CompositePolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    parent_composite_pod_group_name: str = ""
    workload_ref: WorkloadReference = WorkloadReference()
    disruption_mode: str | dict[str, Any] = "Pod"
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: Literal["", "PreemptLowerPriority", "Never"] = ""


class CompositePodGroup(Object, frozen=True):
    spec: CompositePodGroupSpec = CompositePodGroupSpec()


class PodGroupTemplate(Lean, frozen=True):
    name: str
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class WorkloadSpec(Lean, frozen=True):
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[Any, ...] = ()


class Workload(Object, frozen=True):
    """The blueprint of groups. Creators copy its policy into PodGroups, so no decision reads it."""

    spec: WorkloadSpec = WorkloadSpec()


class TopologyRequest(Lean, frozen=True):
    """Where the members of a group belong, in names of levels or label keys, as the user wrote them."""

    required: str = ""
    preferred: tuple[str, ...] = ()
    slice_size: int = 0
    slice_level: str = ""
    annotated: str = ""
    """The required level by annotation, which must not contradict that of the spec."""


class Group(Lean, frozen=True):
    """One group as a decision sees it, whatever it was declared with."""

    key: str
    quorum: int = 1
    gang: bool = False
    parent: str = ""
    """The composite that it is a part of, which is then decided with all its parts at once."""
    workload: str = ""
    """The Workload that it was made from. All parts of one tree are of one."""
    topology: TopologyRequest = TopologyRequest()
    priority: int | None = None
    priority_class_name: str = ""
    class_may_lack: bool = False
    """Another scheduler's PodGroup names the class, which may be there for that scheduler only: one that does
    not exist says nothing."""
    preemption_policy: str = ""
    disruption: Literal["Pod", "PodGroup", "Alone"] = "Pod"
    """Who leaves with a member: as many as the quorum makes leave, all members, or none."""
    protection: Protection = UNPROTECTED
    runtime: Runtime = NOT_SAID
    on_failure: FailureWish = NO_WISH
    exists: bool = True
    origin: str = ""
    """Where its quorum is said, in words; empty for a pod on its own."""
    completed: Ranges = ()
    """Indexes that have succeeded, whether or not their pods are still there."""
    done: int = 0
    """Members of Jobs that are complete, as the owner of those counts them, be their pods there or not."""
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def stated_priority(group: Group, classes: Mapping[str, PriorityClass]) -> tuple[int | None, str] | None:
    """The priority and the class that a group states for its members; None if it leaves it to them."""
    name = group.priority_class_name
    if group.class_may_lack and name not in classes and name not in BUILT_IN:
        name = ""
    return (group.priority, name) if group.priority is not None or name else None


class Composite(Lean, frozen=True):
    """A group of groups, whatever it was declared with. Its quorum counts the groups in it."""

    key: str
    quorum: int = 1
    parent: str = ""
    workload: str = ""
    level: str = ""
    """The label key of the level of which all its parts must share a domain."""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    disruption: Literal["Pod", "PodGroup"] = "Pod"

    @property
    def states_priority(self) -> bool:
        return self.priority is not None or bool(self.priority_class_name)


class Marks(Lean, frozen=True):
    """What a pod says of its group when no PodGroup object does."""

    min_count: str | None = None
    topology: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)
    problems: tuple[str, ...] = ()
    """What is said in two ways that contradict each other, or cannot be read."""


TOPOLOGY_MARKS = (TOPOLOGY_REQUIRED, TOPOLOGY_PREFERRED, SLICE_SIZE, SLICE_TOPOLOGY)
MARKS = (
    *(GROUP, MIN_COUNT, GANG, *TOPOLOGY_MARKS, *PROTECTION_MARKS, EXPECTED_RUNTIME, ON_FAILURE),
    *(QUEUE, USER, DEVICE_MODELS, MAX_RUNTIME, *TIMING_MARKS),
)
"""Labels and annotations of ours that mean something."""
NO_MARKS = Marks()
_OF_GROUPS = frozenset((MIN_COUNT, *TOPOLOGY_MARKS))
_TWO_FORMS = (GROUP, MIN_COUNT, *TOPOLOGY_MARKS)


def marks_of(metadata: ObjectMeta) -> Marks:
    labels, annotations = metadata.labels, metadata.annotations
    torn = [contradiction(said_under(metadata, (k,))) for k in _TWO_FORMS if k in labels and k in annotations]
    problems = tuple(filter(None, torn))
    if not problems and _OF_GROUPS.isdisjoint(labels) and _OF_GROUPS.isdisjoint(annotations):
        return NO_MARKS
    required, preferred, size, level = [own_mark(metadata, key) for key in TOPOLOGY_MARKS]
    return Marks(own_mark(metadata, MIN_COUNT), (required, preferred, size, level), problems=problems)


def group_from_pod_group(declared: PodGroup) -> Group:
    spec, problems, warnings = declared.spec, list[str](), list[str]()
    gang = spec.scheduling_policy.gang
    quorum = gang.min_count if gang else spec.min_member or 1
    if spec.min_member is not None and gang is None:
        warnings.append(
            f"PodGroup {key_of(declared.metadata)}: spec.minMember is a shorthand, "
            f"read as spec.schedulingPolicy.gang.minCount: {quorum}"
        )
    marks = marks_of(declared.metadata)
    topology, found = topology_request(marks, next((t.key for t in spec.scheduling_constraints.topology), ""))
    problems += [*marks.problems, *found]
    marked = own_mark(declared.metadata, MIN_COUNT)
    if marked is not None and marked != str(quorum):
        problems.append(f"annotation {MIN_COUNT}: {marked} contradicts the spec, whose quorum is {quorum}")
    return Group(
        key=key_of(declared.metadata),
        quorum=quorum,
        gang=gang is not None or spec.min_member is not None,
        parent=parent_key(declared.metadata, spec.parent_composite_pod_group_name),
        workload=spec.workload_ref.workload_name,
        topology=topology,
        priority=None if _is_unsaid(spec) else spec.priority,
        priority_class_name=spec.priority_class_name,
        preemption_policy=spec.preemption_policy,
        disruption=disruption(spec.disruption_mode),
        protection=protection_of(declared.metadata),
        runtime=runtime_of(declared.metadata),
        on_failure=failure_wish(declared.metadata),
        origin=f"PodGroup {key_of(declared.metadata)}",
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def composite_from_object(declared: CompositePodGroup) -> Composite:
    spec, gang = declared.spec, declared.spec.scheduling_policy.gang
    return Composite(
        key=key_of(declared.metadata),
        quorum=gang.min_group_count if gang else 1,
        parent=parent_key(declared.metadata, spec.parent_composite_pod_group_name),
        workload=spec.workload_ref.workload_name,
        level=next((one.key for one in spec.scheduling_constraints.topology), ""),
        priority=spec.priority,
        priority_class_name=spec.priority_class_name,
        preemption_policy=spec.preemption_policy,
        disruption=disruption(spec.disruption_mode),
    )


def _is_unsaid(spec: PodGroupSpec) -> bool:
    """1.36 writes 0 into groups that its Job controller made without a class, whatever their pods have."""
    templated = spec.pod_group_template_ref != TemplateReference()
    return spec.priority == 0 and not spec.priority_class_name and templated


def parent_key(metadata: ObjectMeta, name: str) -> str:
    return f"{metadata.namespace or 'default'}/{name}" if name else ""


def disruption(mode: str | Mapping[str, object]) -> Literal["Pod", "PodGroup"]:
    whole = mode == "PodGroup" if isinstance(mode, str) else "all" in mode
    return "PodGroup" if whole else "Pod"


def group_from_marks(key: str, marks: Iterable[Marks], count_key: str = MIN_COUNT) -> Group:
    """The group that its members describe; members that contradict each other make it invalid. `count_key` is
    where they say how many it takes."""
    distinct = sorted(set(marks), key=repr)
    problems = list(dict.fromkeys(problem for one in distinct for problem in one.problems))
    counts = {m.min_count for m in distinct} - {None}
    if len(counts) > 1:
        problems.append(f"its members have different values of {count_key}: {_some(counts)}")
    for position, name in enumerate(TOPOLOGY_MARKS):
        values = {m.topology[position] for m in distinct}
        if len(values) > 1:
            problems.append(f"its members have different values of {name}: {_some(values)}")
    chosen = distinct[0] if distinct else NO_MARKS
    topology, found = topology_request(chosen, "")
    quorum = 1
    for count in sorted(map(str, counts))[:1]:
        quorum = positive(count) or 1
        if positive(count) is None:
            problems.append(f"{count_key}: {no_count(count)}")
    return Group(
        key=key,
        quorum=quorum,
        gang=bool(counts),
        topology=topology,
        problems=tuple(problems + found),
    )


def topology_request(marks: Marks, spec_key: str) -> tuple[TopologyRequest, list[str]]:
    required, preferred, size, level = marks.topology
    problems = list[str]()
    levels = tuple(name.strip() for name in (preferred or "").split(",")) if preferred is not None else ()
    if any(not name for name in (*levels, *([] if required is None else [required]))):
        problems.append(f"{TOPOLOGY_REQUIRED} and {TOPOLOGY_PREFERRED} must name levels, and one is empty")
    if len(set(levels)) < len(levels):
        problems.append(f"{TOPOLOGY_PREFERRED}: {preferred} names a level twice")
    if (size is None) != (level is None):
        problems.append(
            f"slices need a size and a level: {SLICE_SIZE} and {SLICE_TOPOLOGY} must be given together, or "
            "what another scheduler calls them"
        )
    if size is not None and positive(size) is None:
        problems.append(f"{SLICE_SIZE}: {no_count(size)}")
    slice_size = positive(size) or 0 if size is not None and level is not None else 0
    request = TopologyRequest(spec_key or required or "", levels, slice_size, level or "", required or "")
    return request, problems


def positive(text: str) -> int | None:
    """Python reads no number of thousands of digits, and a mark may have as many."""
    is_number = len(text) <= MOST_DIGITS and text.isascii() and text.isdigit()
    return int(text) if is_number and 1 <= int(text) <= MOST_MEMBERS else None


def no_count(text: str) -> str:
    """What is wrong with a text that is not `positive`."""
    huge = text.isascii() and text.isdigit() and text.strip("0")
    return f"{text!r} is {f'more than {MOST_MEMBERS}' if huge else 'not a whole number of at least 1'}"


def _some(values: Iterable[str | None]) -> str:
    """A group can have as many members as opinions."""
    listed = sorted(map(str, values))
    more = [f"{len(listed) - MOST_SHOWN} more"] if len(listed) > MOST_SHOWN else []
    return ", ".join([*listed[:MOST_SHOWN], *more])
