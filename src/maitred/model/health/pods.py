"""What kubelets and controllers say of one pod: refused, evicted, not started, ended, and of its devices.

Tenants can bring most of this about: they write the image, the command, the volumes and even the node. So a
signal about a pod says nothing of its node. Only what the kubelet reports of devices is the kubelet's own.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from maitred.model.container_status import ContainerStatus, EndedContainer, WaitingContainer
from maitred.model.health.signals import Certainty, Evidence, Family, Kind, Signal
from maitred.model.meta import CUT_TO, Timestamp, key_of
from maitred.model.pod import Pod
from maitred.model.reports import SaidCondition
from maitred.model.times import LAST_SECOND, before

LONGEST_MESSAGE = 500
START_LIMIT = timedelta(minutes=5)
"""A pod that has had its node for longer, and runs nothing, is stuck."""
RECENT = timedelta(minutes=10)
"""A container that ended and runs again is told of for so long."""


class SignalRow(NamedTuple):
    """A kind of signal, as a table says it."""

    kind: Kind
    family: Family
    certainty: Certainty
    words: str


REFUSALS = {
    "UnexpectedAdmissionError": SignalRow(
        *("Refused", "Infrastructure", "likely"),
        "the kubelet refused it: what it asked for could not be allocated, such as a device",
    ),
    "TopologyAffinityError": SignalRow(
        *("Refused", "Infrastructure", "possible"),
        "the kubelet refused it: its resources cannot be aligned to one NUMA node",
    ),
    "NodeAffinity": SignalRow(
        *("Refused", "Infrastructure", "possible"),
        "the kubelet refused it: the labels of the node have changed",
    ),
    "NodePorts": SignalRow(
        *("Refused", "Infrastructure", "possible"), "the kubelet refused it: its host ports are taken"
    ),
}
OUT_OF = "OutOf"
"""Before the name of a resource: the node had too little of it."""
ENDINGS = {
    "Evicted": SignalRow(
        "Evicted", "Infrastructure", "likely", "the kubelet evicted it: its node was short of something"
    ),
    "NodeLost": SignalRow("NodeLost", "Infrastructure", "certain", "it was on a node that was lost"),
    "NodeShutdown": SignalRow("Evicted", "Notice", "certain", "its node was shut down"),
    "Terminated": SignalRow("Evicted", "Notice", "certain", "its node was shut down"),
    "DeadlineExceeded": SignalRow(
        "Killed", "OwnCode", "certain", "it ran for longer than its activeDeadlineSeconds"
    ),
}
DISRUPTIONS = {
    "DeletionByTaintManager": SignalRow(
        "Evicted", "Infrastructure", "likely", "it was deleted because of a taint of its node"
    ),
    "DeletionByPodGC": SignalRow(
        "NodeLost", "Infrastructure", "certain", "it was deleted because its node is gone"
    ),
    "DeletionByDeviceTaintManager": SignalRow(
        "Evicted", "Device", "certain", "it was deleted because a device of it has a taint"
    ),
    "TerminationByKubelet": SignalRow(
        "Evicted",
        "Infrastructure",
        "likely",
        "the kubelet ended it: its node was short of something or shut down",
    ),
}
"""By the reason of the condition DisruptionTarget, of which there are others."""
HELD_UP = {
    "InvalidImageName": SignalRow("Image", "OwnCode", "certain", "the name of its image is not valid"),
    "ErrImageNeverPull": SignalRow(
        "Image", "OwnCode", "certain", "its image is not on the node, and must not be pulled"
    ),
    "ErrImagePull": SignalRow("Image", "Unknown", "possible", "its image cannot be pulled"),
    "ImagePullBackOff": SignalRow("Image", "Unknown", "possible", "its image cannot be pulled"),
    "CreateContainerConfigError": SignalRow(
        "Config",
        "OwnCode",
        "likely",
        "its container cannot be configured: a ConfigMap, Secret or key is missing",
    ),
    "CreateContainerError": SignalRow(
        "NotStarted", "Infrastructure", "possible", "the container runtime cannot create its container"
    ),
    "RunContainerError": SignalRow(
        "NotStarted", "Infrastructure", "possible", "the container runtime cannot start its container"
    ),
}
NO_SUCH_IMAGE = ("not found", "manifest unknown", "unauthorized", "denied", "does not exist", "no such")
CRASHING = "CrashLoopBackOff"
OUT_OF_MEMORY = "OOMKilled"
FAULTS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
"""Signals that a program brings upon itself, or a fault of a device upon it."""
STOPS = {2: "SIGINT", 9: "SIGKILL", 15: "SIGTERM"}
"""Signals that somebody else sends."""
SHELL_OFFSET = 128
"""An exit code of 128 and more is that of a program that a signal ended."""
NEVER_RAN = ("ContainerCannotRun", "StartError")
LOST_TRACK = "ContainerStatusUnknown"
KNOWN_REASONS = frozenset(
    (*REFUSALS, *ENDINGS, *DISRUPTIONS, *HELD_UP, CRASHING, OUT_OF_MEMORY, *NEVER_RAN, LOST_TRACK)
) | {"Completed", "Error"}
"""That are told as they are, whoever reads them."""
FAULTY = {
    "Unhealthy": SignalRow(
        "DeviceReported", "Device", "certain", "the kubelet says that its device {} is unhealthy"
    ),
    "Unknown": SignalRow(
        "DeviceReported", "Device", "possible", "the health of its device {} is not known to the kubelet"
    ),
}


def pod_signals(pod: Pod, now: datetime) -> list[Signal]:
    """What a disruption explains, such as an exit code, is not told again: those who were preempted, or
    evicted on request, are not unwell at all. The devices of a pod that has ended are no longer its own."""
    ended, target = pod.status.phase in ("Succeeded", "Failed"), _condition(pod, "DisruptionTarget")
    if target is not None and target.status == "True":
        found = list(_disruption(pod, target))
    elif pod.status.phase == "Failed":
        found = list(_failure(pod)) or list(_exits(pod, now))
    elif not ended and pod.spec.node_name:
        found = [*_exits(pod, now), *_start(pod, now)]
    else:
        found = []
    return found if ended else [*found, *_devices(pod)]


def tells_of_trouble(pod: Pod) -> bool:
    """Whether there may be a signal, now or later, but for that of a pod which takes long to start."""
    status = pod.status
    if status.phase == "Failed":
        return True
    if not pod.spec.node_name or status.phase == "Succeeded":
        return False
    every = (*status.init_container_statuses, *status.container_statuses)
    return any(_may_be_bad(one) for one in every) or _condition(pod, "DisruptionTarget") is not None


def _may_be_bad(status: ContainerStatus) -> bool:
    held, ended, before = status.state.waiting, status.state.terminated, status.last_state.terminated
    return (
        (held is not None and (held.reason in HELD_UP or held.reason == CRASHING))
        or (ended is not None and (ended.exit_code != 0 or ended.reason not in ("", "Completed")))
        or before is not None
        or any(one.health in FAULTY for said in status.allocated_resources_status for one in said.resources)
    )


def _signal(
    pod: Pod, said: SignalRow, since: Timestamp | None, evidence: Evidence, words: str = ""
) -> Signal:
    return Signal(
        kind=said.kind,
        family=said.family,
        certainty=said.certainty,
        about="pod",
        words=words or said.words,
        node=pod.spec.node_name,
        pod=key_of(pod.metadata),
        since=since,
        evidence=evidence,
    )


def _condition(pod: Pod, type: str) -> SaidCondition | None:
    return next((one for one in pod.status.conditions if one.type == type), None)


def bound_at(pod: Pod) -> Timestamp | None:
    scheduled = _condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.status == "True" and scheduled.last_transition_time is not None:
        return scheduled.last_transition_time
    return pod.status.start_time


# -- somebody ended it, or refused it --------------------------------------------------------------------


def _disruption(pod: Pod, target: SaidCondition) -> Iterator[Signal]:
    said = DISRUPTIONS.get(target.reason)
    if said is not None:
        yield _signal(pod, said, target.last_transition_time, {"disruptionTarget": target.reason})


def _failure(pod: Pod) -> Iterator[Signal]:
    """What the kubelet says of the pod as a whole. A pod that it refused never had a container."""
    reason = pod.status.reason
    said = ENDINGS.get(reason) or REFUSALS.get(reason)
    if said is None and reason.startswith(OUT_OF) and len(reason) > len(OUT_OF):
        short = reason.removeprefix(OUT_OF)[:CUT_TO]
        said = SignalRow(
            *("Refused", "Infrastructure", "possible"),
            f"the kubelet refused it: the node had too little {short}, so another scheduler was faster, or "
            f"the node has less than before",
        )
    if said is not None:
        evidence: Evidence = {"reason": reason[:CUT_TO]}
        if pod.status.message:
            evidence["message"] = pod.status.message[:LONGEST_MESSAGE]
        yield _signal(pod, said, bound_at(pod), evidence)


# -- containers that ended -------------------------------------------------------------------------------


def _exits(pod: Pod, now: datetime) -> Iterator[Signal]:
    """The first container that ended badly, init containers before the others."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        ended = _bad_end(status, now)
        if ended is not None and not _was_told_to_end(pod, ended):
            yield _exit(pod, status, ended)
            return


