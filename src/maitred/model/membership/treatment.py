"""What becomes of what was written for other schedulers: honoured, approximated or ignored.

Every label and annotation that a convention reads has a row in `KEYS_OF_OTHERS`, and so has every other key
of those schedulers that we know of. Fields of their objects are in `FIELDS_OF_OTHERS`, objects that are not
taken over at all in `OBJECTS_OF_OTHERS`. `maitred import --check` reads these tables, and a test compares
them with what membership reads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from maitred.model.membership.conventions import slice_layers

Treatment = Literal["honoured", "approximated", "ignored"]
HONOURED: Treatment = "honoured"
APPROXIMATED: Treatment = "approximated"
IGNORED: Treatment = "ignored"

COSCHEDULING, VOLCANO, KUEUE, KAI = "scheduler-plugins", "Volcano", "Kueue", "KAI"
KOORDINATOR, YUNIKORN, ARMADA, GODEL = "Koordinator", "YuniKorn", "Armada", "Gödel"
SLINKY = "Slinky"


@dataclass(frozen=True, slots=True)
class Treated:
    """What is made of one thing that somebody wrote."""

    treatment: Treatment
    words: str
    changes: bool
    """Whether the workload may run otherwise than it did under the other scheduler."""
    same_if: tuple[str, ...] = ()
    """Values that mean what happens anyway."""
    unless: Callable[[str], bool] | None = None
    """Values of which `otherwise` is true instead."""
    otherwise: "Treated | None" = None

    def of_value(self, value: str) -> "Treated":
        if value in self.same_if:
            return Treated(HONOURED, f"{value} is how maitred works", changes=False)
        if self.otherwise is not None and self.unless is not None and self.unless(value):
            return self.otherwise
        return self


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A label or an annotation."""

    scheduler: str
    key: str
    treated: Treated
    beside: tuple[str, ...] = ()
    """It is a key of this scheduler only where one of these is there too: others use the same word."""


def honoured(words: str) -> Treated:
    return Treated(HONOURED, words, changes=False)


def approximated(words: str, *same_if: str) -> Treated:
    return Treated(APPROXIMATED, words, changes=True, same_if=same_if)


def ignored(words: str, *same_if: str) -> Treated:
    return Treated(IGNORED, words, changes=True, same_if=same_if)


def needless(words: str) -> Treated:
    """Not read, because nothing would follow from it."""
    return Treated(IGNORED, words, changes=False)


NAMES_GROUP = honoured("pods that name the same group are one group")
COUNTS = honoured("the quorum of the group")
QUEUE = approximated(
    "the queue of the group, once the policy has one of this name: see maitred import --queues"
)
LIMITS_RUN_TIME = approximated(
    "the run-time limit of the group, as maitred.dev/max-runtime; it ends the group only in a queue that "
    "enforces limits"
)
REQUIRED = honoured("all members in one domain of this node label")
PREFERRED = honoured("members in one domain of this node label if there is room")
PREEMPTION = "maitred preempts by priority alone; give the pods a PriorityClass that ranks accordingly"
KUEUE_ORDER = "it orders the queues of Kueue; maitred goes by the PriorityClass of the pods"
NO_WAITING = "maitred binds no part of a gang, so nothing waits that could time out"
OWN_REQUESTS = "maitred places the quorum only where the requests of its pods fit, which is stricter"
SUBGROUPS = "the members are one group: no part of it has a quorum or a domain of its own"
CLASS_OF_GROUP = honoured("the priority of the group, if there is such a class; its pods must have the same")
SLICES = honoured("each slice of the members in one domain of this node label")
SLICE_SIZE = honoured("how many members are a slice")
WHOLE_DEVICES = "maitred allocates only whole devices, so this pod gets none"
WRITTEN_BY_KAI = needless("KAI writes it to tell what it did")


def exempting(*known: str) -> Treated:
    """Whether preemption may take the pod. What cannot be read protects it."""
    never = approximated(f"it is not {' or '.join(known)}, and the pod is never preempted")
    words = "whether preemption may take the pod"
    return Treated(HONOURED, words, changes=False, unless=lambda value: value not in known, otherwise=never)


def in_layers(text: str) -> bool:
    layers = slice_layers(text)
    return layers is not None and len(layers) > 1


def _keys(scheduler: str, prefix: str, **rows: Treated) -> tuple[KeyRow, ...]:
    """`_` in a name stands for `-`."""
    return tuple(
        KeyRow(scheduler, f"{prefix}{name.replace('_', '-')}", treated) for name, treated in rows.items()
    )


