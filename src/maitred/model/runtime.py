"""When a pod or a group ends, and who says so; and how long it takes to leave.

There are two kinds of ends. An end that is *enforced* comes from Kubernetes, or from us through it:

- `activeDeadlineSeconds` of a Job, which counts from its `status.startTime`: while its pods wait, too. The
  clock stops when the Job is suspended, and begins anew when it is resumed;
- `activeDeadlineSeconds` of a pod, which counts from when its node has accepted it;
- a run-time limit in a queue that enforces them: the leader sets the deadline of the Job accordingly, or of
  the pods that nobody controls.

All else is an *estimate*: what a group says of how long it runs, and limits that nobody enforces. A run-time
limit counts from when the first member has its place, and anew after the group has lost all of its places.

Everybody who wants to know when something ends asks `limits_of` (how long, before it starts) or `ends_of`
(when, once it has started). What users wrote and cannot be read is not known: it is told, and counts for
nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from maitred.model.duration import FORM, LONGEST, milliseconds
from maitred.model.job import JOB_CONTROLLER, SYSTEM_NAMESPACES, Job
from maitred.model.meta import CUT_TO, Lean, MarkSaid, ObjectMeta, own_mark
from maitred.model.pod import MIRROR
from maitred.model.timing import UNTIMED, WantedTimes, common_timing, timing_of

EXPECTED_RUNTIME, MAX_RUNTIME = "maitred.dev/expected-runtime", "maitred.dev/max-runtime"
KUEUE_LIMIT, SLINKY_LIMIT = "kueue.x-k8s.io/max-exec-time-seconds", "slurmjob.slinky.slurm.net/timelimit"
FOREIGN_LIMITS = {KUEUE_LIMIT: ("seconds", 1_000), SLINKY_LIMIT: ("minutes", 60_000)}
"""What others call our limit: whole numbers of this unit, and how many milliseconds it has."""
SET_DEADLINE = "maitred.dev/set-deadline"
"""On a Job: the `activeDeadlineSeconds` that we have set. Where it is another by now, somebody else has."""
LIMIT_MARKS = (MAX_RUNTIME, *FOREIGN_LIMITS)
"""Where a run-time limit is asked for; of those on one object, the first counts."""
MOST_DIGITS = 10
DEFAULT_GRACE = 30_000
"""What the API server writes into pods that do not say."""


class Stay(Lean, frozen=True):
    """What is said of how long a pod may keep its place, above what it says of itself: by the objects of its
    group and by its owners. Times in milliseconds; None for what is not said."""

    asked: int | None = None
    """The run-time limit that is asked for, by the nearest of them, or by the pod itself,"""
    key: str = ""
    """and with which mark."""
    deadline: int | None = None
    """Since 1970: when Kubernetes ends its Job, whether or not its pods have their places by then."""
    endable: bool = False
    """The deadline of its Job could be set so that the group ends with its limit."""
    unread: str = ""
    """A limit that cannot be read: which, and what is wrong with it."""
    timing: WantedTimes = UNTIMED


NO_STAY = Stay()


class Runtime(Lean, frozen=True):
    """In milliseconds from its start; None for what is not said."""

    expected: int | None = None
    limit: int | None = None
    """Its pods are stopped after so long, whether or not they are done: `activeDeadlineSeconds` in them."""
    grace: int = DEFAULT_GRACE
    """How long it may take to leave once it has to."""
    unread: str | None = None
    """What was said and cannot be read."""
    endable: bool = False
    """Nobody controls it: its own deadline could be set, and nobody would make another pod in its place."""
    stay: Stay = NO_STAY
    """Of a group: what holds for all of its members."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What cannot be read, and what follows from that."""
        found = []
        if self.unread is not None:
            what = f"{EXPECTED_RUNTIME}: {self.unread[:CUT_TO]!r} is not {FORM}, and longer than 0"
            found.append(f"{what}; so it is not known when it ends")
        if self.stay.unread:
            found.append(f"{self.stay.unread}; so it counts for nothing")
        found += [f"{unread}; so it counts for nothing" for unread in self.stay.timing.unread]
        return tuple(found)


NOT_SAID, NOT_SAID_ALONE = Runtime(), Runtime(endable=True)


class RunTerms(NamedTuple):
    """What a queue says of run times, in milliseconds, and which queue it is that says so: itself, or one
    above it."""

    default: int | None = None
    default_of: str = ""
    most: int | None = None
    most_of: str = ""
    enforced: bool = False
    pods: bool = False
    """That is so of pods that nobody controls, too."""


NO_TERMS = RunTerms()
"""Where there are no queues."""

LimitSource = Literal["pod-deadline", "asked", "queue-default", "queue-most"]
EndSource = Literal["job-deadline", "pod-deadline", "asked", "queue-default", "queue-most", "expected"]


