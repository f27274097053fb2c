"""Conditions, taints and labels of nodes that tell of health, one row for each.

To add one, write its row: nothing else is needed. A condition that has no row is said to be unknown, and
counts for nothing.
"""

from typing import Literal, NamedTuple

from maitred.model.health.signals import Certainty, Family, Kind

WHEN_TRUE, WHEN_FALSE = "True", "False"


class ConditionRow(NamedTuple):
    type: str
    bad: str
    """The status that tells of a fault."""
    family: Family
    certainty: Certainty
    words: str
    by: str
    """Who writes it."""
    coded: bool = False
    """Whether error codes in its message are XIDs."""


KUBERNETES, DETECTOR, AKS, EKS, SENTINEL = (
    "Kubernetes",
    "node-problem-detector",
    "node-problem-detector of AKS",
    "EKS node monitoring agent",
    "NVSentinel",
)


def _rows(
    by: str, bad: str, family: Family, certainty: Certainty, *rows: tuple[str, str]
) -> tuple[ConditionRow, ...]:
    return tuple(
        ConditionRow(type, bad, family, certainty, words, by, "XID" in type.upper()) for type, words in rows
    )


CONDITIONS = (
    *_rows(
        *(KUBERNETES, WHEN_TRUE, "Infrastructure", "certain"),
        ("MemoryPressure", "is short of memory"),
        ("DiskPressure", "is short of disk"),
        ("PIDPressure", "is short of process ids"),
        ("NetworkUnavailable", "has no network"),
    ),
    *_rows(
        *(DETECTOR, WHEN_TRUE, "Infrastructure", "certain"),
        ("KernelDeadlock", "has a kernel deadlock"),
        ("ReadonlyFilesystem", "has a file system that became read-only"),
        ("CorruptDockerOverlay2", "has a corrupt container file system"),
        ("FilesystemCorruptionProblem", "has a corrupt file system"),
        ("KubeletProblem", "has a kubelet that does not work"),
        ("KubeletUnhealthy", "has a kubelet that does not work"),
        ("ContainerRuntimeProblem", "has a container runtime that does not work"),
        ("ContainerRuntimeUnhealthy", "has a container runtime that does not work"),
    ),
    *_rows(
        *(DETECTOR, WHEN_TRUE, "Infrastructure", "likely"),
        ("FrequentKubeletRestart", "has a kubelet that restarts often"),
        ("FrequentDockerRestart", "has a container runtime that restarts often"),
        ("FrequentContainerdRestart", "has a container runtime that restarts often"),
        ("FrequentUnregisterNetDevice", "often fails to remove network devices"),
    ),
    *_rows(
        *(AKS, WHEN_TRUE, "Device", "certain"),
        ("GPUMissing", "misses a GPU"),
        ("NVLinkStatusInactive", "has an inactive NVLink"),
        ("XIDErrors", "reports XIDs"),
    ),
    *_rows(
        *(AKS, WHEN_TRUE, "Infrastructure", "likely"),
        ("IBLinkFlapping", "has an InfiniBand link that goes up and down"),
        ("UnhealthyNvidiaDevicePlugin", "has a device plugin that does not work"),
    ),
    *_rows(AKS, WHEN_TRUE, "Degradation", "likely", ("GPUClockThrottling", "throttles the clock of a GPU")),
    *_rows(
        EKS, WHEN_FALSE, "Device", "certain", ("AcceleratedHardwareReady", "has an unhealthy accelerator")
    ),
    *_rows(
        *(EKS, WHEN_FALSE, "Infrastructure", "certain"),
        ("ContainerRuntimeReady", "has a container runtime that does not work"),
        ("KernelReady", "has a fault of its kernel"),
        ("NetworkingReady", "has a fault of its network"),
        ("StorageReady", "has a fault of its storage"),
    ),
    *_rows(
        *(SENTINEL, WHEN_TRUE, "Device", "certain"),
        ("GpuXidError", "reports XIDs"),
        ("SysLogsXIDError", "reports XIDs"),
        ("SysLogsGPUFallenOff", "has lost a GPU from its bus"),
        ("GpuMemWatch", "has a fault of GPU memory"),
        ("GpuAllWatch", "has a fault of a GPU"),
        ("GpuInforomWatch", "has a corrupt InfoROM of a GPU"),
        ("GpuNvlinkWatch", "has a fault of NVLink"),
        ("GpuNvswitchFatalWatch", "has a fault of an NVSwitch"),
        ("GpuDriverWatch", "has a fault of the GPU driver"),
    ),
    *_rows(
        *(SENTINEL, WHEN_TRUE, "Degradation", "likely"),
        ("GpuThermalWatch", "has a GPU that is too hot"),
        ("GpuPowerWatch", "has a GPU with a fault of its power"),
    ),
    # Codes of switches are not those of GPUs.
    ConditionRow(
        "SysLogsSXIDError", WHEN_TRUE, "Device", "likely", "reports a fault of an NVSwitch", SENTINEL
    ),
)
CONDITION_ROWS = {row.type: row for row in CONDITIONS}


