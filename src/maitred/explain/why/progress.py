"""How far the members that have their places have got, and what holds up those that are not Ready."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from maitred.cluster.leaving import LATE
from maitred.explain.why.seen import Seen, SeenEvent
from maitred.model.container_status import ContainerStatus, EndedContainer, WaitingContainer
from maitred.model.meta import Timestamp, key_of
from maitred.model.node import ContainerImage
from maitred.model.plan import Record
from maitred.model.pod import Pod
from maitred.model.words import counted, moment

MOST_SLOW = 5
LONGEST_MESSAGE = 200
GIGABYTE, MEGABYTE = 10**9, 10**6

NOT_STARTED = ("", "ContainerCreating", "PodInitializing")
"""What the kubelet says before it has anything to say."""
PULL_FAILURES = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
TROUBLES = (
    *("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"),
    *("NetworkNotReady", "FailedCreatePodContainer", "Failed", "FailedPostStartHook"),
)
"""Events that tell why nothing has started."""
LEFT_LATE = timedelta(milliseconds=LATE)
NONE_LOST: Mapping[str, str] = {}
_QUOTED = re.compile(r'"([^"]+)"')


class Slow(Record, frozen=True):
    """Members that are not Ready for the same cause."""

    cause: str
    """One word: `Pulling`, `Pull`, `Mount`, `Crash`, `Init`, `Unready`, `Kubelet`, `Failed`, `Leaving`,
    `Stuck`, `Lost`, or as the kubelet calls it."""
    members: int
    pod: str
    """The one of them that has been so for longest,"""
    node: str
    since: str | None
    """and since when."""
    seconds: float | None
    words: str


class Progress(Record, frozen=True):
    members: int
    ready: int
    succeeded: int
    failed: int
    slow: tuple[Slow, ...]
    """By cause, the one that holds up most members first."""
    last_change: str | None
    """When the latest of those that are Ready, or over, became so."""


Stop = tuple[str, Timestamp | None, str]
"""A cause, since when, and in words."""


def progress_of(
    pods: Iterable[Pod],
    seen: Seen,
    images: "ImageSizes",
    now: datetime,
    lost: Mapping[str, str] = NONE_LOST,
) -> Progress:
    """Of the members that have a node, or are over. `lost` are nodes of which nothing is heard, and how."""
    ready = succeeded = failed = members = 0
    stops: dict[str, list[tuple[Pod, Stop]]] = {}
    stop: Stop
    changes: list[Timestamp] = []
    for pod in pods:
        members += 1
        gone = lost.get(pod.spec.node_name)
        changed = over_since(pod) or (None if gone else ready_since(pod))
        if changed is not None:
            changes.append(changed)
        if pod.status.phase == "Succeeded":
            succeeded += 1
        elif gone and pod.status.phase != "Failed":
            stop = ("Lost", None, f"{gone}, so the state of its pods is not known")
            stops.setdefault("Lost", []).append((pod, stop))
        elif pod.metadata.deletion_timestamp is None and pod.status.phase != "Failed" and is_ready(pod):
            ready += 1
        else:
            failed += pod.status.phase == "Failed"
            stop = stop_of(pod, seen.events_of(key_of(pod.metadata)), images, now)
            stops.setdefault(stop[0], []).append((pod, stop))
    slow = sorted(
        (slowest(found, now) for found in stops.values()), key=lambda one: (-one.members, one.cause)
    )
    last = max(changes, default=None)
    return Progress(members, ready, succeeded, failed, tuple(slow[:MOST_SLOW]), in_words(last))


def in_words(time: Timestamp | None) -> str | None:
    return None if time is None else moment(int(time.timestamp()))


def slowest(found: Sequence[tuple[Pod, Stop]], now: datetime) -> Slow:
    """All members that are held up alike, told by the one that has been so for longest."""
    pod, (cause, since, words) = min(found, key=lambda one: (one[1][1] or now, key_of(one[0].metadata)))
    return Slow(
        cause=cause,
        members=len(found),
        pod=key_of(pod.metadata),
        node=pod.spec.node_name,
        since=in_words(since),
        seconds=max((now - since).total_seconds(), 0.0) if since else None,
        words=words,
    )


def is_told(pod: Pod) -> bool:
    """Whether anybody has written how it is doing: manifests that people write say nothing of that."""
    status = pod.status
    over = status.phase in ("Succeeded", "Failed")
    return bool(status.conditions or status.init_container_statuses or status.container_statuses or over)


def is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


def ready_since(pod: Pod) -> Timestamp | None:
    times = (one.last_transition_time for one in pod.status.conditions if one.type == "Ready")
    return next(times, None) if is_ready(pod) else None


def over_since(pod: Pod) -> Timestamp | None:
    """When the last of its containers ended; None if it is not over."""
    if pod.status.phase not in ("Succeeded", "Failed"):
        return None
    ended = (status.state.terminated for status in pod.status.container_statuses)
    return max((one.finished_at for one in ended if one and one.finished_at), default=None)


def bound_since(pod: Pod) -> Timestamp | None:
    for one in pod.status.conditions:
        if one.type == "PodScheduled" and one.status == "True":
            return one.last_transition_time
    return pod.status.start_time


# -- one member ----------------------------------------------------------------------------------------


def stop_of(pod: Pod, events: Sequence[SeenEvent], images: "ImageSizes", now: datetime) -> Stop:
    if pod.status.phase == "Failed":
        return "Failed", over_since(pod), failure_words(pod)
    due = pod.metadata.deletion_timestamp
    if due is not None:
        late = due + LEFT_LATE <= now
        return (
            ("Stuck", due, "is past its grace period and still there")
            if late
            else ("Leaving", None, "leaving")
        )
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        stop = container_stop(pod, status, events, images)
        if stop is not None:
            return stop
    if any(status.state.running for status in pod.status.container_statuses):
        return unready(pod, events)
    return not_started(pod, events, images)


def container_stop(
    pod: Pod, status: ContainerStatus, events: Sequence[SeenEvent], images: "ImageSizes"
) -> Stop | None:
    """The first container, init containers before the others, that holds it up; None if this one does not."""
    held, initial = status.state.waiting, status in pod.status.init_container_statuses
    if held is not None:
        if held.reason in PULL_FAILURES:
            return "Pull", bound_since(pod), f"cannot pull {status.image}: {brief(held)}"
        if held.reason == "CrashLoopBackOff":
            return crash(pod, status)
        if held.reason not in NOT_STARTED:
            return held.reason, bound_since(pod), f"{held.reason}: {brief(held)}"
        return not_started(pod, events, images) if not initial or is_next(pod, status) else None
    if initial and status.state.running is not None and not status.ready:
        since = status.state.running.started_at
        return "Init", since, f"running init container {status.name}"
    return None


def is_next(pod: Pod, status: ContainerStatus) -> bool:
    """Whether this init container is the one whose turn it is: those before it are done or keep running."""
    before = pod.status.init_container_statuses[: pod.status.init_container_statuses.index(status)]
    return all(one.ready or one.state.terminated is not None for one in before)


def crash(pod: Pod, status: ContainerStatus) -> Stop:
    last = status.last_state.terminated
    how = f", last with {exit_words(last)}" if last else ""
    since = last.finished_at if last else None
    times = counted(status.restart_count, "time")
    return "Crash", since, f"crashing: container {status.name} was restarted {times}{how}"


def unready(pod: Pod, events: Sequence[SeenEvent]) -> Stop:
    starts = [s.state.running.started_at for s in pod.status.container_statuses if s.state.running]
    since = max((start for start in starts if start), default=None)
    probe = latest(event for event in events if event.reason == "Unhealthy")
    said = f": {shortened(probe.words)}" if probe else ""
    return "Unready", since, f"running, not Ready{said}"


def not_started(pod: Pod, events: Sequence[SeenEvent], images: "ImageSizes") -> Stop:
    """Nothing runs yet: an image is on its way, something failed, or nobody has looked at the pod."""
    pulling = unfinished_pull(events)
    trouble = latest(event for event in events if event.reason in TROUBLES)
    if trouble is not None and (pulling is None or after(trouble, pulling)):
        cause = "Mount" if trouble.reason in ("FailedMount", "FailedAttachVolume") else trouble.reason
        return cause, bound_since(pod), f"{trouble.reason}: {shortened(trouble.words)}"
    if pulling is not None:
        size = images.words(image_of(pulling))
        return "Pulling", pulling.latest, f"pulling {size or image_of(pulling)}"
    if pod.status.container_statuses or events:
        return "Starting", bound_since(pod), "creating its containers"
    return "Kubelet", bound_since(pod), "has not started it"


def unfinished_pull(events: Sequence[SeenEvent]) -> SeenEvent | None:
    """The image that is being pulled: there is no later word of it."""
    pulling = latest(event for event in events if event.reason == "Pulling")
    if pulling is None:
        return None
    done = [
        e for e in events if e.reason in ("Pulled", "Failed", "BackOff") and image_of(e) == image_of(pulling)
    ]
    return None if any(after(event, pulling) for event in done) else pulling


def latest(events: Iterable[SeenEvent]) -> SeenEvent | None:
    timed = [event for event in events if event.latest is not None]
    return max(timed, key=lambda event: event.latest.timestamp() if event.latest else 0.0, default=None)


def after(event: SeenEvent, other: SeenEvent) -> bool:
    """Events have whole seconds, and what ends something is written after what began it."""
    return event.latest is not None and other.latest is not None and event.latest >= other.latest


def image_of(event: SeenEvent) -> str:
    found = _QUOTED.search(event.words)
    return found[1] if found else ""


def failure_words(pod: Pod) -> str:
    """The first container that ended badly, or else what the kubelet says of the pod."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        ended = status.state.terminated
        if ended is not None and (ended.exit_code or ended.reason not in ("", "Completed")):
            return f"failed: container {status.name} ended with {exit_words(ended)}"
    said = ": ".join(part for part in (pod.status.reason, shortened(pod.status.message)) if part)
    return f"failed: {said}" if said else "failed"


