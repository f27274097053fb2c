"""Operators' objects as gangs: how many pods each makes at once, and what the gang asks for.

Pods that are created only after others are scheduled, ready or complete are a gang of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .conventions import SLICE_SIZE, SLICE_TOPOLOGY, all_marks
from .fields import Doc
from .pods import Pod
from .selectors import Labels
from .workloads import GROUP, MIN_COUNT, names_a_group

SET = "jobset.sigs.k8s.io/"
EXCLUSIVE_JOBS = "alpha.jobset.sigs.k8s.io/exclusive-topology"
LABELLED_NODES = "alpha.jobset.sigs.k8s.io/node-selector"
EXCLUSIVE_GROUPS = "leaderworkerset.sigs.k8s.io/exclusive-topology"
APART = "maitred.dev/gang"
INDEX = "batch.kubernetes.io/job-completion-index"

Above = tuple[str, Doc]
"""The kind of an owner, and the owner."""


@dataclass(frozen=True)
class Gang:
    """`suffix` tells several gangs of one owner apart; `templates` are those of its pods."""

    quorum: int
    suffix: str = ""
    alone: bool = True
    """The only gang of its owner."""
    templates: Sequence[Doc] = ()
    within: str = ""
    done: int = 0
    """Pods of complete Jobs."""
    indexes: Callable[[int], bool] = lambda index: True
    """Which indexes of a Job below it are in it."""
    loose: bool = False
    """The others stay when one has left, and is made anew."""


Maker = Callable[[Doc, Sequence[Above], Pod], Gang | None]


def gang_of(pod: Pod, above: Sequence[Above]) -> tuple[str, Doc, Gang] | None:
    """The kind of the topmost owner that makes a gang which the pod is in, the owner and the gang."""
    for height in reversed(range(len(above))):
        kind, doc = above[height]
        found = MAKERS[kind](doc, above[:height], pod) if kind in MAKERS else None
        if found is not None:
            return kind, doc, found
    return None


def speaks(doc: Doc) -> bool:
    """Whether a Job, or the template of one, says itself what its pods are."""
    spec = doc.doc("spec")
    marks = {**meta_marks(doc), **meta_marks(spec.doc("template"))}
    return (
        spec.given("scheduling")
        or GROUP in marks
        or MIN_COUNT in marks
        or names_a_group(spec.doc("template"))
    )


def meta_marks(doc: Doc) -> Labels:
    meta = doc.doc("metadata")
    return {**meta.strings("annotations"), **meta.strings("labels")}


def members(spec: Doc) -> int:
    """Pods that a Job has at a time."""
    parallelism = max(0, spec.integer("parallelism", 1))
    return max(0, min(parallelism, spec.integer("completions", parallelism)))


# -- JobSets -----------------------------------------------------------------------------------------------


def _job_set(doc: Doc, below: Sequence[Above], pod: Pod) -> Gang | None:
    role = meta_marks(below[-1][1]).get(f"{SET}replicatedjob-name", "") if below else ""
    jobs = doc.doc("spec").docs("replicatedJobs")
    own = next((job for job in jobs if job.text("name") == role), None)
    if own is None or speaks(own.doc("template")):
        return None
    apart = meta_marks(doc).get(APART) == "replicated-job"
    starts = {job.text("name"): _start(doc, number, job, apart) for number, job in enumerate(jobs)}
    mates = [job for job in jobs if starts[job.text("name")] == starts[role]]
    first = mates[0].text("name") if len(set(starts.values())) > 1 else ""
    waits = {job.text("name") for job in mates if waits_for_first(doc, job)}
    follows = (
        pod.annotations.get(INDEX, pod.labels.get(INDEX, "0")) != "0" and EXCLUSIVE_JOBS in pod.annotations
    )
    if follows and role not in waits:
        return None
    status = {
        one.text("name"): one.integer("succeeded") for one in doc.doc("status").docs("replicatedJobsStatus")
    }
    quorum = done = 0
    for job in mates:
        name, each = job.text("name"), members(job.doc("template").doc("spec"))
        if name in waits:
            each = each - 1 if follows else 1
        if (follows and name not in waits) or speaks(job.doc("template")):
            continue
        replicas = job.integer("replicas", 1)
        quorum += replicas * each
        done += min(replicas, status.get(name, 0)) * each
    templates = [
        job.doc("template").doc("spec").doc("template") for job in mates if not speaks(job.doc("template"))
    ]
    parts = [first, "followers" if follows else ""]
    return Gang(
        max(1, quorum),
        "-".join(part for part in parts if part),
        alone=len(set(starts.values())) == 1 and not waits,
        templates=templates,
        done=done,
        indexes=(lambda index: (index > 0) == follows) if role in waits else lambda index: True,
    )


def _start(doc: Doc, number: int, job: Doc, apart: bool) -> tuple[object, ...]:
    """What of it is the same for replicated jobs that are created at the same time."""
    ordered = doc.doc("spec").doc("startupPolicy").text("startupPolicyOrder") == "InOrder"
    needs = {(one.text("name"), one.text("status") == "Complete") for one in job.docs("dependsOn")}
    return number if ordered else 0, tuple(sorted(needs)), job.text("name") if apart else ""


def waits_for_first(doc: Doc, job: Doc) -> bool:
    """Whether the pods of its Jobs are created when the first of them is scheduled."""
    template = job.doc("template")
    places = [doc.doc("metadata").strings("annotations"), template.doc("metadata").strings("annotations")]
    asked = [place for place in places if EXCLUSIVE_JOBS in place]
    indexed = template.doc("spec").text("completionMode", "Indexed") == "Indexed"
    several = members(template.doc("spec")) > 1
    return bool(asked) and indexed and several and not any(LABELLED_NODES in place for place in asked)


# -- others ------------------------------------------------------------------------------------------------


def _worker_set(doc: Doc, below: Sequence[Above], pod: Pod) -> Gang | None:
    spec = doc.doc("spec")
    template = spec.doc("leaderWorkerTemplate")
    size, within = (
        template.integer("size", 1),
        doc.doc("metadata").strings("annotations").get(EXCLUSIVE_GROUPS, ""),
    )
    leader = template.doc("leaderTemplate" if template.given("leaderTemplate") else "workerTemplate")
    worker = template.doc("workerTemplate")
    loose = template.text("restartPolicy") in ("None", "Default")
    apart = size > 1 and bool(within or spec.text("startupPolicy") == "LeaderReady")
    if not apart:
        return Gang(max(1, size), templates=(leader, worker), within=within, loose=loose)
    if pod.labels.get("leaderworkerset.sigs.k8s.io/worker-index", "0") == "0":
        return Gang(1, alone=False, templates=(leader,), within=within, loose=loose)
    return Gang(size - 1, "workers", alone=False, templates=(worker,), within=within, loose=loose)


def _ray_cluster(doc: Doc, below: Sequence[Above], pod: Pod) -> Gang | None:
    if below:
        return None
    spec, quorum = doc.doc("spec"), 1
    templates = [spec.doc("headGroupSpec").doc("template")]
    for workers in spec.docs("workerGroupSpecs"):
        if workers.flag("suspend"):
            continue
        least = workers.integer("minReplicas")
        wanted = max(least, workers.integer("replicas", least))
        if workers.given("maxReplicas") and wanted > least:
            wanted = min(wanted, workers.integer("maxReplicas"))
        replicas = least if spec.flag("enableInTreeAutoscaling") else wanted
        quorum += replicas * workers.integer("numOfHosts", 1)
        templates.append(workers.doc("template"))
    return Gang(quorum, templates=templates)


def _training(field_of_roles: str) -> Maker:
    def maker(doc: Doc, below: Sequence[Above], pod: Pod) -> Gang | None:
        spec = doc.doc("spec")
        roles = {name: spec.doc(field_of_roles).doc(name) for name in spec.doc(field_of_roles).raw}
        later = (
            spec.text("launcherCreationPolicy") == "WaitForWorkersReady"
            and "Launcher" in roles
            and len(roles) > 1
        )
        launches = bool(below)
        if launches and "Launcher" not in roles:
            return None
        chosen = {name: role for name, role in roles.items() if not later or (name == "Launcher") == launches}
        count = sum(role.integer("replicas", 1) for role in chosen.values())
        least = None if later and launches else _least(spec, roles)
        quorum = count if least is None else min(least, count) if count else least
        templates = [role.doc("template") for role in chosen.values()]
        return Gang(max(1, quorum), "launcher" if later and launches else "", not later, templates)

    return maker


def _least(spec: Doc, roles: dict[str, Doc]) -> int | None:
    said = spec.doc("runPolicy").doc("schedulingPolicy").integer("minAvailable")
    workers = spec.doc("elasticPolicy").integer("minReplicas")
    if said > 0 or workers < 1:
        return said if said > 0 else None
    return workers + sum(role.integer("replicas", 1) for name, role in roles.items() if name != "Worker")


def _without_launcher(field_of_roles: str) -> Maker:
    """A Job that it has made does something beside its pods."""

    def maker(doc: Doc, below: Sequence[Above], pod: Pod) -> Gang | None:
        return None if below else _training(field_of_roles)(doc, below, pod)

    return maker


MAKERS: dict[str, Maker] = {
    "JobSet": _job_set,
    "LeaderWorkerSet": _worker_set,
    "RayCluster": _ray_cluster,
    "PyTorchJob": _without_launcher("pytorchReplicaSpecs"),
    "TFJob": _without_launcher("tfReplicaSpecs"),
    "JAXJob": _without_launcher("jaxReplicaSpecs"),
    "XGBoostJob": _without_launcher("xgbReplicaSpecs"),
    "PaddleJob": _without_launcher("paddleReplicaSpecs"),
    "MPIJob": _training("mpiReplicaSpecs"),
}
API_GROUPS = {
    "JobSet": "jobset.x-k8s.io",
    "TrainJob": "trainer.kubeflow.org",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io",
    "RayCluster": "ray.io",
    "RayJob": "ray.io",
    "PyTorchJob": "kubeflow.org",
    **dict.fromkeys(("TFJob", "JAXJob", "XGBoostJob", "PaddleJob", "MPIJob"), "kubeflow.org"),
}
"""Of the kinds that are owners of pods, or of such owners."""


def marks_above(above: Sequence[Above], gang: Gang) -> tuple[Labels, list[str]]:
    """What the owners and the templates say, nearest first; all that speak must agree. The subgroups of a
    LeaderWorkerSet are slices where only their level is said."""
    found = dict[str, str]()
    problems = list[str]()
    for doc in (*(doc for _, doc in above), *gang.templates):
        meta = doc.doc("metadata")
        said, wrong = all_marks(meta.strings("labels"), meta.strings("annotations"))
        problems += wrong
        for key, value in said.items():
            if found.setdefault(key, value) != value:
                problems.append(f"different values of {key}")
    kind, owner = above[0]
    subgroups = owner.doc("spec").doc("leaderWorkerTemplate").doc("subGroupPolicy").integer("subGroupSize")
    if kind == "LeaderWorkerSet" and SLICE_TOPOLOGY in found and subgroups:
        found.setdefault(SLICE_SIZE, str(subgroups))
    return found, problems