class RunLimit(NamedTuple):
    """How long a group keeps its places at most, from when the first of its members has one."""

    span: int
    """In milliseconds."""
    source: LimitSource
    said: str
    """By whose word: the mark that asks for it, the name of the queue, or the field of its pods."""
    enforced: bool
    """Whether somebody ends it then. Otherwise it is an estimate."""


class End(NamedTuple):
    """When a group ends at the latest, as somebody says."""

    at: int
    """In milliseconds since 1970."""
    source: EndSource
    said: str
    enforced: bool


POD_DEADLINE = "activeDeadlineSeconds of its pods"
JOB_DEADLINE = "activeDeadlineSeconds of its Job"


# -- what is said ------------------------------------------------------------------------------------------


def runtime_of(
    metadata: ObjectMeta,
    deadline_seconds: int | None = None,
    grace_seconds: int | None = None,
    endable: bool = False,
) -> Runtime:
    """What an object says of itself."""
    said, grace = own_mark(metadata, EXPECTED_RUNTIME), DEFAULT_GRACE
    if grace_seconds is not None:
        grace = grace_seconds * 1000
    if said is None and deadline_seconds is None and grace == DEFAULT_GRACE:
        return NOT_SAID_ALONE if endable else NOT_SAID
    expected = None if said is None else milliseconds(said) or None
    unread = said if expected is None else None
    limit = None if deadline_seconds is None else in_bounds(deadline_seconds)
    return Runtime(expected, limit, grace, unread, endable)


def is_alone(about: ObjectMeta) -> bool:
    """Whether nobody controls a pod, neither its node nor anybody else, and it is not of the system."""
    owners = about.owner_references
    controlled = bool(owners) and any(owner.controller for owner in owners)
    return not controlled and MIRROR not in about.annotations and about.namespace not in SYSTEM_NAMESPACES


def in_bounds(seconds: int) -> int:
    """Of what is written as a whole number of any size, in milliseconds."""
    return min(max(0, seconds) * 1000, LONGEST)


def together(group: Runtime, members: Iterable[Runtime], stays: Iterable[Stay] = ()) -> Runtime:
    """Of a group: what it says itself, or else the longest that its members say. `stays`: what is said above
    them."""
    told = set(members)
    expected = [member.expected for member in told if member.expected is not None]
    limits = [member.limit for member in told if member.limit is not None]
    unread = [said.unread for said in (group, *sorted(told, key=repr)) if said.unread is not None]
    return Runtime(
        expected=max(expected, default=None) if group.expected is None else group.expected,
        limit=max(limits) if limits and len(limits) == len(told) else None,
        grace=max((member.grace for member in told), default=DEFAULT_GRACE),
        unread=unread[0] if unread else None,
        endable=bool(told) and all(member.endable for member in told),
        stay=common_stay(set(stays)),
    )


def common_stay(stays: Collection[Stay]) -> Stay:
    """Of members: the longest limit, if all of them have one. The group breaks when its first Job ends."""
    if len(stays) <= 1:
        return next(iter(stays), NO_STAY)
    every = sorted(stays, key=repr)
    longest = max(every, key=lambda one: one.asked or 0) if all(one.asked for one in every) else NO_STAY
    return Stay(
        longest.asked,
        longest.key,
        min((one.deadline for one in every if one.deadline is not None), default=None),
        all(one.endable for one in every),
        next((one.unread for one in every if one.unread), ""),
        common_timing({one.timing for one in every}),
    )


def stay_of(
    marks: Sequence[Sequence[MarkSaid]],
    job: Job | None,
    one_gang: bool,
    times: Sequence[Sequence[MarkSaid]] = (),
) -> Stay:
    """`marks`: the limits that each place asks for, the nearest to the pod first. `one_gang`: whether the
    group takes all pods of its Job at once. A limit that cannot be read is passed over. `times`: what each
    place says of when it must be done, and of when it may start."""
    asked, key, unread = None, "", ""
    for one in (one for place in marks for one in place):
        asked = limit_in(one)
        if asked is not None:
            key = one.key
            break
        unread = unread or f"{one.key}: {one.value[:CUT_TO]!r} is not {form_of(one.key)}, and longer than 0"
    deadline = None if job is None else deadline_of(job)
    endable = job is not None and can_be_ended(job, one_gang)
    timing = timing_of(times)
    if asked is None and deadline is None and not endable and not unread and timing is UNTIMED:
        return NO_STAY
    return Stay(asked, key, deadline, endable, unread, timing)