class TaintRow(NamedTuple):
    """A taint of Kubernetes that says what has become of a node."""

    key: str
    kind: Kind
    family: Family
    words: str


TAINTS = (
    TaintRow("node.kubernetes.io/not-ready", "NotReady", "Infrastructure", "is not Ready"),
    TaintRow("node.kubernetes.io/unreachable", "Unreachable", "Infrastructure", "does not answer"),
    TaintRow(
        "node.kubernetes.io/out-of-service", "Closed", "Infrastructure", "is out of service: it was fenced"
    ),
    TaintRow(
        "node.cloudprovider.kubernetes.io/shutdown", "Closed", "Infrastructure", "was shut down by the cloud"
    ),
    TaintRow(
        "node.cloudprovider.kubernetes.io/uninitialized", "Closed", "Infrastructure", "is not initialized yet"
    ),
)
TAINT_ROWS = {row.key: row for row in TAINTS}
LOST_TAINTS = frozenset(TAINT_ROWS)
"""Of nodes whose pods do not work, or are not known to."""
LOSING: tuple[Kind, ...] = ("NotReady", "Unreachable", "Closed")
"""The same, as signals."""


HURTING: tuple[Kind, ...] = (*LOSING, "Spot", "Maintenance", "Removal")
"""Signals of a node that reach every group with members on it."""


class NoticeRow(NamedTuple):
    """By which a cloud, or who adds and removes nodes, says beforehand that a node will go."""

    place: Literal["taint", "label", "condition"]
    key: str
    kind: Kind
    words: str
    by: str
    value: str = ""
    """The value of a label that it must have."""
    timed: bool = False
    """The value is the time, in seconds since 1970, at which it happens or was decided."""


_AWS = "aws-node-termination-handler"
NOTICES = (
    NoticeRow(
        "taint", "cloud.google.com/impending-node-termination", "Maintenance", "GKE will stop it soon", "GKE"
    ),
    NoticeRow(
        "label",
        "cloud.google.com/active-node-maintenance",
        "Maintenance",
        "the maintenance of its host has begun",
        "GKE",
        "ONGOING",
    ),
    NoticeRow(
        "label",
        "cloud.google.com/scheduled-maintenance-time",
        "Maintenance",
        "the maintenance of its host is scheduled",
        "GKE",
        timed=True,
    ),
    NoticeRow("taint", f"{_AWS}/spot-itn", "Spot", "AWS will take the spot instance back", "EKS"),
    NoticeRow(
        "taint",
        f"{_AWS}/rebalance-recommendation",
        "Spot",
        "AWS may take the spot instance back soon",
        "EKS",
    ),
    NoticeRow(
        "taint", f"{_AWS}/scheduled-maintenance", "Maintenance", "AWS has scheduled maintenance for it", "EKS"
    ),
    NoticeRow(
        "taint",
        f"{_AWS}/asg-lifecycle-termination",
        "Removal",
        "its Auto Scaling group will terminate it",
        "EKS",
    ),
    NoticeRow(
        "taint",
        "remediator.kubernetes.azure.com/unschedulable",
        "Maintenance",
        "AKS drains it for a scheduled event",
        "AKS",
    ),
    NoticeRow("condition", "PreemptScheduled", "Spot", "Azure will take the spot VM back", "AKS"),
    NoticeRow("condition", "TerminateScheduled", "Removal", "Azure will delete the VM", "AKS"),
    NoticeRow("condition", "RedeployScheduled", "Maintenance", "Azure will move the VM", "AKS"),
    NoticeRow("condition", "RebootScheduled", "Maintenance", "Azure will reboot the VM", "AKS"),
    NoticeRow(
        "condition", "VMEventScheduled", "Maintenance", "Azure has scheduled an event for the VM", "AKS"
    ),
    NoticeRow("taint", "karpenter.sh/disrupted", "Removal", "Karpenter will remove it", "Karpenter"),
    NoticeRow("taint", "karpenter.sh/disruption", "Removal", "Karpenter will remove it", "Karpenter"),
    NoticeRow(
        "taint",
        "ToBeDeletedByClusterAutoscaler",
        "Removal",
        "the cluster autoscaler will remove it",
        "cluster autoscaler",
    ),
)
NOTICE_LABELS = frozenset(row.key for row in NOTICES if row.place == "label")
NOTICE_ROWS = {(row.place, row.key): row for row in NOTICES}
