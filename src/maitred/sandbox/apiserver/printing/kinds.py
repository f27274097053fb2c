"""What each kind shows in a table."""

from datetime import datetime
from typing import Any

from maitred.sandbox.apiserver.kinds.events import to_stored
from maitred.sandbox.apiserver.kinds.volumes import default_class
from maitred.sandbox.apiserver.printing.printer import Printer, printer
from maitred.sandbox.apiserver.printing.text import NONE, between, conditions, labels, since
from maitred.sandbox.apiserver.schema.types import Body

ROLE_PREFIX = "node-role.kubernetes.io/"
MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
FINISHED = ("Succeeded", "Failed")


def spec_of(body: Body) -> Body:
    """Empty for an object that a bookmark stands for, of which there is nothing but a version."""
    spec: Body = body.get("spec", {})
    return spec


def status_of(body: Body) -> Body:
    status: Body = body.get("status", {})
    return status


def is_leaving(body: Body) -> bool:
    return "deletionTimestamp" in body["metadata"]


# -- pods --------------------------------------------------------------------------------------------------


def pod_ready(pod: Body, now: datetime) -> str:
    ready = sum(bool(container.get("ready")) for container in status_of(pod).get("containerStatuses", ()))
    return f"{ready}/{len(spec_of(pod).get('containers', ()))}"


def pod_status(pod: Body, now: datetime) -> str:
    """One word for all that can be said of a pod and its containers."""
    status = status_of(pod)
    if is_leaving(pod) and status.get("phase") not in FINISHED:
        return "Terminating"
    reasons = [_container_reason(each.get("state", {})) for each in status.get("containerStatuses", ())]
    told = [reason for reason in reasons if reason not in ("", "Completed")]
    if told:
        return told[0]
    if reasons and all(reasons):
        return "Completed"
    gated = any(c.get("reason") == "SchedulingGated" for c in status.get("conditions", ()))
    return "SchedulingGated" if gated else str(status.get("reason") or status.get("phase", ""))


def _container_reason(state: Body) -> str:
    """Why it does not run; empty if it does."""
    if "terminated" in state:
        ended = state["terminated"]
        return str(ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}")
    return str(state.get("waiting", {}).get("reason", ""))


def pod_restarts(pod: Body, now: datetime) -> str:
    return str(sum(each.get("restartCount", 0) for each in status_of(pod).get("containerStatuses", ())))


# -- nodes, events, configuration, services ----------------------------------------------------------------


def node_status(node: Body, now: datetime) -> str:
    ready = conditions(node).get("Ready")
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if spec_of(node).get("unschedulable") else word


def node_roles(node: Body, now: datetime) -> str:
    keys = node["metadata"].get("labels", {})
    roles = {key.removeprefix(ROLE_PREFIX) for key in keys if key.startswith(ROLE_PREFIX)}
    return ",".join(sorted(roles - {""})) or NONE


def event_times(event: Body) -> tuple[str | None, str | None]:
    """The first and the last; an event can be in either of its two forms."""
    event = to_stored(event)
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = event.get("series", {}).get("lastObservedTime") or event.get("lastTimestamp") or first
    return first, last


def event_object(event: Body, now: datetime) -> str:
    involved = to_stored(event).get("involvedObject", {})
    return f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"


def event_message(event: Body, now: datetime) -> str:
    return str(to_stored(event).get("message", "")).strip()


def service_ports(service: Body, now: datetime) -> str:
    ports = spec_of(service).get("ports", ())
    return ",".join(f"{port['port']}/{port.get('protocol', '')}" for port in ports) or NONE


def served_versions(definition: Body, now: datetime) -> str:
    served = (version for version in spec_of(definition).get("versions", ()) if version.get("served"))
    return ",".join(sorted(f"{v['name']}(storage)" if v.get("storage") else v["name"] for v in served))


def size(body: Body, now: datetime) -> int:
    return len(body.get("data", ())) + len(body.get("binaryData", ()))


# -- volumes -----------------------------------------------------------------------------------------------


def phase(body: Body, now: datetime) -> str:
    return "Terminating" if is_leaving(body) else str(status_of(body).get("phase", ""))


def volume_modes(volume: Body, now: datetime) -> str:
    return ",".join(short for mode, short in MODES.items() if mode in spec_of(volume).get("accessModes", ()))


def volume_claim(volume: Body, now: datetime) -> str:
    claim = spec_of(volume).get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def claim_modes(claim: Body, now: datetime) -> str:
    return ",".join(short for mode, short in MODES.items() if mode in status_of(claim).get("accessModes", ()))


# -- jobs and groups ---------------------------------------------------------------------------------------


def job_status(job: Body, now: datetime) -> str:
    found = conditions(job)
    leaving = ("Terminating",) if is_leaving(job) else ()
    states = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    words = [word for word in ("Complete", "Failed", *leaving, *states) if found.get(word) == "True"]
    return words[0] if words else leaving[0] if leaving else "Running"


