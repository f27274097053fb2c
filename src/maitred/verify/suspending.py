"""Owners that are suspended to make room: which one makes a pod leave, and whether all of its pods leave."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .fields import Doc
from .pods import Owner, Pod, controller

OF_THE_SYSTEM = {"kube-system", "kube-public", "kube-node-lease"}
HIGHEST = 8
"""So many owners stand above a pod at most; owners may name each other in a circle."""


@dataclass(frozen=True)
class SuspensionRule:
    """How objects of a kind are suspended. `managers`: who may manage one, if it names anyone."""

    managers: tuple[str, ...]
    place: Callable[[Doc], Doc] = lambda spec: spec
    willing: Callable[[Doc], bool] = lambda spec: True


def _run_policy(spec: Doc) -> Doc:
    return spec.doc("runPolicy")


def _shuts_down(spec: Doc) -> bool:
    """KubeRay suspends only RayJobs that have a cluster of their own, and shut it down."""
    return spec.flag("shutdownAfterJobFinishes") and not spec.doc("clusterSelector").raw


TRAINING = ("kubeflow.org/training-operator", "kubeflow.org/mpi-operator")
RULES = {
    "Job": SuspensionRule(("kubernetes.io/job-controller",)),
    "JobSet": SuspensionRule(("jobset.sigs.k8s.io/jobset-controller",)),
    "TrainJob": SuspensionRule(("trainer.kubeflow.org/trainjob-controller",)),
    "RayJob": SuspensionRule(("ray.io/kuberay-operator",), willing=_shuts_down),
    "RayCluster": SuspensionRule(("ray.io/kuberay-operator",)),
    "PyTorchJob": SuspensionRule(TRAINING[:1], place=_run_policy),
    "MPIJob": SuspensionRule(TRAINING, place=_run_policy),
}
WORKLOAD = "Workload"


@dataclass(frozen=True)
class Suspendable:
    kind: str
    key: str
    uid: str
    suspended: bool
    willing: bool
    """It can be suspended, and may be."""
    owner: Owner | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@dataclass(frozen=True)
class Queued:
    """A Workload of Kueue that is not finished."""

    key: str
    active: bool
    owners: frozenset[str]
    """UIDs of those that it stands for."""


@dataclass(frozen=True)
class WayOut:
    """How a pod is made to leave: by suspending an owner, which Kueue does if `queued`."""

    owner: Suspendable
    queued: bool
    stopped: bool
    """It has been already."""

    @property
    def whole(self) -> bool:
        """Whether the pods of the owner leave together. Those of a plain Job may be independent."""
        return self.queued or self.owner.kind != "Job"


@dataclass
class Suspendables:
    found: dict[tuple[str, str], Suspendable] = field(default_factory=dict)
    queue: dict[str, Queued] = field(default_factory=dict)

    def put(self, key: str, doc: Doc) -> None:
        meta, spec, kind = doc.doc("metadata"), doc.doc("spec"), doc.text("kind")
        rule = RULES[kind]
        fields = rule.place(spec)
        own = fields.text("managedBy") in ("", *rule.managers)
        willing = own and rule.willing(spec) and key.partition("/")[0] not in OF_THE_SYSTEM
        self.found[kind, key] = Suspendable(
            kind, key, meta.text("uid"), fields.flag("suspend"), willing, controller(meta)
        )

    def put_workload(self, key: str, doc: Doc) -> None:
        conditions = doc.doc("status").docs("conditions")
        if any((said.text("type"), said.text("status")) == ("Finished", "True") for said in conditions):
            return
        spec, meta = doc.doc("spec"), doc.doc("metadata")
        uids = frozenset(owner.text("uid") for owner in meta.docs("ownerReferences"))
        self.queue[key] = Queued(key, not spec.given("active") or spec.flag("active"), uids - {""})

    def way_out(self, pod: Pod) -> WayOut | None:
        """By the topmost owner that is known; None where the pod can only be deleted."""
        above = self._above(pod)
        if not above or pod.namespace in OF_THE_SYSTEM:
            return None
        for one in reversed(above):
            for queued in sorted(self.queue.values(), key=lambda queued: queued.key):
                if one.uid in queued.owners and queued.key.startswith(f"{pod.namespace}/"):
                    return WayOut(one, True, not queued.active)
        top = above[-1]
        # Whoever makes plain Jobs leaves them alone afterwards; who makes larger things may not.
        is_made = top.owner is not None and (top.kind != "Job" or top.owner[0] in {*RULES, WORKLOAD})
        return WayOut(top, False, top.suspended) if top.willing and not is_made else None

    def _above(self, pod: Pod) -> list[Suspendable]:
        above: list[Suspendable] = []
        owner = pod.controller
        while owner is not None and len(above) < HIGHEST:
            one = self.found.get((owner[0], f"{pod.namespace}/{owner[1]}"))
            if one is None or (one.uid and owner[2] and one.uid != owner[2]):
                break
            above.append(one)
            owner = one.owner
        return above
