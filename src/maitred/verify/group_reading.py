"""Which pods are one group, and what the group asks for, as the objects say it."""

import re
from collections.abc import Callable, Iterator

from .conventions import (
    BY_TITLE,
    PREFERRED,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
    TOPOLOGY,
    all_marks,
    foreign_quorum,
    foreign_topology,
    torn,
    wrong_parts,
)
from .fields import Doc
from .groups import Group, is_atomic, parent_of
from .membership import Place, inherited, made_for, place_of, wishes_of
from .objects import Cluster
from .owners import APART, MAKERS, Gang, marks_above, meta_marks
from .pods import Pod
from .policy import Policy
from .priorities import agree_on_priority, foreign_priority, read_rank
from .protection import PREEMPTIBILITY, read_marks
from .workloads import MIN_COUNT, Wishes

EACH_JOB = "replicated-job"


def read_groups(cluster: Cluster, policy: Policy) -> list[Group]:
    """All groups that have a pod, each pod in exactly one."""
    places = {pod.key: place_of(pod, cluster, policy) for pod in cluster.pods.values()}
    members: dict[tuple[str, str, str], list[Pod]] = {}
    for pod in cluster.pods.values():
        place = places[pod.key]
        members.setdefault((place.origin, place.key, place.uid), []).append(pod)
    groups = []
    for (origin, key, _), pods in sorted(members.items()):
        group = Group(origin, key, sorted(pods, key=Pod.order))
        for pod in pods:
            group.inherited[pod.key], problems = inherited(pod, cluster)
            times = (doc.doc("metadata").moment("creationTimestamp") for doc in made_for(pod, cluster))
            group.since += [time for time in (pod.created, *times) if time is not None]
            if origin in ("pod", "label", *BY_TITLE) and pod in group.active:
                group.problems += problems + all_marks(pod.labels, pod.annotations)[1]
        doc = cluster.pod_groups.get(key) if origin == "PodGroup" else None
        if origin == "PodGroup" and doc is None:
            group.missing, group.quorum = True, None
        elif doc is not None:
            _read_pod_group(group, doc, policy)
        elif origin == "Job":
            _read_job(group, cluster, policy)
        elif origin in MAKERS:
            _read_gang(group, places[group.members[0].key], cluster, policy)
        elif origin in BY_TITLE:
            _read_language(group, places, cluster, policy)
        else:
            _read_from_members(group, origin, places, policy)
        _read_conflicts(group, places)
        _read_levels(group, policy)
        stated = doc or foreign_priority(group, cluster)
        read_rank(group, stated, cluster)
        if not group.parent:
            agree_on_priority(group, stated.doc("spec") if stated else Doc(None, key), cluster)
            _read_scheduler(group)
        groups.append(group)
    return groups


def _read_conflicts(group: Group, places: dict[str, Place]) -> None:
    """What is written must not contradict itself; members that are placed are not asked."""
    group.problems += [conflict for pod in group.pending if (conflict := places[pod.key].conflict)]
    if any(places[pod.key].conflict for pod in group.members):
        group.doubts.append("the sources of a member that is placed contradict each other")


def _read_gang(group: Group, place: Place, cluster: Cluster, policy: Policy) -> None:
    """What an operator's object makes at once; all pods that there are if the object is not known."""
    group.gang, gang = True, place.gang
    if gang is None:
        text = _agreed(group, MIN_COUNT)
        group.quorum = max(1, group.created) if text is None else _positive(group, MIN_COUNT, text)
        group.problems += _own_problems(group)
        _read_wishes(group, lambda key: _agreed(group, key), policy)
        return
    marks, problems = marks_above(place.above, gang)
    group.problems += problems
    group.quorum = gang.quorum
    group.loose = gang.loose
    group.marks = read_marks(
        place.above[0][1].doc("metadata").strings("labels"),
        place.above[0][1].doc("metadata").strings("annotations"),
    )
    on_owners = any(MIN_COUNT in meta_marks(doc) for _, doc in place.above)
    if MIN_COUNT in marks:
        group.quorum = _positive(group, MIN_COUNT, marks[MIN_COUNT])
        if on_owners and not gang.alone:
            group.problems.append(f"{MIN_COUNT} on an owner of several gangs")
    if any(meta_marks(doc).get(APART, EACH_JOB) != EACH_JOB for _, doc in place.above):
        group.problems.append(f"{APART} cannot be read")
    _read_wishes(group, marks.get, policy)
    if gang.within:
        if group.topology and group.topology != gang.within:
            group.problems.append(f"{TOPOLOGY} contradicts exclusive topology")
        group.topology = gang.within
    _read_progress(group, gang, cluster, MIN_COUNT not in marks)