KEYS_OF_OTHERS: tuple[KeyRow, ...] = (
    KeyRow(COSCHEDULING, "scheduling.x-k8s.io/pod-group", NAMES_GROUP),
    # Volcano
    KeyRow(VOLCANO, "scheduling.k8s.io/group-name", NAMES_GROUP),
    *_keys(
        VOLCANO,
        "scheduling.volcano.sh/",
        group_name=NAMES_GROUP,
        group_min_member=COUNTS,
        queue_name=QUEUE,
    ),
    *_keys(
        VOLCANO,
        "volcano.sh/",
        preemptable=exempting("true", "false"),
        sla_waiting_time=ignored(
            "within one priority, the older group goes first; a long wait changes nothing"
        ),
        cooldown_time=ignored("maitred may preempt a group right after it has started"),
    ),
    # Kueue
    *_keys(
        KUEUE,
        "kueue.x-k8s.io/",
        queue_name=approximated(
            "if Kueue runs beside maitred, Kueue admits the workload and maitred places it; without Kueue it "
            "is the queue of the group, once the policy has one of this name"
        ),
        priority_class=ignored(
            "it orders the queues of Kueue; maitred goes by the PriorityClass of the pods"
        ),
        max_exec_time_seconds=LIMITS_RUN_TIME,
        pod_group_name=NAMES_GROUP,
        pod_group_total_count=COUNTS,
        pod_group_fast_admission=honoured("the group may start with its first pod"),
        podset_required_topology=REQUIRED,
        podset_preferred_topology=PREFERRED,
        podset_unconstrained_topology=needless("members may be placed anywhere, as without this key"),
        podset_slice_required_topology=SLICES,
        podset_slice_size=SLICE_SIZE,
        podset_slice_required_topology_constraints=Treated(
            HONOURED,
            "each slice of the members in one domain of the node label",
            changes=False,
            unless=in_layers,
            otherwise=approximated(
                "maitred has slices of one level: each slice of the last layer is in one domain, and the "
                "wider layers do not count"
            ),
        ),
        podset_group_name=ignored("maitred cannot keep two named parts of a workload in one domain"),
        job_min_parallelism=ignored(
            "the quorum is that of the Job; set maitred.dev/min-count to let it start with fewer"
        ),
        priority_boost=ignored(PREEMPTION),
    ),
    # KAI
    KeyRow(KAI, "pod-group-name", NAMES_GROUP),
    *_keys(
        KAI,
        "kai.scheduler/",
        queue=QUEUE,
        batch_min_member=COUNTS,
        subgroup_name=ignored(SUBGROUPS),
        preemptibility=exempting("preemptible", "non-preemptible"),
        topology=needless("maitred finds the levels by the node labels; see maitred topology"),
        topology_required_placement=REQUIRED,
        topology_preferred_placement=PREFERRED,
        segment_size=approximated(
            "how many members are a slice; a leader or a master is in the first slice, and counts"
        ),
        segment_topology_required_placement=SLICES,
        segment_topology_preferred_placement=ignored(
            "maitred has no slices that are only preferred; segment-topology-required-placement makes slices"
        ),
        preemption_delay=ignored("maitred preempts as soon as it has proven that it helps"),
        staleness_grace_period=ignored("a gang that loses members keeps the others, however few they are"),
    ),
    *_keys(
        KAI,
        "kai.scheduler/",
        node_pool=ignored("maitred uses all nodes; give the pods a node selector"),
        task_priority=ignored("members of one shape go by their index, then by their age"),
        skip_podgrouper=needless("maitred has no podgrouper"),
        top_owner_metadata=WRITTEN_BY_KAI,
        last_start_timestamp=WRITTEN_BY_KAI,
        last_eviction_timestamp=WRITTEN_BY_KAI,
        stale_podgroup_timestamp=WRITTEN_BY_KAI,
    ),
    KeyRow(KAI, "gpu-fraction", ignored(WHOLE_DEVICES)),
    KeyRow(KAI, "gpu-fraction-num-devices", ignored(WHOLE_DEVICES)),
    KeyRow(KAI, "gpu-fraction-container-name", ignored(WHOLE_DEVICES)),
    KeyRow(KAI, "gpu-memory", ignored(WHOLE_DEVICES)),
    # Koordinator
    *_keys(
        KOORDINATOR,
        "gang.scheduling.koordinator.sh/",
        name=NAMES_GROUP,
        min_available=COUNTS,
        total_number=needless("all pods that exist are counted"),
        mode=ignored("a gang is bound as a whole or not at all", "Strict"),
        groups=ignored("gangs are not tied to each other; put the pods into one gang"),
        match_policy=approximated("members that run or have succeeded count", "once-satisfied"),
        network_topology_spec=honoured("its layers are levels of policy.topology.levels, by their names"),
    ),
    KeyRow(KOORDINATOR, "pod-group.scheduling.sigs.k8s.io", NAMES_GROUP),
    *_keys(KOORDINATOR, "pod-group.scheduling.sigs.k8s.io/", name=NAMES_GROUP, min_available=COUNTS),
    *_keys(
        KOORDINATOR,
        "quota.scheduling.koordinator.sh/",
        name=QUEUE,
        parent=ignored("queues are below others as policy.queues says"),
        preemptible=exempting("true", "false"),
    ),
    # YuniKorn
    *_keys(
        YUNIKORN,
        "yunikorn.apache.org/",
        app_id=honoured("pods of one application that are in a task group are one group"),
        task_group_name=honoured("the pod is in a task group, so it is in the gang of its application"),
        task_groups=honoured("the quorum is the sum of minMember; no placeholders are made"),
        queue=QUEUE,
        schedulingPolicyParameters=ignored(
            "the gang starts as a whole or waits, however long: style Soft and timeouts do not count"
        ),
        allow_preemption=ignored(PREEMPTION, "true"),
    ),
    KeyRow(YUNIKORN, "applicationId", honoured("the older name of yunikorn.apache.org/app-id")),
    KeyRow(
        YUNIKORN,
        "queue",
        ignored("the older name of yunikorn.apache.org/queue, which maitred keeps"),
        beside=("applicationId", "yunikorn.apache.org/app-id"),
    ),
    # others that are read too
    *_keys(
        ARMADA,
        "armadaproject.io/",
        gangId=NAMES_GROUP,
        gangCardinality=COUNTS,
        gangNodeUniformityLabel=REQUIRED,
    ),
    KeyRow(GODEL, "godel.bytedance.com/pod-group-name", NAMES_GROUP),
    *_keys(
        SLINKY,
        "slurmjob.slinky.slurm.net/",
        job_name=needless("it is the name of the job in Slurm"),
        account=ignored("it is whose quota Slurm counts; maitred.dev/queue names a queue"),
        partition=ignored("maitred seats on all nodes; give the pods a node selector"),
        qos=ignored(PREEMPTION),
        timelimit=LIMITS_RUN_TIME,
        gres=ignored("maitred gives what the containers request"),
    ),
)