def job_completions(job: Body, now: datetime) -> str:
    spec, succeeded = spec_of(job), status_of(job).get("succeeded", 0)
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(job: Body, now: datetime) -> str:
    status = status_of(job)
    if "startTime" not in status:
        return ""
    end = status.get("completionTime")
    return between(status["startTime"], datetime.fromisoformat(end) if end else now)


def job_selector(job: Body, now: datetime) -> str:
    return labels(spec_of(job).get("selector", {}).get("matchLabels"))


def group_policy(group: Body, now: datetime) -> str:
    return "Gang" if "gang" in spec_of(group).get("schedulingPolicy", {}) else "Basic"


def group_status(group: Body, now: datetime) -> str:
    for condition in status_of(group).get("conditions", ()):
        if condition["type"] == "DisruptionTarget":
            return str(condition.get("reason", ""))
    scheduled = conditions(group).get("PodGroupInitiallyScheduled")
    return "Pending" if scheduled is None else "Scheduled" if scheduled == "True" else "Unschedulable"


# -- all ---------------------------------------------------------------------------------------------------

ROLE_BINDING = printer(
    "Name | Role | Age | +Users | +Groups | +ServiceAccounts",
    {
        "Role": lambda body, now: "/".join(body.get("roleRef", {}).get(key, "") for key in ("kind", "name")),
        "Users": lambda body, now: subjects(body, "User"),
        "Groups": lambda body, now: subjects(body, "Group"),
        "ServiceAccounts": lambda body, now: subjects(body, "ServiceAccount"),
    },
)
EVENT = printer(
    "Last Seen | Type .type | Reason .reason | Object | +Subobject .involvedObject.fieldPath | "
    "+Source .source.component | Message | +First Seen | +Count:integer .count | +Name",
    {
        "Last Seen": lambda event, now: since(event_times(event)[1], now),
        "First Seen": lambda event, now: since(event_times(event)[0], now),
        "Object": event_object,
        "Message": event_message,
    },
)
GROUP = "Name | Policy | Workload .spec.workloadRef.workloadName or <none>"
CREATED_AT = printer("Name | Created At:date .metadata.creationTimestamp", null_if_empty=True)
"""For kinds that have no table of their own."""


def subjects(binding: Body, kind: str) -> str:
    found = [subject for subject in binding.get("subjects", ()) if subject["kind"] == kind]
    names = (
        f"{s.get('namespace', '')}/{s['name']}" if kind == "ServiceAccount" else s["name"] for s in found
    )
    return ", ".join(names)