def _bad_end(status: ContainerStatus, now: datetime) -> EndedContainer | None:
    """How it ended, if it is over, crashes again and again, or has just been started anew."""
    ended = status.state.terminated
    if ended is None:
        ended = status.last_state.terminated
        held = status.state.waiting
        crashing = held is not None and held.reason == CRASHING
        at = None if ended is None else ended.finished_at
        if not crashing and (at is None or now - at > RECENT):
            return None
    if ended is None or (not ended.exit_code and ended.reason in ("", "Completed")):
        return None
    return ended


def _was_told_to_end(pod: Pod, ended: EndedContainer) -> bool:
    """Whether somebody had deleted the pod before: then its exit code tells nothing."""
    due = pod.metadata.deletion_timestamp
    if due is None:
        return False
    grace = min(pod.metadata.deletion_grace_period_seconds, LAST_SECOND)
    deleted = before(due, timedelta(seconds=grace))
    return ended.finished_at is None or ended.finished_at >= deleted


def _exit(pod: Pod, status: ContainerStatus, ended: EndedContainer) -> Signal:
    said = exit_said(ended)
    evidence: Evidence = {"container": status.name, "exitCode": ended.exit_code}
    if ended.reason:
        evidence["reason"] = ended.reason[:CUT_TO]
    if status.restart_count:
        evidence["restarts"] = status.restart_count
    words = f"container {status.name} {said.words}"
    if status.restart_count:
        words += (
            f"; it was restarted {'once' if status.restart_count == 1 else f'{status.restart_count} times'}"
        )
    return _signal(pod, said, ended.finished_at, evidence, words)


