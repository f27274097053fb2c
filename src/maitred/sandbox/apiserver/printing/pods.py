"""Pods in tables: one word for all that can be said of a pod and its containers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from maitred.sandbox.apiserver.printing.printer import Cells, printer
from maitred.sandbox.apiserver.printing.text import NONE, conditions, since, spec_of, status_of
from maitred.sandbox.apiserver.schema.types import Body

LOST = "NodeLost"
ENDED = {
    "Succeeded": [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }
    ],
    "Failed": [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}],
}


class Restarts:
    """How often containers were restarted, and when one of them last ended."""

    def __init__(self) -> None:
        self.count = 0
        self.last = ""

    def add(self, status: Body) -> None:
        self.count += status.get("restartCount", 0)
        ended = status.get("lastState", {}).get("terminated")
        if ended is not None:
            # Times of this form are in order as text.
            self.last = max(self.last, ended.get("finishedAt") or "")

    def text(self, now: datetime) -> str:
        if self.count and self.last:
            return f"{self.count} ({since(self.last, now)} ago)"
        return str(self.count)


def pod_cells(pod: Body, now: datetime) -> Cells:
    spec, status = spec_of(pod), status_of(pod)
    summary = PodSummary(pod)
    return [
        f"{summary.ready}/{summary.containers}",
        summary.reason,
        summary.restarts.text(now),
        _address(status) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(pod),
    ]


class PodSummary:
    """What the columns READY, STATUS and RESTARTS say of a pod."""

    def __init__(self, pod: Body) -> None:
        spec, status = spec_of(pod), status_of(pod)
        self._conditions = conditions(pod)
        self._sidecars = {
            container["name"]
            for container in spec.get("initContainers", ())
            if container.get("restartPolicy") == "Always"
        }
        self.containers = len(spec.get("containers", ())) + len(self._sidecars)
        self.ready = 0
        self.reason = _first_reason(status)
        self.restarts = Restarts()
        initialising = self._initialise(status.get("initContainerStatuses", ()), spec)
        if not initialising or self._conditions.get("Initialized") == "True":
            self._run(status)
        self._leave(pod, status)

    def _initialise(self, statuses: Sequence[Body], spec: Body) -> bool:
        for position, status in enumerate(statuses):
            self.restarts.add(status)
            state = status.get("state", {})
            ended = state.get("terminated")
            if ended is not None and ended.get("exitCode", 0) == 0:
                continue
            if status["name"] in self._sidecars and status.get("started"):
                self.ready += bool(status.get("ready"))
                continue
            waiting = state.get("waiting", {}).get("reason", "")
            if ended is not None:
                self.reason = f"Init:{_end(ended)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{position}/{len(spec.get('initContainers', ()))}"
            return True
        return False

    def _run(self, pod_status: Body) -> None:
        self.restarts = Restarts()
        for status in pod_status.get("initContainerStatuses", ()):
            if status["name"] in self._sidecars:
                self.restarts.add(status)
        running, error = False, ""
        for status in reversed(pod_status.get("containerStatuses", ())):
            self.restarts.add(status)
            state = status.get("state", {})
            if state.get("waiting", {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif "terminated" in state:
                self.reason = _end(state["terminated"])
                if state["terminated"].get("exitCode", 0) != 0:
                    error = self.reason
            elif status.get("ready") and "running" in state:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            self.reason = self._not_all_completed(running, error) or self.reason

    def _not_all_completed(self, running: bool, error: str) -> str:
        if running and self._conditions.get("Ready") == "True":
            return "Running"
        return error or ("NotReady" if running else "")

    def _leave(self, pod: Body, status: Body) -> None:
        if "deletionTimestamp" not in pod["metadata"]:
            return
        if status.get("reason") == LOST:
            self.reason = "Unknown"
        elif status.get("phase") not in ENDED:
            self.reason = "Terminating"


def _first_reason(status: Body) -> str:
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase", ""))


def _end(terminated: Body) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _address(status: Body) -> str:
    addresses: Sequence[Any] = status.get("podIPs", ())
    return str(addresses[0].get("ip", "")) if addresses else ""


def _readiness_gates(pod: Body) -> str:
    gates = spec_of(pod).get("readinessGates")
    if not gates:
        return NONE
    found = conditions(pod)
    return f"{sum(found.get(gate['conditionType']) == 'True' for gate in gates)}/{len(gates)}"


def pod_conditions(pod: Body) -> list[Body]:
    return ENDED.get(status_of(pod).get("phase", ""), [])


POD = printer(
    "Name | Ready | Status | Restarts | Age | +IP | +Node | +Nominated Node | +Readiness Gates",
    pod_cells,
    conditions=pod_conditions,
)