def limit_in(said: MarkSaid) -> int | None:
    """In milliseconds; None for what is no limit."""
    if said.key == MAX_RUNTIME:
        return milliseconds(said.value) or None
    _, unit = FOREIGN_LIMITS[said.key]
    is_number = len(said.value) <= MOST_DIGITS and said.value.isascii() and said.value.isdigit()
    span = int(said.value) * unit if is_number else 0
    return span if 0 < span <= LONGEST else None


def form_of(key: str) -> str:
    return FORM if key == MAX_RUNTIME else f"a whole number of {FOREIGN_LIMITS[key][0]}"


# -- Jobs --------------------------------------------------------------------------------------------------


def deadline_of(job: Job) -> int | None:
    """When Kubernetes ends a Job, in milliseconds since 1970; None if it does not, or its clock stands."""
    seconds, started = job.spec.active_deadline_seconds, job.status.start_time
    if seconds is None or started is None or job.spec.suspend or not is_managed_by_kubernetes(job):
        return None
    return round(started.timestamp() * 1000) + in_bounds(seconds)


def is_managed_by_kubernetes(job: Job) -> bool:
    """Whoever else manages a Job may end it or not."""
    return job.spec.managed_by in ("", JOB_CONTROLLER)


def can_be_ended(job: Job, one_gang: bool) -> bool:
    """Whether the deadline of a Job says when its group ends. Where its pods are decided one by one, or come
    one after the other, a Job that ends would take pods with it that have only begun."""
    pods = 1 if job.spec.parallelism is None else job.spec.parallelism
    at_once = job.spec.completions is None or job.spec.completions <= pods
    ours = job.metadata.namespace not in SYSTEM_NAMESPACES
    return ours and is_managed_by_kubernetes(job) and at_once and (one_gang or pods == 1)


def is_set_by_us(job: Job) -> bool:
    said = job.metadata.annotations.get(SET_DEADLINE)
    return said is not None and said == str(job.spec.active_deadline_seconds)


# -- when it ends ------------------------------------------------------------------------------------------


def limits_of(runtime: Runtime, terms: RunTerms = NO_TERMS) -> tuple[RunLimit, ...]:
    """How long a group keeps its places at most, once it has them; the shortest first. Empty: nobody says.

    `terms` is what its queue says. What it asks for beyond the most that the queue allows is that most; a
    group that waits and asks for more is `Invalid`. The deadline of its Job is not among these, because
    nobody knows when the group starts: see `Runtime.stay.deadline`.
    """
    found = list[RunLimit]()
    if runtime.limit is not None:
        found.append(RunLimit(runtime.limit, "pod-deadline", POD_DEADLINE, True))
    stay = runtime.stay
    enforced = terms.enforced and (stay.endable or (terms.pods and runtime.endable))
    if terms.most is not None and (stay.asked or terms.default or LONGEST) >= terms.most:
        found.append(RunLimit(terms.most, "queue-most", terms.most_of, enforced))
    elif stay.asked is not None:
        found.append(RunLimit(stay.asked, "asked", stay.key, enforced))
    elif terms.default is not None:
        found.append(RunLimit(terms.default, "queue-default", terms.default_of, enforced))
    return tuple(sorted(found, key=lambda one: (one.span, not one.enforced)))


def limit_of(runtime: Runtime, terms: RunTerms = NO_TERMS) -> RunLimit | None:
    """The shortest of `limits_of`, whether or not anybody enforces it."""
    return next(iter(limits_of(runtime, terms)), None)


def enforced_limit_of(runtime: Runtime, terms: RunTerms = NO_TERMS) -> RunLimit | None:
    """The shortest of those that somebody enforces: a promise may count on it."""
    return next((one for one in limits_of(runtime, terms) if one.enforced), None)


def ends_of(started: int, runtime: Runtime, terms: RunTerms = NO_TERMS) -> tuple[End, ...]:
    """When a group that has started ends at the latest, by everybody who says something; the earliest first.
    `started`: when its first member had its place, in milliseconds since 1970."""
    found = [End(started + one.span, one.source, one.said, one.enforced) for one in limits_of(runtime, terms)]
    if runtime.stay.deadline is not None:
        found.append(End(runtime.stay.deadline, "job-deadline", JOB_DEADLINE, True))
    if runtime.expected is not None:
        found.append(End(started + runtime.expected, "expected", EXPECTED_RUNTIME, False))
    return tuple(sorted(found, key=lambda one: (one.at, not one.enforced)))


def last_end_of(started: int, runtime: Runtime, terms: RunTerms = NO_TERMS) -> End | None:
    """By when it has ended, for certain; None if nobody enforces an end."""
    return next((one for one in ends_of(started, runtime, terms) if one.enforced), None)


def with_stay(runtime: Runtime, stay: Stay) -> Runtime:
    """Of a lone pod: what it says of itself, with what is said above it."""
    return runtime if stay is NO_STAY else msgspec.structs.replace(runtime, stay=stay)
