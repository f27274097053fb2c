"""Run-time limits of queues: docs/queues.md, a second time. Jobs end when their groups have had their time.

A deadline that comes too early ends work that may go on; one that is missing, or comes too late, lets a group
have more than its queue allows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from .case import Breach, Case, breach
from .fields import Doc
from .groups import Group
from .impossible import stays
from .payers import places_of
from .pods import Pod
from .queues import Rights
from .rights import LIMITS, Books
from .times import LONGEST, duration, thousandths

MAX_RUNTIME, NOTE = "maitred.dev/max-runtime", "maitred.dev/set-deadline"
UNITS = {"kueue.x-k8s.io/max-exec-time-seconds": 1000, "slurmjob.slinky.slurm.net/timelimit": 60_000}
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
SECOND = 1000


@dataclass(frozen=True)
class JobClock:
    """What a Job says of its end, in thousandths of a second."""

    doc: Doc

    @property
    def begun(self) -> int | None:
        started = self.doc.doc("status").moment("startTime")
        return None if started is None or self.doc.doc("spec").flag("suspend") else thousandths(started)

    @property
    def is_kept(self) -> bool:
        """Whether Kubernetes keeps its deadline: what others manage, they may end or not."""
        return self.doc.doc("spec").text("managedBy") in ("", "kubernetes.io/job-controller")

    @property
    def end(self) -> int | None:
        known = self.begun is not None and self.seconds is not None and self.is_kept
        return (self.begun or 0) + (self.seconds or 0) * SECOND if known else None

    @property
    def seconds(self) -> int | None:
        spec = self.doc.doc("spec")
        return spec.integer("activeDeadlineSeconds") if spec.given("activeDeadlineSeconds") else None

    @property
    def is_ours(self) -> bool:
        note = self.doc.doc("metadata").strings("annotations").get(NOTE)
        return self.seconds is not None and note == str(self.seconds)

    def serves(self, group: Group) -> bool:
        """Whether the group ends with it: all of its pods are in the group, at the same time."""
        spec, meta = self.doc.doc("spec"), self.doc.doc("metadata")
        pods = spec.integer("parallelism") if spec.given("parallelism") else 1
        at_once = not spec.given("completions") or spec.integer("completions") <= pods
        free = meta.text("namespace") not in SYSTEM
        return at_once and self.is_kept and free and (group.gang or pods == 1)


def judge_deadlines(case: Case) -> Iterator[Breach]:
    told = case.plan.docs("deadlines")
    said = {doc.text("job"): doc for doc in told if not doc.text("pod")}
    of_pods = {doc.text("pod"): doc for doc in told if doc.text("pod")}
    due, pods = dict[str, int](), dict[str, int]()
    if any(rule.enforces for rule in case.policy.rights.queues.values()):
        due, pods = dict(_due(case)), dict(_due_pods(case))
    for name, doc in said.items():
        for fault in _faults(case, name, doc, due):
            yield breach(LIMITS, f"Job {name}", fault)
    for name, doc in of_pods.items():
        for fault in _faults_of_pod(case, name, doc, pods):
            yield breach(LIMITS, f"pod {name}", fault)
    missing = [f"Job {name}" for name in due.keys() - said.keys()]
    missing += [f"pod {name}" for name in pods.keys() - of_pods.keys()]
    for name in sorted(missing):
        yield breach(LIMITS, name, "runs in a queue that enforces limits, and does not end with its limit")


def _faults_of_pod(case: Case, name: str, doc: Doc, due: Mapping[str, int]) -> Iterator[str]:
    pod = case.cluster.pods.get(name)
    if pod is None or doc.text("uid") != pod.uid:
        yield "is given a deadline, and there is no such pod"
    elif name not in due or pod.started is None:
        yield "is given a deadline, and no queue says that it ends"
    else:
        right = max(1, ceil((due[name] - thousandths(pod.started)) / SECOND))
        if not doc.given("seconds") or abs(doc.integer("seconds") - right) > 1:
            yield f"ends after {doc.raw.get('seconds')} s, and its limit is over after {right} s"


def _due_pods(case: Case) -> Iterator[tuple[str, int]]:
    """Pods that nobody controls that end later than the limits of their groups, and when they should."""
    books = Books(case)
    for group in {case.leaf_of[pod.key] for pod in case.cluster.pods.values() if pod.key in case.leaf_of}:
        here = [pod for pod in group.members if _is_here(pod)]
        starts = [thousandths(pod.started) for pod in here if pod.started is not None]
        limit = group_limit(case, books, group, here) if starts else None
        for pod in here if limit is not None else ():
            if pod.started is None or pod.controller is not None:
                continue
            end, own = min(starts) + (limit or 0), _own_span(case, pod)
            latest = max(end, thousandths(pod.started) + SECOND) + SECOND
            if own is None or thousandths(pod.started) + own > latest:
                yield pod.key, end


def _own_span(case: Case, pod: Pod) -> int | None:
    spec = case.cluster.raw[("Pod", pod.key)].doc("spec")
    return spec.integer("activeDeadlineSeconds") * SECOND if spec.given("activeDeadlineSeconds") else None


def _faults(case: Case, name: str, doc: Doc, due: Mapping[str, int]) -> Iterator[str]:
    job = _job(case, name)
    if job is None or doc.text("uid") != job.doc.doc("metadata").text("uid"):
        yield "is given a deadline, and there is no such Job"
        return
    if not doc.given("seconds"):
        if not job.is_ours:
            yield "loses a deadline that somebody else has set"
        elif any(_is_of(pod, name) and _is_here(pod) for pod in case.cluster.pods.values()):
            yield "loses its deadline, and its pods are on nodes"
        return
    if name not in due or job.begun is None:
        yield "is given a deadline, and no queue says that it ends"
        return
    right = max(1, ceil((due[name] - job.begun) / SECOND))
    if abs(doc.integer("seconds") - right) > 1:
        yield f"ends after {doc.integer('seconds')} s, and its limit is over after {right} s"


def _due(case: Case) -> Iterator[tuple[str, int]]:
    """Jobs that end later than their limits, and when they should."""
    books, found = Books(case), dict[str, int]()
    for group in {case.leaf_of[pod.key] for pod in case.cluster.pods.values() if pod.key in case.leaf_of}:
        here = [pod for pod in group.members if _is_here(pod)]
        starts = [thousandths(pod.started) for pod in here if pod.started is not None]
        limit = group_limit(case, books, group, here) if starts else None
        if limit is None:
            continue
        for name in {f"{pod.namespace}/{pod.controller[1]}" for pod in here if pod.controller is not None}:
            job, end = _job(case, name), min(starts) + limit
            if job is None or job.begun is None:
                continue
            if job.seconds is None or job.begun + job.seconds * SECOND > end + SECOND:
                found[name] = min(end, found.get(name, end))
    yield from found.items()


def group_limit(case: Case, books: Books, group: Group, here: list[Pod]) -> int | None:
    """How long a group may run, if its queue ends it."""
    members = [pod for pod in group.members if not pod.finished]
    alone = all(_is_alone(pod) for pod in members)
    for pod in members if not alone else ():
        job = _job(case, f"{pod.namespace}/{pod.controller[1]}") if _has_job(pod) and pod.controller else None
        if job is None or not job.serves(group):
            return None
    queue, rights = books.queue(here[0]), case.policy.rights
    rules = [rights.queues[name] for name in rights.chain(queue)] if queue else []
    if not any(rule.enforces for rule in rules) or (alone and not any(rule.ends_pods for rule in rules)):
        return None
    asked, (default, most) = asked_by(case, group), terms_of(rights, queue)
    limit = default if asked is None else asked
    return most if limit is None else limit if most is None else min(limit, most)


def terms_of(rights: Rights, queue: str) -> tuple[int | None, int | None]:
    """The default of a queue, and the most that it allows."""
    rules = [rights.queues[name] for name in rights.chain(queue)]
    defaults = [rule.default_span for rule in rules if rule.default_span is not None]
    longest = [rule.longest for rule in rules if rule.longest is not None]
    return defaults[-1] if defaults else None, min(longest, default=None)


def asked_by(case: Case, group: Group) -> int | None:
    """The longest limit that a member asks for, if all of them ask for one."""
    asked = [_asked(case, pod) for pod in group.members if not pod.finished]
    known = [one for one in asked if one is not None]
    return max(known) if known and len(known) == len(asked) else None


def _asked(case: Case, pod: Pod) -> int | None:
    for marks in places_of(pod, case.leaf_of[pod.key].key, case.cluster):
        for key in (MAX_RUNTIME, *UNITS):
            if (span := _span(key, marks.get(key, ""))) is not None:
                return span
    return None


def _span(key: str, text: str) -> int | None:
    if key == MAX_RUNTIME:
        return duration(text) or None if text else None
    is_number = 0 < len(text) <= 10 and text.isascii() and text.isdigit()
    span = int(text) * UNITS[key] if is_number else 0
    return span if 0 < span <= LONGEST else None


def _job(case: Case, name: str) -> JobClock | None:
    found = case.cluster.owners.get("Job", {}).get(name)
    return None if found is None else JobClock(found)


def _is_alone(pod: Pod) -> bool:
    return pod.controller is None and not stays(pod) and pod.namespace not in SYSTEM


def _has_job(pod: Pod) -> bool:
    return pod.controller is not None and pod.controller[0] == "Job"


def _is_of(pod: Pod, job: str) -> bool:
    return _has_job(pod) and pod.controller is not None and f"{pod.namespace}/{pod.controller[1]}" == job


def _is_here(pod: Pod) -> bool:
    return bool(pod.node_name) and not pod.finished and not pod.deleting
