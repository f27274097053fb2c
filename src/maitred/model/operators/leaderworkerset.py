"""LeaderWorkerSets: replicas that are groups of pods, each with a leader."""

from typing import Any

from maitred.model.job import PodTemplate
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import Name, OperatorCondition, Several, Size

PREFIX = "leaderworkerset.sigs.k8s.io/"
SET_NAME, GROUP_INDEX, WORKER_INDEX, GROUP_SIZE, EXCLUSIVE_TOPOLOGY = (
    f"{PREFIX}{part}" for part in ("name", "group-index", "worker-index", "size", "exclusive-topology")
)
GROUP_KEY, LEADER_NAME = f"{PREFIX}group-key", f"{PREFIX}leader-name"


class SubGroupPolicy(Lean, frozen=True):
    sub_group_size: Size | None = None


class LeaderWorkerTemplate(Lean, frozen=True):
    worker_template: PodTemplate = PodTemplate()
    leader_template: PodTemplate | None = None
    """Without one, the leader is made like the workers."""
    size: Size = 1
    """Pods in a group, its leader included."""
    restart_policy: Name = "RecreateGroupOnPodRestart"
    sub_group_policy: SubGroupPolicy | None = None
    volume_claim_templates: Several[Any] = ()


class LeaderWorkerSetSpec(Lean, frozen=True):
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    replicas: Size = 1
    startup_policy: Name = "LeaderCreated"
    """`LeaderReady`: the workers of a group are created when its leader is ready."""


class LeaderWorkerSetStatus(Lean, frozen=True):
    conditions: Several[OperatorCondition] = ()
    replicas: Size = 0


class LeaderWorkerSet(Object, frozen=True):
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
    status: LeaderWorkerSetStatus = LeaderWorkerSetStatus()