def _read_progress(group: Group, gang: Gang, cluster: Cluster, takes_all: bool) -> None:
    """Pods of complete Jobs, as the owner counts them, and of the Jobs that go on the indexes that succeeded;
    those that failed for good are not waited for."""
    jobs: dict[str, list[Pod]] = {}
    for pod in group.members:
        if pod.controller is not None and wishes_of(pod, cluster) is not None:
            jobs.setdefault(pod.controller[1], []).append(pod)
    kept = 0
    for name, pods in jobs.items():
        job = cluster.jobs[f"{pods[0].namespace}/{name}"]
        wishes, succeeded = job.wishes, [pod for pod in pods if pod.succeeded]
        if 0 <= wishes.completions <= job.succeeded:
            kept += len(succeeded)
        elif 0 <= wishes.completions <= wishes.parallelism:
            indexes = {index for index in wishes.completed if gang.indexes(index)}
            group.removed += len(indexes - {pod.index for pod in succeeded})
            failed = sum(map(gang.indexes, wishes.failed))
            group.quorum = max(1, (group.quorum or 1) - failed) if takes_all and failed else group.quorum
    group.removed += max(0, gang.done - kept)


def _read_language(group: Group, places: dict[str, Place], cluster: Cluster, policy: Policy) -> None:
    """A group in another scheduler's language: its PodGroup says how many members it takes, else its pods."""
    language = BY_TITLE[group.kind]
    doc = cluster.foreign_groups.get(language.group, {}).get(group.key)
    quorum = foreign_quorum(doc, group.kind)
    counts = {places[pod.key].count for pod in group.active or group.members} - {None}
    group.gang = True
    group.problems += _own_problems(group)
    if quorum is not None:
        group.quorum = _positive(group, "minMember", str(quorum)) or 1_000_000
    elif len(counts) == 1:
        group.quorum = _positive(group, "its count", next(iter(counts)) or "")
    else:
        group.problems.append("its quorum is not stated, or is stated differently in two places")
    _read_wishes(group, lambda key: _agreed(group, key), policy)
    if doc is not None and quorum is not None:
        meta, asked = doc.doc("metadata"), doc.doc("spec").text("preemptibility")
        labels = meta.strings("labels") | ({PREEMPTIBILITY: asked} if asked and group.kind == "KAI" else {})
        group.marks = read_marks(labels, meta.strings("annotations"))
        required, preferred, read = foreign_topology(doc, group.kind)
        if required and group.topology not in ("", policy.level(required)):
            group.problems.append("its members require another level than its PodGroup")
        group.topology = policy.level(required) or group.topology
        group.preferred = (policy.level(preferred),) if preferred else group.preferred
        if not read:
            group.problems.append("its network topology names no level")
        if group.kind == "KAI" and wrong_parts(doc):
            group.problems.append("its parts cannot be as many as it takes")


def _read_job(group: Group, cluster: Cluster, policy: Policy) -> None:
    wishes = wishes_of(group.members[0], cluster) or Wishes()
    group.problems += wishes.problems
    group.gang = True
    group.quorum = wishes.asked or max(1, wishes.completions - len(wishes.failed))
    if wishes.count is not None:
        group.quorum = _positive(group, MIN_COUNT, wishes.count)
    if wishes.asked not in (None, group.quorum):
        group.problems.append("spec.scheduling and the mark differ")
    own, template = wishes.marks, wishes.of_template
    for key in (MIN_COUNT, TOPOLOGY, PREFERRED, SLICE_SIZE, SLICE_TOPOLOGY):
        if key in own and key in template and own[key] != template[key]:
            group.problems.append(f"the Job and its template differ on {key}")
    group.marks = read_marks(own, {})
    _read_wishes(group, {**template, **own}.get, policy)
    asked = Doc(None, "") if wishes.scheduling is None else wishes.scheduling
    constraints = asked.doc("schedulingConstraints").docs("topology")
    if constraints:
        if group.topology and group.topology != constraints[0].text("key"):
            group.problems.append(f"{TOPOLOGY} contradicts spec.scheduling")
        group.topology = constraints[0].text("key")
    kept = {pod.index for pod in group.members if pod.succeeded}
    group.removed = len(wishes.completed - kept)


def _read_pod_group(group: Group, doc: Doc, policy: Policy) -> None:
    spec = doc.doc("spec")
    group.quorum = _quorum(spec)
    group.gang = not spec.doc("schedulingPolicy").given("basic")
    group.atomic = is_atomic(spec)
    group.parent = parent_of(group.key, spec)
    labels, annotations = (doc.doc("metadata").strings(form) for form in ("labels", "annotations"))
    group.marks = read_marks(labels, annotations)
    group.problems += torn(labels, annotations)
    _read_wishes(group, {**annotations, **labels}.get, policy)
    constraints = spec.doc("schedulingConstraints").docs("topology")
    if constraints:
        key = constraints[0].text("key")
        if group.topology and group.topology != key:
            group.problems.append(f"{TOPOLOGY} contradicts schedulingConstraints")
        group.topology = key