def claim_state(claim: Body, now: datetime) -> str:
    status, leaving = status_of(claim), is_leaving(claim)
    words = ["deleted"] if leaving else []
    if "allocation" in status:
        words += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not leaving:
        words.append("pending")
    return ",".join(words)


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Pod"): printer(
        "Name | Ready | Status | Restarts | Age | +IP .status.podIP or <none> | "
        "+Node .spec.nodeName or <none> | +Nominated Node .status.nominatedNodeName or <none> | "
        "+Readiness Gates .spec.none or <none>",
        {"Ready": pod_ready, "Status": pod_status, "Restarts": pod_restarts},
    ),
    ("", "Node"): printer(
        "Name | Status | Roles | Age | Version .status.nodeInfo.kubeletVersion | "
        "+Internal-IP .status.addresses[?(@.type=='InternalIP')].address or <none> | "
        "+External-IP .status.addresses[?(@.type=='ExternalIP')].address or <none> | "
        "+OS-Image .status.nodeInfo.osImage or <unknown> | "
        "+Kernel-Version .status.nodeInfo.kernelVersion or <unknown> | "
        "+Container-Runtime .status.nodeInfo.containerRuntimeVersion or <unknown>",
        {"Status": node_status, "Roles": node_roles},
    ),
    ("", "Namespace"): printer("Name | Status .status.phase | Age"),
    ("", "Event"): EVENT,
    ("events.k8s.io", "Event"): EVENT,
    ("", "ConfigMap"): printer("Name | Data | Age", {"Data": size}),
    ("", "Secret"): printer("Name | Type .type | Data | Age", {"Data": size}),
    ("", "ServiceAccount"): printer("Name | Age"),
    ("", "Service"): printer(
        "Name | Type .spec.type | Cluster-IP .spec.clusterIP or <none> | "
        "External-IP .spec.externalIPs[*] or <none> | Port(s) | Age | +Selector",
        {"Port(s)": service_ports, "Selector": lambda body, now: labels(spec_of(body).get("selector"))},
    ),
    ("", "PersistentVolume"): printer(
        "Name | Capacity .spec.capacity.storage or 0 | Access Modes | "
        "Reclaim Policy .spec.persistentVolumeReclaimPolicy | Status | Claim | "
        "StorageClass .spec.storageClassName | "
        "VolumeAttributesClass .spec.volumeAttributesClassName or <unset> | Reason .status.reason | Age | "
        "+VolumeMode .spec.volumeMode or <unset>",
        {"Access Modes": volume_modes, "Status": phase, "Claim": volume_claim},
    ),
    ("", "PersistentVolumeClaim"): printer(
        "Name | Status | Volume .spec.volumeName | Capacity .status.capacity.storage | Access Modes | "
        "StorageClass .spec.storageClassName | "
        "VolumeAttributesClass .spec.volumeAttributesClassName or <unset> | Age | "
        "+VolumeMode .spec.volumeMode or <unset>",
        {"Status": phase, "Access Modes": claim_modes},
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): printer(
        "Name | Scope .spec.scope | Versions | Created At:date .metadata.creationTimestamp | "
        "+Group .spec.group | +Kind .spec.names.kind | +ShortNames .spec.names.shortNames[*] | "
        "+Established:boolean",
        {
            "Versions": served_versions,
            "Established": lambda body, now: conditions(body).get("Established") == "True",
        },
        null_if_empty=True,
    ),
    ("batch", "Job"): printer(
        "Name | Status | Completions | Duration | Age | +Containers .spec.template.spec.containers[*].name | "
        "+Images .spec.template.spec.containers[*].image | +Selector",
        {
            "Status": job_status,
            "Completions": job_completions,
            "Duration": job_duration,
            "Selector": job_selector,
        },
    ),
    ("coordination.k8s.io", "Lease"): printer("Name | Holder .spec.holderIdentity | Age"),
    ("policy", "PodDisruptionBudget"): printer(
        "Name | Min Available | Max Unavailable | "
        "Allowed Disruptions:integer .status.disruptionsAllowed | Age",
        {
            "Min Available": lambda body, now: str(spec_of(body).get("minAvailable", "N/A")),
            "Max Unavailable": lambda body, now: str(spec_of(body).get("maxUnavailable", "N/A")),
        },
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ROLE_BINDING,
    ("rbac.authorization.k8s.io", "RoleBinding"): ROLE_BINDING,
    ("resource.k8s.io", "DeviceClass"): printer("Name | Age"),
    ("resource.k8s.io", "DeviceTaintRule"): printer(
        "Name | Key .spec.taint.key | Value .spec.taint.value | Effect .spec.taint.effect | TimeAdded | Age",
        {"TimeAdded": lambda body, now: since(spec_of(body).get("taint", {}).get("timeAdded"), now)},
    ),
    ("resource.k8s.io", "ResourceClaim"): printer("Name | State | Age", {"State": claim_state}),
    ("resource.k8s.io", "ResourceClaimTemplate"): printer("Name | Age"),
    ("resource.k8s.io", "ResourceSlice"): printer(
        "Name | Node .spec.nodeName | Driver .spec.driver | Pool .spec.pool.name | Age"
    ),
    ("scheduling.k8s.io", "CompositePodGroup"): printer(f"{GROUP} | Age", {"Policy": group_policy}),
    ("scheduling.k8s.io", "PodGroup"): printer(
        f"{GROUP} | Status | Age", {"Policy": group_policy, "Status": group_status}
    ),
    ("scheduling.k8s.io", "PriorityClass"): printer(
        "Name | Value:integer .value | Global-Default:boolean .globalDefault | Age | "
        "PreemptionPolicy .preemptionPolicy"
    ),
    ("scheduling.k8s.io", "Workload"): printer("Name | Age"),
    ("storage.k8s.io", "CSINode"): printer(
        "Name | Drivers:integer | Age",
        {"Drivers": lambda body, now: len(spec_of(body).get("drivers") or ())},
    ),
    ("storage.k8s.io", "StorageClass"): printer(
        "Name | Provisioner .provisioner | ReclaimPolicy .reclaimPolicy or Delete | "
        "VolumeBindingMode .volumeBindingMode or Immediate | AllowVolumeExpansion | Age",
        {"AllowVolumeExpansion": lambda body, now: body.get("allowVolumeExpansion", False)},
        default_among=default_class,
    ),
}


def printer_for(group: str, kind: str) -> Printer:
    return PRINTERS.get((group, kind), CREATED_AT)


def row_conditions(body: Body) -> list[Any]:
    """Pods that have ended say so, and clients can leave them out."""
    ended = status_of(body).get("phase") if "containers" in spec_of(body) else None
    if ended not in FINISHED:
        return []
    words = "The pod has completed successfully." if ended == "Succeeded" else "The pod failed."
    return [{"type": "Completed", "status": "True", "reason": ended, "message": words}]