PREFIXES: dict[str, str] = {
    "scheduling.x-k8s.io/": COSCHEDULING,
    "scheduling.volcano.sh/": VOLCANO,
    "volcano.sh/": VOLCANO,
    "kueue.x-k8s.io/": KUEUE,
    "kai.scheduler/": KAI,
    "gang.scheduling.koordinator.sh/": KOORDINATOR,
    "pod-group.scheduling.sigs.k8s.io/": KOORDINATOR,
    "quota.scheduling.koordinator.sh/": KOORDINATOR,
    "scheduling.koordinator.sh/": KOORDINATOR,
    "yunikorn.apache.org/": YUNIKORN,
    "armadaproject.io/": ARMADA,
    "godel.bytedance.com/": GODEL,
    "slurmjob.slinky.slurm.net/": SLINKY,
}
"""Whose keys begin so. One without a row is told as ignored: we do not know what it means."""
UNKNOWN = ignored("maitred does not know this key")
UNKNOWN_FIELD = ignored("maitred does not know this field")


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field of an object of another scheduler."""

    scheduler: str
    group: str
    kind: str
    field: str
    """Its path in the object."""
    treated: Treated


def _fields(scheduler: str, group: str, kind: str, **rows: Treated) -> tuple[FieldRow, ...]:
    return tuple(FieldRow(scheduler, group, kind, f"spec.{name}", treated) for name, treated in rows.items())


TASK_COUNTS = approximated("only the sum counts, which is minMember: any members may make up the quorum")
FIELDS_OF_OTHERS: tuple[FieldRow, ...] = (
    *_fields(
        COSCHEDULING,
        "scheduling.x-k8s.io",
        "PodGroup",
        minMember=COUNTS,
        minResources=needless(OWN_REQUESTS),
        scheduleTimeoutSeconds=needless(NO_WAITING),
    ),
    *_fields(
        VOLCANO,
        "scheduling.volcano.sh",
        "PodGroup",
        minMember=COUNTS,
        minTaskMember=TASK_COUNTS,
        minResources=needless(OWN_REQUESTS),
        queue=QUEUE,
        priorityClassName=CLASS_OF_GROUP,
        networkTopology=approximated(
            "highestTierName is a level of policy.topology.levels; tiers by number are not known"
        ),
        subGroupPolicy=ignored(SUBGROUPS),
    ),
    *_fields(
        VOLCANO,
        "batch.volcano.sh",
        "Job",
        minAvailable=COUNTS,
        queue=QUEUE,
        priorityClassName=CLASS_OF_GROUP,
        networkTopology=approximated(
            "highestTierName is a level of policy.topology.levels; tiers by number are not known"
        ),
    ),
    *_fields(
        KAI,
        "scheduling.run.ai",
        "PodGroup",
        minMember=COUNTS,
        queue=QUEUE,
        priorityClassName=CLASS_OF_GROUP,
        preemptibility=exempting("preemptible", "non-preemptible"),
        topologyConstraint=honoured("its levels are node labels that all members share"),
        subGroups=ignored(SUBGROUPS),
        minSubGroup=approximated(
            "the quorum is what the smallest of so many parts take; any members make it up"
        ),
        preemptionDelay=ignored("maitred preempts as soon as it has proven that it helps"),
        stalenessGracePeriod=ignored("a gang that loses members keeps the others, however few they are"),
        markUnschedulable=needless("maitred says of every group why it waits"),
        schedulingBackoff=needless("maitred tries a group again whenever something has changed"),
    ),
    *_fields(
        KOORDINATOR,
        "scheduling.sigs.k8s.io",
        "PodGroup",
        minMember=COUNTS,
        minResources=needless(OWN_REQUESTS),
        scheduleTimeoutSeconds=needless(NO_WAITING),
    ),
    *_fields(GODEL, "scheduling.godel.kubewharf.io", "PodGroup", minMember=COUNTS),
)

IMPORTED = "it is not read: maitred import --queues makes a policy of it"
NO_QUOTA = "it is not read: policy.queues says who may have how much"
NO_CHECK = "maitred admits without it"
NO_TREE = "maitred reads topology from node labels: list them in policy.topology.levels"
OBJECTS_OF_OTHERS: dict[tuple[str, str], tuple[str, str]] = {
    ("kueue.x-k8s.io", "ClusterQueue"): (KUEUE, IMPORTED),
    ("kueue.x-k8s.io", "LocalQueue"): (KUEUE, IMPORTED),
    ("kueue.x-k8s.io", "Cohort"): (KUEUE, IMPORTED),
    ("kueue.x-k8s.io", "ResourceFlavor"): (KUEUE, IMPORTED),
    ("kueue.x-k8s.io", "AdmissionCheck"): (KUEUE, NO_CHECK),
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): (KUEUE, KUEUE_ORDER),
    ("kueue.x-k8s.io", "Topology"): (KUEUE, NO_TREE),
    ("scheduling.volcano.sh", "Queue"): (VOLCANO, IMPORTED),
    ("topology.volcano.sh", "HyperNode"): (VOLCANO, NO_TREE),
    ("scheduling.run.ai", "Queue"): (KAI, IMPORTED),
    ("kai.scheduler", "Topology"): (KAI, NO_TREE),
    ("scheduling.x-k8s.io", "ElasticQuota"): (COSCHEDULING, NO_QUOTA),
    ("scheduling.sigs.k8s.io", "ElasticQuota"): (KOORDINATOR, NO_QUOTA),
    ("quota.koordinator.sh", "ElasticQuotaProfile"): (KOORDINATOR, NO_QUOTA),
    ("scheduling.koordinator.sh", "Reservation"): (KOORDINATOR, "maitred keeps no capacity for it"),
    ("scheduling.koordinator.sh", "ClusterNetworkTopology"): (KOORDINATOR, NO_TREE),
}
"""By API group and kind: whose they are, and what becomes of them."""

SCHEDULERS: dict[str, str] = {
    "volcano": VOLCANO,
    "kai-scheduler": KAI,
    "koord-scheduler": KOORDINATOR,
    "yunikorn": YUNIKORN,
    "scheduler-plugins-scheduler": COSCHEDULING,
    "scheduler-plugins": COSCHEDULING,
    "armada": ARMADA,
    "godel-scheduler": GODEL,
    "slurm-bridge-scheduler": SLINKY,
}
"""What others are called in `schedulerName`, where nobody has chosen another name."""