def exit_words(ended: EndedContainer) -> str:
    reason = f" ({ended.reason})" if ended.reason not in ("", "Error", "Completed") else ""
    return f"exit code {ended.exit_code}{reason}"


def brief(held: WaitingContainer) -> str:
    return shortened(held.message) or held.reason


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 3]}..."


# -- images --------------------------------------------------------------------------------------------


class ImageSizes:
    """How large images are, as some node tells that has them."""

    def __init__(self, nodes: Iterable[tuple[ContainerImage, ...]]) -> None:
        self._nodes = nodes
        self._sizes: Mapping[str, int] | None = None

    def words(self, image: str) -> str:
        """`38 GB`; empty if no node has it."""
        size = self.of(image)
        if size >= GIGABYTE:
            return f"{size / GIGABYTE:.1f}".removesuffix(".0") + " GB"
        return f"{size / MEGABYTE:.0f} MB" if size else ""

    def of(self, image: str) -> int:
        if self._sizes is None:
            distinct = {one for images in self._nodes for one in images}
            self._sizes = {full_name(name): one.size_bytes for one in distinct for name in one.names}
        return self._sizes.get(full_name(image), 0)


def full_name(image: str) -> str:
    """With the registry, path and tag that are meant where a short name leaves them out."""
    first, slash, rest = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif not ("." in first or ":" in first or first == "localhost"):
        image = f"docker.io/{first}/{rest}"
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:latest"
