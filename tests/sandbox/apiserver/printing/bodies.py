"""Pods and other objects in the many states that a table has words for."""

from typing import Any

Json = dict[str, Any]

EARLIER = "2026-01-02T03:04:05Z"


def waiting(reason: str = "", **status: Any) -> Json:
    return {"state": {"waiting": {"reason": reason} if reason else {}}, **status}


def running(*, ready: bool = True, **status: Any) -> Json:
    return {"state": {"running": {"startedAt": EARLIER}}, "ready": ready, "started": True, **status}


def ended(code: int, reason: str = "", **terminated: Any) -> Json:
    how = {"exitCode": code, "startedAt": EARLIER, "finishedAt": EARLIER, **terminated}
    return {"state": {"terminated": {**how, "reason": reason} if reason else how}}


def restarted(times: int, status: Json) -> Json:
    last = {"terminated": {"exitCode": 1, "startedAt": EARLIER, "finishedAt": EARLIER}}
    return {**status, "restartCount": times, "lastState": last}


def statuses(*found: Json, name: str = "c") -> list[Json]:
    defaults = {"image": "i", "imageID": "", "ready": False, "restartCount": 0}
    return [{**defaults, "name": f"{name}{number}", **status} for number, status in enumerate(found)]


def condition(kind: str, status: str = "True", reason: str = "") -> Json:
    found = {"type": kind, "status": status}
    return {**found, "reason": reason} if reason else found


READY, NOT_READY = condition("Ready"), condition("Ready", "False")
INITIALISED = condition("Initialized")
CONTAINERS = [{"name": f"c{number}", "image": "i"} for number in range(2)]
INITS = [{"name": f"i{number}", "image": "i"} for number in range(2)]
SIDECAR = [{"name": "i0", "image": "i", "restartPolicy": "Always"}, INITS[1]]


def state(phase: str, *containers: Json, inits: tuple[Json, ...] = (), **status: Any) -> Json:
    found = {
        "phase": phase,
        "containerStatuses": statuses(*containers),
        "initContainerStatuses": statuses(*inits, name="i"),
        **status,
    }
    return {name: value for name, value in found.items() if value}


POD_STATES: dict[str, tuple[Json, Json]] = {
    "pending": ({}, {"phase": "Pending"}),
    "unschedulable": (
        {},
        {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable")]},
    ),
    "gated": (
        {},
        {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "SchedulingGated")]},
    ),
    "creating": ({}, state("Pending", waiting("ContainerCreating"), waiting("ContainerCreating"))),
    "image": ({}, state("Pending", running(), waiting("ImagePullBackOff"))),
    "running": ({}, state("Running", running(), running(), conditions=[READY])),
    "half-ready": ({}, state("Running", running(), running(ready=False), conditions=[NOT_READY])),
    "crashing": ({}, state("Running", restarted(3, waiting("CrashLoopBackOff")), running())),
    "restarted": ({}, state("Running", restarted(3, running()), restarted(1, running()))),
    "counted-only": ({}, state("Running", running(restartCount=2), running())),
    "one-completed": ({}, state("Running", ended(0, "Completed"), running(), conditions=[READY])),
    "one-completed-not-ready": ({}, state("Running", ended(0, "Completed"), running())),
    "one-error": ({}, state("Running", ended(0, "Completed"), ended(2, "Error"))),
    "completed": ({}, state("Succeeded", ended(0, "Completed"), ended(0, "Completed"))),
    "failed": ({}, state("Failed", ended(1, "Error"), ended(0, "Completed"))),
    "exit-code": ({}, state("Failed", ended(3))),
    "signal": ({}, state("Failed", ended(137, signal=9))),
    "evicted": ({}, {"phase": "Failed", "reason": "Evicted"}),
    "init-waiting": (
        {"initContainers": INITS},
        state("Pending", waiting(), inits=(waiting("PodInitializing"), waiting())),
    ),
    "init-pulling": ({"initContainers": INITS}, state("Pending", inits=(waiting("ErrImagePull"), waiting()))),
    "init-second": ({"initContainers": INITS}, state("Pending", inits=(ended(0), running()))),
    "init-failed": (
        {"initContainers": INITS},
        state("Pending", inits=(restarted(2, ended(1, "Error")), waiting())),
    ),
    "init-exit-code": ({"initContainers": INITS}, state("Pending", inits=(ended(4),))),
    "init-signal": ({"initContainers": INITS}, state("Pending", inits=(ended(4, signal=15),))),
    "init-done": (
        {"initContainers": INITS},
        state("Running", running(), running(), inits=(ended(0), ended(0)), conditions=[INITIALISED, READY]),
    ),
    "sidecar": (
        {"initContainers": SIDECAR},
        state(
            "Running",
            running(),
            running(),
            inits=(restarted(2, running()), ended(0)),
            conditions=[INITIALISED],
        ),
    ),
    "sidecar-starting": ({"initContainers": SIDECAR}, state("Pending", inits=(waiting("PodInitializing"),))),
    "addressed": (
        {"nodeName": "n1"},
        state("Running", running(), podIP="192.0.2.7", podIPs=[{"ip": "192.0.2.7"}]),
    ),
    "nominated": ({}, {"phase": "Pending", "nominatedNodeName": "n2"}),
    "gates": (
        {"readinessGates": [{"conditionType": kind} for kind in "AB"]},
        state("Running", running(), conditions=[condition("A"), condition("B", "False")]),
    ),
}


def pod(name: str, spec: Json) -> Json:
    return {"metadata": {"name": name}, "spec": {"containers": CONTAINERS, **spec}}
