"""Jobs, groups of pods, their priorities and budgets in tables."""

from datetime import datetime

from maitred.sandbox.apiserver.printing.printer import Cells, printer
from maitred.sandbox.apiserver.printing.text import (
    NONE,
    between,
    conditions,
    container_names,
    selector,
    spec_of,
    status_of,
)
from maitred.sandbox.apiserver.schema.types import Body

JOB_ENDS = ("Complete", "Failed")
JOB_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def job_cells(job: Body, now: datetime) -> Cells:
    spec = spec_of(job)
    return [
        _job_status(job),
        _completions(job),
        _job_duration(status_of(job), now),
        *container_names(spec.get("template", {})),
        selector(spec.get("selector")),
    ]


def _job_status(job: Body) -> str:
    found = conditions(job)
    for word in JOB_ENDS:
        if found.get(word) == "True":
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    return next((word for word in JOB_STATES if found.get(word) == "True"), "Running")


def _completions(job: Body) -> str:
    spec, succeeded = spec_of(job), status_of(job).get("succeeded", 0)
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Body, now: datetime) -> str:
    if "startTime" not in status:
        return ""
    end = status.get("completionTime")
    return between(status["startTime"], datetime.fromisoformat(end) if end else now)


JOB = printer("Name | Status | Completions | Duration | Age | +Containers | +Images | +Selector", job_cells)


def pod_group_cells(group: Body, now: datetime) -> Cells:
    return [*composite_group_cells(group, now), _group_status(group)]


def _group_status(group: Body) -> str:
    for condition in status_of(group).get("conditions", ()):
        if condition["type"] == "DisruptionTarget":
            return str(condition.get("reason", ""))
    scheduled = conditions(group).get("PodGroupInitiallyScheduled")
    return "Pending" if scheduled is None else "Scheduled" if scheduled == "True" else "Unschedulable"


def composite_group_cells(group: Body, now: datetime) -> Cells:
    spec = spec_of(group)
    return [
        "Gang" if "gang" in spec.get("schedulingPolicy", {}) else "Basic",
        spec.get("workloadRef", {}).get("workloadName", NONE),
    ]


POD_GROUP = printer("Name | Policy | Workload | Status | Age", pod_group_cells)
COMPOSITE_POD_GROUP = printer("Name | Policy | Workload | Age", composite_group_cells)


def priority_class_cells(priority: Body, now: datetime) -> Cells:
    return [
        priority.get("value", 0),
        priority.get("globalDefault", False),
        priority.get("preemptionPolicy", ""),
    ]


PRIORITY_CLASS = printer(
    "Name | Value:integer | Global-Default:boolean | Age | PreemptionPolicy", priority_class_cells
)


def budget_cells(budget: Body, now: datetime) -> Cells:
    spec = spec_of(budget)
    return [
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status_of(budget).get("disruptionsAllowed", 0),
    ]


DISRUPTION_BUDGET = printer(
    "Name | Min Available | Max Unavailable | Allowed Disruptions:integer | Age", budget_cells
)