def _quorum(spec: Doc) -> int:
    """The minCount of a gang, 1 for a basic group; `minMember` stands for a gang's minCount."""
    rule = spec.doc("schedulingPolicy")
    if rule.given("gang") and rule.given("basic"):
        raise spec.error("schedulingPolicy", "must be either basic or gang")
    if rule.given("basic"):
        return 1
    source, name = (rule.doc("gang"), "minCount") if rule.given("gang") else (spec, "minMember")
    if not source.given(name):
        raise spec.error("schedulingPolicy", "must be either basic or gang")
    quorum = source.integer(name)
    if quorum < 1:
        raise source.error(name, "must be at least 1")
    return quorum


def _read_from_members(group: Group, origin: str, places: dict[str, Place], policy: Policy) -> None:
    group.problems += _own_problems(group)
    if origin != "pod":
        text = _agreed(group, MIN_COUNT)
        others = {places[pod.key].count for pod in group.active or group.members} - {None}
        if text is None and others:
            text = min(map(str, others))
            if len(others) > 1:
                group.problems.append("members say different quorums")
        if text is not None:
            group.gang = True
            group.quorum = _positive(group, MIN_COUNT, text)
    _read_wishes(group, lambda key: _agreed(group, key), policy)


def _own_problems(group: Group) -> Iterator[str]:
    for pod in group.active:
        yield from all_marks(pod.labels, pod.annotations)[1]


def _mark(pod: Pod, key: str) -> str | None:
    """What a pod says of itself, as a label or as an annotation, in any language."""
    return all_marks(pod.labels, pod.annotations)[0].get(key)


def _said(group: Group, pod: Pod, key: str) -> str | None:
    """What a pod says, or else its Job."""
    own = _mark(pod, key)
    return group.inherited.get(pod.key, {}).get(key) if own is None else own


def _agreed(group: Group, key: str) -> str | None:
    """What the members say of something: they must not contradict each other, but one may be silent."""
    said = {_said(group, pod, key) for pod in group.active}
    ever = said | {_said(group, pod, key) for pod in group.members}
    jobs = {pod.key: group.inherited.get(pod.key, {}).get(key) for pod in group.active}
    if any(jobs[pod.key] and _mark(pod, key) not in (None, jobs[pod.key]) for pod in group.active):
        group.problems.append(f"a member and its Job differ on {key}")
    if len(said - {None}) > 1:
        group.problems.append(f"members disagree on {key}")
    elif len(ever) > 1:
        group.doubts.append(f"not all members say the same of {key}")
    values = sorted(value for value in (said if said - {None} else ever) if value is not None)
    return values[0] if values else None


def _read_wishes(group: Group, read: Callable[[str], str | None], policy: Policy) -> None:
    """The group-level annotations: the topology that all share, what it prefers, and the slices."""
    required, preferred = read(TOPOLOGY), read(PREFERRED)
    group.topology = policy.level(required or "")
    group.preferred = tuple(policy.level(name.strip()) for name in (preferred or "").split(","))
    if required == "" or (preferred is not None and "" in group.preferred):
        group.problems.append("a level that it names is empty")
    size, level = read(SLICE_SIZE), read(SLICE_TOPOLOGY)
    if (size is None) != (level is None):
        group.problems.append(f"{SLICE_SIZE} and {SLICE_TOPOLOGY} belong together")
    elif size is not None and level is not None:
        group.slice_size = _positive(group, SLICE_SIZE, size) or 0
        group.slice_topology = policy.level(level)


def _read_levels(group: Group, policy: Policy) -> None:
    """Levels must make sense together. Only the policy says which of two levels is the wider one."""
    order = list(policy.levels.values())
    if group.topology in order and group.slice_topology in order:
        if order.index(group.slice_topology) < order.index(group.topology):
            group.problems.append("its slices are wider than its required level")
    elif group.slice_size and group.topology:
        group.doubts.append("not known whether its slices are wider than its required level")
    if group.preferred != ("",):
        group.doubts.append("its preferred levels may contradict each other or the required one")


def _positive(group: Group, key: str, text: str) -> int | None:
    if re.fullmatch("0*[1-9][0-9]{0,6}", text[:20]) and len(text) <= 20 and int(text) <= 1_000_000:
        return int(text)
    group.problems.append(f"{key}: {text!r} is not a positive number")
    return None


def _read_scheduler(group: Group) -> None:
    if len({pod.scheduler for pod in group.active}) > 1:
        group.problems.append("members name different schedulers")
    elif len({pod.scheduler for pod in group.members if not pod.finished}) > 1:
        group.doubts.append("a terminating member names another scheduler")
