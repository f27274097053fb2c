"""Kinds that make pods: what they are called, of which API group they are, and how their pods are known.

A kind is a name and an API group: Volcano has a `Job` too, and it is not that of Kubernetes. Pods of a
controller name it in their owner references. Where another controller stands between the two (a Deployment
makes ReplicaSets, a JobSet makes Jobs), labels of the pods tell whose they are in the end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from maitred.model import training
from maitred.model.kinds import row_of
from maitred.model.meta import ObjectMeta, OwnerReference, controller_of
from maitred.model.objects import Object
from maitred.model.selector import Labels

ITS_NAME = ""
TEMPLATE_HASH = "pod-template-hash"
"""A Deployment calls its ReplicaSets by its own name and this label of their pods."""
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?(\.|$)")


@dataclass(frozen=True, slots=True)
class OwnerKind:
    kind: str
    group: str
    plural: str
    short: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)
    """What its pods have where others stand between it and them; ITS_NAME stands for its name."""
    asked_as: str = ""
    """What it is called in a question; without it: its kind in lower case."""

    @property
    def name(self) -> str:
        return self.asked_as or self.kind.lower()

    @property
    def title(self) -> str:
        """Its kind, with the API group where another kind of that name is better known."""
        return self.kind if _HOME[self.kind] == self.group else f"{self.kind}.{self.group}"


def _of_set(kind: str, group: str) -> OwnerKind:
    return OwnerKind(kind, group, f"{kind.lower()}s", labels={"jobset.sigs.k8s.io/jobset-name": ITS_NAME})


def _of_ray(kind: str) -> OwnerKind:
    labels = {"ray.io/originated-from-cr-name": ITS_NAME, "ray.io/originated-from-crd": kind}
    return OwnerKind(kind, "ray.io", f"{kind.lower()}s", labels=labels)


BATCH_JOB = OwnerKind("Job", "batch", "jobs")
VOLCANO_JOB = OwnerKind("Job", "batch.volcano.sh", "jobs", ("vcjob", "vj"), asked_as="vcjob")
DEPLOYMENT = OwnerKind("Deployment", "apps", "deployments", ("deploy",))
REPLICA_SET = OwnerKind("ReplicaSet", "apps", "replicasets", ("rs",))
OWNER_KINDS = (
    BATCH_JOB,
    OwnerKind("CronJob", "batch", "cronjobs", ("cj",)),
    DEPLOYMENT,
    REPLICA_SET,
    OwnerKind("StatefulSet", "apps", "statefulsets", ("sts",)),
    OwnerKind("DaemonSet", "apps", "daemonsets", ("ds",)),
    OwnerKind("ReplicationController", "", "replicationcontrollers", ("rc",)),
    _of_set("JobSet", "jobset.x-k8s.io"),
    OwnerKind(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        "leaderworkersets",
        ("lws",),
        {"leaderworkerset.sigs.k8s.io/name": ITS_NAME},
    ),
    _of_set("TrainJob", "trainer.kubeflow.org"),
    *(OwnerKind(kind, training.API_GROUP, f"{kind.lower()}s") for kind in training.KINDS),
    OwnerKind("RayCluster", "ray.io", "rayclusters", labels={"ray.io/cluster": ITS_NAME}),
    _of_ray("RayJob"),
    _of_ray("RayService"),
    OwnerKind(
        "SparkApplication",
        "sparkoperator.k8s.io",
        "sparkapplications",
        ("sparkapp",),
        {"sparkoperator.k8s.io/app-name": ITS_NAME},
    ),
    OwnerKind("AppWrapper", "workload.codeflare.dev", "appwrappers"),
    VOLCANO_JOB,
)
SERVICES = frozenset(
    ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Node")
)
"""Kinds whose pods serve one by one: each of them is a group of one."""
BY_NAME = {one.name: one for one in OWNER_KINDS}
BY_KIND = {(one.group, one.kind): one for one in OWNER_KINDS}
_LABELLED = tuple(one for one in OWNER_KINDS if one.labels)
_HOME = {one.kind: one.group for one in reversed(OWNER_KINDS)}


def api_group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def owner_kind(api_version: str, kind: str) -> OwnerKind | None:
    return BY_KIND.get((api_group(api_version), kind))


def kind_of(owner: OwnerReference) -> str:
    """Its kind, with the API group where another kind of that name is better known."""
    group, home = api_group(owner.api_version), _HOME.get(owner.kind)
    foreign = bool(owner.api_version) and home is not None and home != group
    return f"{owner.kind}.{group}" if foreign else owner.kind


def kind_title(owner: Object) -> str:
    """The title of the kind of an object."""
    row = row_of(type(owner))
    return kind_of(OwnerReference(row.name, api_version=row.api_versions[0]))


def named_kind(text: str) -> OwnerKind | None:
    """The kind, as kubectl understands it: `deploy`, `Deployments`, `statefulset.apps`, `jobs.v1.batch`."""
    base, _, rest = text.lower().partition(".")
    group = _VERSION.sub("", rest, count=1)
    for one in OWNER_KINDS:
        if base in (one.kind.lower(), one.plural, *one.short) and (not rest or group == one.group):
            return one
    return None


Owner = tuple[str, str]
"""The title of a kind, and the name of one of them."""


def owners_of(labels: Labels, controller: Owner | None) -> Iterator[Owner]:
    """Whose a pod is, or a Job, by what it says itself: its controller, and those that are behind it."""
    if controller is not None:
        kind, name = controller
        yield controller
        suffix = f"-{labels.get(TEMPLATE_HASH, '')}"
        if kind == REPLICA_SET.title and len(suffix) > 1 and name.endswith(suffix):
            yield DEPLOYMENT.title, name.removesuffix(suffix)
    for one in _LABELLED:
        name = next(labels.get(key, "") for key, value in one.labels.items() if value == ITS_NAME)
        if name and all(labels.get(key) == value for key, value in one.labels.items() if value != ITS_NAME):
            yield one.title, name


def owner_of(metadata: ObjectMeta) -> Owner | None:
    owner = controller_of(metadata)
    return None if owner is None else (kind_of(owner), owner.name)
