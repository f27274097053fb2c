"""Every signal that is read from nodes, pods and devices, one case each."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from maitred.model.container_status import EndedContainer
from maitred.model.health.nodes import device_signal, node_signals
from maitred.model.health.pods import (
    DISRUPTIONS,
    ENDINGS,
    HELD_UP,
    REFUSALS,
    START_LIMIT,
    exit_said,
    pod_signals,
)
from maitred.model.health.signals import Signal
from maitred.model.health.steps import FEWEST, STEP_TIME, slow_members, step_times
from maitred.model.health.tables import CONDITIONS, NOTICES, TAINTS
from maitred.model.health.xids import XIDS, xid_row, xids_in
from maitred.model.meta import Timestamp
from maitred.model.node import HEALTH_TAINTS, Node
from maitred.model.pod import Pod
from maitred.model.unwell import UnwellDevices
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import NOON

NOW = msgspec.convert(NOON, Timestamp)
EARLIER = "2026-01-31T11:50:00Z"
SINCE = msgspec.convert(EARLIER, Timestamp)


def node(*conditions: Obj, ready: str | None = "True", **fields: Any) -> Node:
    found = b.node("n1", **fields)
    own = [] if ready is None else [condition("Ready", ready)]
    found["status"]["conditions"] = [*own, *conditions]
    return msgspec.convert(found, Node)


def condition(type: str, status: str, reason: str = "", message: str = "") -> Obj:
    times = {"lastTransitionTime": EARLIER}
    return {"type": type, "status": status, "reason": reason, "message": message, **times}


def signals(found: Node) -> list[Signal]:
    return list(node_signals(found, HEALTH_TAINTS).signals)


def only(found: list[Signal]) -> Signal:
    [one] = found
    return one


# -- nodes ---------------------------------------------------------------------------------------------


def test_a_node_that_is_ready_says_nothing() -> None:
    assert signals(node()) == []
    assert signals(node(ready=None)) == []


@pytest.mark.parametrize(("ready", "kind"), [("False", "NotReady"), ("Unknown", "Unreachable")])
def test_a_node_that_is_not_ready_says_so_once_with_since_when(ready: str, kind: str) -> None:
    taint = f"node.kubernetes.io/{'not-ready' if ready == 'False' else 'unreachable'}:NoExecute"
    found = only(signals(node(ready=ready, taints=[taint])))
    assert (found.kind, found.family, found.certainty, found.since) == (
        kind,
        "Infrastructure",
        "certain",
        SINCE,
    )
    assert (found.about, found.node, found.evidence["status"]) == ("node", "n1", ready)


@pytest.mark.parametrize("row", TAINTS, ids=lambda row: row.key)
def test_taints_of_kubernetes_tell_what_conditions_do_not(row: Any) -> None:
    found = only(signals(node(taints=[f"{row.key}:NoSchedule", f"{row.key}:NoExecute"])))
    assert (found.kind, found.family) == (row.kind, "Infrastructure")


@pytest.mark.parametrize("row", CONDITIONS, ids=lambda row: row.type)
def test_known_conditions_tell_of_faults_with_one_status_only(row: Any) -> None:
    good = "False" if row.bad == "True" else "True"
    found = only(signals(node(condition(row.type, row.bad, "Why", "in full"))))
    assert (found.kind, found.family, found.certainty) == ("Condition", row.family, row.certainty)
    assert (found.since, found.evidence["by"], found.evidence["message"]) == (SINCE, row.by, "in full")
    for status in (good, "Unknown"):
        assert signals(node(condition(row.type, status))) == []


def test_unknown_conditions_are_said_and_judged_as_nothing() -> None:
    report = node_signals(node(condition("FanNoise", "True"), condition("MoonReady", "False")))
    assert report.signals == ()
    assert report.unknown == (("FanNoise", "True"), ("MoonReady", "False"))


@pytest.mark.parametrize("row", NOTICES, ids=lambda row: row.key)
def test_notices_of_clouds(row: Any) -> None:
    if row.place == "taint":
        told = node(taints=[f"{row.key}=x:NoSchedule"])
    elif row.place == "condition":
        told = node(condition(row.key, "True"))
        assert signals(node(condition(row.key, "False"))) == []
    else:
        told = node(labels={row.key: row.value or "1769860800"})
        assert signals(node(labels={row.key: "soon"})) == []
    found = only(signals(told))
    assert (found.kind, found.family, found.evidence["by"]) == (row.kind, "Notice", row.by)


def test_a_scheduled_time_is_told_and_nonsense_is_not() -> None:
    label = "cloud.google.com/scheduled-maintenance-time"
    assert "2026-01-31T12:00:00Z" in only(signals(node(labels={label: "1769860800"}))).words
    for nonsense in ("", "-5", "1e9", "99999999999999", "0"):
        assert signals(node(labels={label: nonsense})) == []


def test_a_cordon_is_a_notice_told_once() -> None:
    found = only(signals(node(cordoned=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"])))
    assert (found.kind, found.family) == ("Cordon", "Notice")


def test_a_taint_that_only_the_policy_knows_is_of_no_known_family() -> None:
    told = node(taints=["example.com/fan:NoSchedule"])
    assert node_signals(told).signals == ()
    found = only(list(node_signals(told, {"example.com/fan"}).signals))
    assert (found.kind, found.family, found.certainty) == ("Taint", "Unknown", "likely")


def test_a_taint_of_pressure_counts_without_its_condition_and_not_beside_it() -> None:
    taint = "node.kubernetes.io/memory-pressure:NoSchedule"
    assert only(signals(node(taints=[taint]))).kind == "Taint"
    assert only(signals(node(condition("MemoryPressure", "True"), taints=[taint]))).kind == "Condition"


# -- XIDs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NVRM: Xid (PCI:0000:cb:00): 79, pid=1, name=python", [79]),
        ("XID 48", [48]),
        ("NvidiaXID13Error", [13]),
        ("Xid=63 and xid: 94, again XID 63", [63, 94]),
        ("SXid 20009", []),
        ("SysLogsSXIDError 20", []),
        ("no code here", []),
        ("xid " + "9" * 40, []),
    ],
)
def test_xids_are_found_in_words(text: str, found: list[int]) -> None:
    assert xids_in(text) == found


def test_error_codes_are_xids_only_in_conditions_about_xids() -> None:
    message = "ErrorCode:79 gpu:0 XID error occurred"
    assert only(signals(node(condition("SysLogsXIDError", "True", "", message)))).evidence["xid"] == 79
    assert (
        "xid" not in only(signals(node(condition("SysLogsSXIDError", "True", "", "ErrorCode:20")))).evidence
    )


@pytest.mark.parametrize("row", XIDS, ids=lambda row: str(row.xid))
def test_an_xid_tells_more_than_the_condition_that_carries_it(row: Any) -> None:
    found = only(signals(node(condition("GpuXidError", "True", "", f"Xid {row.xid}"))))
    assert (found.family, found.certainty, found.evidence["xid"]) == (row.family, row.certainty, row.xid)


def test_of_several_xids_the_worst_counts() -> None:
    found = only(signals(node(condition("GpuXidError", "True", "", "Xid 13, Xid 79, Xid 31"))))
    assert found.evidence["xid"] == 79


def test_an_xid_of_no_class_is_said_as_such() -> None:
    assert (xid_row(999).family, xid_row(999).certainty) == ("Device", "possible")
    assert "no class" in only(signals(node(condition("GpuXidError", "True", "", "Xid 999")))).words


# -- devices that a node does not offer ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("unwell", "kind", "family"),
    [
        (UnwellDevices(3, 8), "DevicesUnhealthy", "Device"),
        (UnwellDevices(8, 8), "PluginSilent", "Infrastructure"),
        (UnwellDevices(8, 8, "nvidia.com/gpu.count"), "PluginMissing", "Infrastructure"),
        (UnwellDevices(0, 0, "nvidia.com/gpu.product"), "PluginMissing", "Infrastructure"),
    ],
)
def test_devices_that_left_allocatable(unwell: UnwellDevices, kind: str, family: str) -> None:
    found = device_signal("n1", "nvidia.com/gpu", unwell)
    assert (found.kind, found.family, found.about, found.device) == (kind, family, "device", "nvidia.com/gpu")
    assert found.evidence["of"] == (unwell.of or None)


# -- pods ----------------------------------------------------------------------------------------------


def pod(status: Obj, **fields: Any) -> Pod:
    found = b.pod("p1", **{"node": "n1", **fields})
    found["status"].update(status)
    return msgspec.convert(found, Pod)


def container(**status: Any) -> Obj:
    return {"containerStatuses": [{"name": "main", **status}]}


def ended(code: int, reason: str = "Error", **more: Any) -> Obj:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": EARLIER, **more}}


def of_pod(status: Obj, **fields: Any) -> list[Signal]:
    return pod_signals(pod(status, **fields), NOW)


def test_a_pod_that_runs_says_nothing() -> None:
    running = {"state": {"running": {"startedAt": EARLIER}}, "ready": True}
    assert of_pod({"phase": "Running", **container(**running)}) == []
    assert of_pod({"phase": "Succeeded", **container(state=ended(0, "Completed"))}) == []


REASONS = {**REFUSALS, **ENDINGS}


@pytest.mark.parametrize("reason", [*REASONS, "OutOfcpu", "OutOfnvidia.com/gpu"])
def test_pods_that_kubelets_refused_or_ended(reason: str) -> None:
    found = only(of_pod({"phase": "Failed", "reason": reason, "message": "in full", "startTime": EARLIER}))
    assert (found.pod, found.node, found.since) == ("default/p1", "n1", SINCE)
    assert found.evidence == {"reason": reason, "message": "in full"}
    assert found.kind == (REASONS[reason].kind if reason in REASONS else "Refused")


@pytest.mark.parametrize("reason", DISRUPTIONS)
def test_a_disruption_explains_the_exit_code_that_it_caused(reason: str) -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": EARLIER}
    found = only(of_pod({"phase": "Failed", "conditions": [target], **container(state=ended(137))}))
    assert (found.kind, found.family) == (DISRUPTIONS[reason].kind, DISRUPTIONS[reason].family)


@pytest.mark.parametrize("reason", ["PreemptionByScheduler", "EvictionByEvictionAPI"])
def test_who_was_preempted_or_evicted_on_request_is_not_unwell(reason: str) -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": EARLIER}
    assert of_pod({"phase": "Failed", "conditions": [target], **container(state=ended(137))}) == []


@pytest.mark.parametrize(("finished", "told"), [("2026-01-31T12:00:10Z", 0), ("2026-01-31T11:59:00Z", 1)])
def test_the_exit_code_of_a_pod_that_was_deleted_tells_nothing(finished: str, told: int) -> None:
    """It was deleted at noon, with a grace period of 30 seconds."""
    end = {"terminated": {"exitCode": 143, "reason": "Error", "finishedAt": finished}}
    assert len(of_pod({"phase": "Running", **container(state=end)}, deleted=True)) == told


@pytest.mark.parametrize("reason", HELD_UP)
def test_containers_that_cannot_start(reason: str) -> None:
    waiting = {"waiting": {"reason": reason, "message": "in full"}}
    found = only(of_pod({"phase": "Pending", **container(state=waiting)}))
    assert (found.kind, found.evidence["reason"]) == (HELD_UP[reason].kind, reason)


def test_a_registry_that_has_no_such_image_speaks_against_the_name() -> None:
    def pull(message: str) -> Signal:
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
        return only(of_pod({"phase": "Pending", **container(state=waiting)}))

    assert pull("manifest for x:y not found").family == "OwnCode"
    assert pull("dial tcp: i/o timeout").family == "Infrastructure"


@pytest.mark.parametrize(
    ("late", "known", "certainty"),
    [(True, True, "possible"), (True, False, "likely"), (False, True, None), (False, False, None)],
)
def test_a_start_that_does_not_end(late: bool, known: bool, certainty: str | None) -> None:
    bound = NOW - START_LIMIT + timedelta(seconds=-1 if late else 1)
    creating = container(state={"waiting": {"reason": "ContainerCreating"}}) if known else {}
    found = of_pod({"phase": "Pending", "startTime": bound.isoformat(), **creating})
    assert [(one.kind, one.family, one.certainty) for one in found] == (
        [("NotStarted", "Infrastructure", certainty)] if certainty else []
    )


def test_a_pod_that_runs_has_started_though_a_dump_does_not_have_its_containers() -> None:
    assert of_pod({"phase": "Running", "startTime": EARLIER}) == []


@pytest.mark.parametrize(
    ("code", "reason", "kind", "family"),
    [
        (1, "Error", "Exit", "OwnCode"),
        (137, "OOMKilled", "OutOfMemory", "OwnCode"),
        (139, "Error", "Exit", "OwnCode"),
        (134, "Error", "Exit", "OwnCode"),
        (137, "Error", "Killed", "Unknown"),
        (143, "Error", "Killed", "Unknown"),
        (137, "ContainerStatusUnknown", "Killed", "Infrastructure"),
        (128, "StartError", "NotStarted", "OwnCode"),
    ],
)
def test_exit_codes_and_reasons(code: int, reason: str, kind: str, family: str) -> None:
    said = exit_said(EndedContainer(exit_code=code, reason=reason))
    assert (said.kind, said.family) == (kind, family)
    found = only(of_pod({"phase": "Failed", **container(state=ended(code, reason))}))
    assert (found.kind, found.since, found.evidence["exitCode"]) == (kind, SINCE, code)


def test_a_signal_of_the_runtime_counts_like_its_exit_code() -> None:
    assert exit_said(EndedContainer(exit_code=255, signal=11)).words.startswith("crashed with SIGSEGV")


def test_a_container_that_crashes_is_told_of_by_its_last_end() -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = container(state=waiting, lastState=ended(2), restartCount=7)
    found = only(of_pod({"phase": "Running", **status}))
    assert (found.kind, found.evidence["restarts"]) == ("Exit", 7)
    assert "restarted 7 times" in found.words


def test_a_container_that_runs_again_is_told_of_for_a_while() -> None:
    def again(at: str) -> list[Signal]:
        last = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": at}}
        running = {"running": {"startedAt": EARLIER}}
        return of_pod({"phase": "Running", **container(state=running, lastState=last, restartCount=1)})

    assert only(again("2026-01-31T11:55:00Z")).kind == "Exit"
    assert again("2026-01-31T09:00:00Z") == []


@pytest.mark.parametrize(
    ("health", "certainty"),
    [("Unhealthy", "certain"), ("Unknown", "possible"), ("Healthy", None), ("odd", None)],
)
def test_devices_that_the_kubelet_reports_of_a_pod(health: str, certainty: str | None) -> None:
    report = {"name": "nvidia.com/gpu", "resources": [{"resourceID": "GPU-7", "health": health}]}
    status = container(state={"running": {}}, ready=True, allocatedResourcesStatus=[report])
    found = of_pod({"phase": "Running", **status})
    assert [(one.kind, one.family, one.certainty, one.device, one.about) for one in found] == (
        [("DeviceReported", "Device", certainty, "GPU-7", "device")] if certainty else []
    )
    assert of_pod({"phase": "Succeeded", **status}) == []


# -- step times ----------------------------------------------------------------------------------------


def members(*times: str) -> list[Pod]:
    found = [b.pod(f"p{i}", node="n1", annotations={STEP_TIME: time}) for i, time in enumerate(times)]
    return [msgspec.convert(one, Pod) for one in found]


@pytest.mark.parametrize(
    "text",
    ["", "fast", "nan", "inf", "-1", "1e3", "0", "0.0", "86401", "1,5", "٣", " 1", "1" * 40, "1.5.2", "0x10"],
)
def test_a_step_time_that_is_no_number_is_said_and_counts_for_nothing(text: str) -> None:
    found = step_times(members(text))
    assert found.seconds == {}
    [(pod, words)] = found.unread
    assert pod == "default/p0"
    assert "counts for nothing" in words
    assert len(words) < 250


def test_a_member_much_slower_than_the_median_is_slow() -> None:
    times = step_times(members("2.0", "2.1", "5.5", "2"))
    found = only(slow_members(times.seconds, {"default/p2": "n1"}))
    assert (found.kind, found.family, found.pod, found.about) == (
        "SlowStep",
        "Degradation",
        "default/p2",
        "pod",
    )
    assert found.evidence == {"stepTime": 5.5, "median": 2.05, "members": 4}


def test_of_too_few_members_nobody_knows_which_is_slow() -> None:
    assert slow_members(step_times(members("1", "9")).seconds, {}) == []
    assert FEWEST == 3
    assert slow_members(step_times(members("1", "1", "1.4")).seconds, {}) == []