def exit_said(ended: EndedContainer) -> SignalRow:
    code, number = ended.exit_code, ended.signal or ended.exit_code - SHELL_OFFSET
    if ended.reason == OUT_OF_MEMORY:
        return SignalRow("OutOfMemory", "OwnCode", "likely", "used more memory than it may")
    if ended.reason == LOST_TRACK:
        return SignalRow(
            "Killed", "Infrastructure", "likely", "was lost: the kubelet does not know how it ended"
        )
    if ended.reason in NEVER_RAN:
        return SignalRow("NotStarted", "OwnCode", "possible", f"could not be started ({ended.reason})")
    if number in FAULTS:
        words = f"crashed with {FAULTS[number]} (exit code {code})"
        return SignalRow("Exit", "OwnCode", "possible", words)
    if number in STOPS:
        return SignalRow(
            "Killed", "Unknown", "possible", f"was ended with {STOPS[number]} (exit code {code})"
        )
    return SignalRow("Exit", "OwnCode", "likely", f"ended with exit code {code}")


# -- it does not start -----------------------------------------------------------------------------------


def _start(pod: Pod, now: datetime) -> Iterator[Signal]:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    since = bound_at(pod)
    for status in statuses:
        held = status.state.waiting
        if held is not None and held.reason in HELD_UP:
            yield _held_up(pod, status, held, since)
            return
    late = since is not None and now - since > START_LIMIT
    if pod.metadata.deletion_timestamp is None and late and _nothing_ran(pod, statuses):
        # An image that is being pulled looks the same from here.
        words = (
            "its containers are not created: an image, a volume, the network or a device is not ready"
            if statuses
            else "the kubelet of its node has not begun to start it"
        )
        said = SignalRow("NotStarted", "Infrastructure", "possible" if statuses else "likely", words)
        yield _signal(pod, said, since, {"phase": pod.status.phase})


def _nothing_ran(pod: Pod, statuses: Sequence[ContainerStatus]) -> bool:
    """Of a pod whose kubelet says that it runs, a dump may have left out the containers."""
    if not statuses:
        return pod.status.phase != "Running"
    return not any(
        one.ready or one.state.running or one.state.terminated or one.last_state.terminated
        for one in statuses
    )


def _held_up(pod: Pod, status: ContainerStatus, held: WaitingContainer, since: Timestamp | None) -> Signal:
    """A registry that does not have the image, or not for this tenant, has answered: the name is wrong."""
    said = HELD_UP[held.reason]
    if said.family == "Unknown":
        own = answered(held.message)
        said = said._replace(
            family="OwnCode" if own else "Infrastructure", certainty="likely" if own else "possible"
        )
    evidence: Evidence = {"container": status.name, "reason": held.reason}
    if held.message:
        evidence["message"] = held.message[:LONGEST_MESSAGE]
    return _signal(pod, said, since, evidence)


def answered(message: str) -> bool:
    """Whether a registry said that it has no such image."""
    return any(word in message.lower() for word in NO_SUCH_IMAGE)


# -- its devices -----------------------------------------------------------------------------------------


def _devices(pod: Pod) -> Iterator[Signal]:
    for status in pod.status.container_statuses:
        for reports in status.allocated_resources_status:
            for report in reports.resources:
                said = FAULTY.get(report.health)
                if said is None:
                    continue
                name = report.resource_id[:CUT_TO] or reports.name[:CUT_TO]
                yield Signal(
                    kind=said.kind,
                    family=said.family,
                    certainty=said.certainty,
                    about="device",
                    words=said.words.format(name),
                    node=pod.spec.node_name,
                    device=name,
                    pod=key_of(pod.metadata),
                    evidence={"resource": reports.name[:CUT_TO], "id": name, "health": report.health},
                )
