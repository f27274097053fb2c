"""Owners that create some pods only once others are scheduled or ready, in small clusters, with the answer.

Each owner is made together with its pods: those that come first, of which some wait and some run, and those
that come later, of which some are there. What is not there is known too, as the pods that the controller
would create: so brute force can tell whether all of it fits.
"""

from dataclasses import dataclass, field
from hashlib import sha1

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.oracle.builders import (
    Obj,
    container,
    expr,
    near,
    node,
    owner_object,
    pod,
    priority_class,
    selector,
)
from tests.oracle.reading import Group

LWS, SET = "leaderworkerset.sigs.k8s.io/", "jobset.sigs.k8s.io/"
LWS_EXCLUSIVE = f"{LWS}exclusive-topology"
SET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
KINDS = (
    "worker set",
    "exclusive worker set",
    "ordered set",
    "dependent set",
    "exclusive set",
    "mpi job",
    "ray job",
)
LONG_AGO, LATELY = "2026-01-31T11:00:00Z", "2026-01-31T11:45:00Z"
"""Before and after the half hour before `tests.support.NOON` for which room is kept."""
RANKS = {"low": -10, "high": 100}


@dataclass
class Staged:
    """An owner with its pods."""

    owner: str
    first: str
    """The group that comes first, by name,"""
    later: str
    """and the one that comes after it."""
    objects: list[Obj]
    firsts: list[Obj]
    laters: list[Obj]
    missing: list[Obj] = field(default_factory=list)
    """Those of the later group that are not there, as they will be."""
    level: str | None = None
    """All of it is in one domain of this level."""
    suspended: bool = False
    made_later: list[Obj] = field(default_factory=list)
    """What is made together with the later pods."""

    @property
    def pods(self) -> list[Obj]:
        return [*self.firsts, *self.laters]

    @property
    def runs(self) -> bool:
        """Whether all that comes first has its places."""
        return all(_on(one) for one in self.firsts)

    @property
    def whole(self) -> Group:
        """What has to be seated together: what is waiting of those that come first, and all that comes later;
        once the first ones run, what comes later."""
        members = [*self.pods, *self.missing]
        return Group(self.first, len(members), tuple(members), self.level)


@dataclass
class Scene:
    objects: list[Obj]
    staged: Staged
    rivals: list[Obj]


def _on(one: Obj) -> str:
    return str(one["spec"].get("nodeName", ""))


def hashed(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Sizes:
    first: int
    later: int
    rank: str | None


def template(cpu: int, sizes: Sizes, **about: Obj) -> Obj:
    spec: Obj = {"containers": [container("main", {"cpu": str(cpu)})]}
    if sizes.rank is not None:
        spec["priorityClassName"] = sizes.rank
    return {"metadata": about, "spec": spec}


def _pod(name: str, cpu: int, sizes: Sizes, **more: object) -> Obj:
    ranked = {} if sizes.rank is None else {"priority": RANKS[sizes.rank], "priority_class": sizes.rank}
    made: Obj = pod(name, cpu, created=5, **{**ranked, **more})  # type: ignore[arg-type]
    return made


# ---- owners, with all of their pods


def worker_set(sizes: Sizes, workers: int, exclusive: bool) -> Staged:
    labels = {f"{LWS}name": "o", f"{LWS}group-index": "0", f"{LWS}group-key": hashed("default/o-0")}
    about = {LWS_EXCLUSIVE: "rack"} if exclusive else {}
    body = {
        "replicas": 1,
        "startupPolicy": "LeaderCreated" if exclusive else "LeaderReady",
        "leaderWorkerTemplate": {
            "size": workers + 1,
            "leaderTemplate": template(sizes.first, sizes),
            "workerTemplate": template(sizes.later, sizes),
        },
    }
    owner = owner_object(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "o", "default", body, annotations=about
    )

    def one(name: str, index: int, cpu: int, above: str) -> Obj:
        marks = {**labels, f"{LWS}worker-index": str(index)}
        return _pod(name, cpu, sizes, labels=marks, owner=f"StatefulSet/{above}")

    firsts = [one("o-0", 0, sizes.first, "o")]
    laters = [one(f"o-0-{index}", index, sizes.later, "o-0") for index in range(1, workers + 1)]
    level = "rack" if exclusive else None
    title = "LeaderWorkerSet default/o"
    return Staged(title, "default/o-0", "default/o-0-workers", [owner], firsts, laters, level=level)


def job_of_set(name: str, role: str, number: int, size: int, extra: Obj) -> tuple[Obj, dict[str, str]]:
    labels = {
        f"{SET}jobset-name": "o",
        f"{SET}replicatedjob-name": role,
        f"{SET}job-index": str(number),
        f"{SET}job-key": hashed(f"default/{name}"),
    }
    spec = {"parallelism": size, "completions": size, "completionMode": "Indexed", **extra}
    made = owner_object("batch/v1", "Job", name, "default", spec, owner="JobSet/o", labels=labels)
    return made, labels


def ordered_set(sizes: Sizes, first: int, later: int, depends: bool) -> Staged:
    """A role that starts when all of another is ready."""
    specs = {"a": (first, sizes.first), "b": (later, sizes.later)}
    several: list[Obj] = [
        {
            "name": role,
            "template": {"spec": {"parallelism": n, "completions": n, "template": template(c, sizes)}},
        }
        for role, (n, c) in specs.items()
    ]
    body: Obj = {"replicatedJobs": several}
    if depends:
        several[1]["dependsOn"] = [{"name": "a", "status": "Ready"}]
    else:
        body["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    owner, jobs, made = owner_object("jobset.x-k8s.io/v1alpha2", "JobSet", "o", "default", body), [], {}
    for role, (count, cpu) in specs.items():
        job, labels = job_of_set(f"o-{role}-0", role, 0, count, {"template": template(cpu, sizes)})
        jobs.append(job)
        made[role] = [
            _pod(f"o-{role}-0-{i}", cpu, sizes, labels=labels, index=i, owner=f"Job/o-{role}-0")
            for i in range(count)
        ]
    names = ("JobSet default/o", "default/o-a", "default/o-b")
    return Staged(*names, [owner, jobs[0]], made["a"], made["b"], made_later=jobs[1:])


def exclusive_set(sizes: Sizes, jobs: int, size: int) -> Staged:
    """Every Job has a rack of its own: its first pod takes it, and the others follow."""
    marks = {SET_EXCLUSIVE: "rack"}
    body = {
        "replicatedJobs": [
            {
                "name": "a",
                "replicas": jobs,
                "template": {
                    "spec": {
                        "parallelism": size,
                        "completions": size,
                        "template": template(sizes.first, sizes),
                    }
                },
            }
        ]
    }
    owner = owner_object("jobset.x-k8s.io/v1alpha2", "JobSet", "o", "default", body, annotations=marks)
    objects, firsts, laters = [owner], list[Obj](), list[Obj]()
    for number in range(jobs):
        name = f"o-a-{number}"
        job, labels = job_of_set(name, "a", number, size, {"template": template(sizes.first, sizes)})
        objects.append(job)
        key = {f"{SET}job-key": hashed(f"default/{name}")}
        together = near("rack", selector(key), namespace_selector={})
        others = selector(
            None, expr(f"{SET}job-key", "Exists"), expr(f"{SET}job-key", "NotIn", *key.values())
        )
        apart = near("rack", others, namespace_selector={})
        said = {"labels": labels, "annotations": marks, "owner": f"Job/{name}", "affinity": [together]}
        firsts.append(_pod(f"{name}-0", sizes.first, sizes, index=0, anti_affinity=[apart], **said))
        laters += [_pod(f"{name}-{i}", sizes.first, sizes, index=i, **said) for i in range(1, size)]
    return Staged("JobSet default/o", "default/o", "default/o-followers", objects, firsts, laters)


def mpi_job(sizes: Sizes, workers: int) -> Staged:
    roles = {
        "Worker": {"replicas": workers, "template": template(sizes.first, sizes)},
        "Launcher": {"replicas": 1, "template": template(sizes.later, sizes)},
    }
    body = {"launcherCreationPolicy": "WaitForWorkersReady", "mpiReplicaSpecs": roles}
    owner = owner_object("kubeflow.org/v2beta1", "MPIJob", "o", "default", body)
    launcher = owner_object(
        "batch/v1",
        "Job",
        "o-launcher",
        "default",
        {"template": template(sizes.later, sizes)},
        owner="MPIJob/o",
    )
    firsts = [_pod(f"o-worker-{i}", sizes.first, sizes, owner="MPIJob/o") for i in range(workers)]
    laters = [_pod("o-launcher-x", sizes.later, sizes, owner="Job/o-launcher")]
    for one in (launcher, *firsts):
        one["metadata"]["ownerReferences"][0]["apiVersion"] = "kubeflow.org/v2beta1"
    names = ("MPIJob default/o", "default/o", "default/o-launcher")
    return Staged(*names, [owner], firsts, laters, made_later=[launcher])


def ray_job(sizes: Sizes, workers: int) -> Staged:
    """The pod that submits the job is a group by its own name, once it is there."""
    several = [{"groupName": "w", "replicas": workers, "template": template(sizes.first, sizes)}]
    cluster = {"headGroupSpec": {"template": template(sizes.first, sizes)}, "workerGroupSpecs": several}
    submitter = template(sizes.later, sizes)
    body = {"rayClusterSpec": cluster, "submissionMode": "K8sJobMode", "submitterPodTemplate": submitter}
    owner = owner_object("ray.io/v1", "RayJob", "o", "default", body)
    owner["status"] = {"rayClusterName": "o-x"}
    made = owner_object("ray.io/v1", "RayCluster", "o-x", "default", cluster, owner="RayJob/o")
    job = owner_object("batch/v1", "Job", "o", "default", {"template": submitter}, owner="RayJob/o")
    firsts = [_pod(f"o-x-{i}", sizes.first, sizes, owner="RayCluster/o-x") for i in range(workers + 1)]
    for one in (made, job, *firsts):
        one["metadata"]["ownerReferences"][0]["apiVersion"] = "ray.io/v1"
    laters = [_pod("o-y", sizes.later, sizes, owner="Job/o")]
    names = ("RayJob default/o", "default/o-x", "default/o-submitter")
    return Staged(*names, [owner, made], firsts, laters, made_later=[job])


def staged(draw: DrawFn, kind: str, sizes: Sizes) -> Staged:
    small = st.integers(1, 2)
    if kind == "exclusive set":
        return exclusive_set(sizes, draw(small), draw(st.integers(2, 3)))
    if "worker set" in kind:
        return worker_set(sizes, draw(st.integers(1, 3)), kind.startswith("exclusive"))
    if kind == "ray job":
        return ray_job(sizes, draw(st.integers(0, 1)))
    if kind == "mpi job":
        return mpi_job(sizes, draw(small))
    return ordered_set(sizes, draw(small), draw(small), kind.startswith("dependent"))


# ---- clusters


@st.composite
def scenes(draw: DrawFn, runs: bool | None = None, rivals: int = 2, partly: bool = True) -> Scene:
    """A cluster with one such owner. `runs`: whether what comes first runs already; `partly`: whether some of
    what comes later may be there. `rivals`: pods of others that wait, at most."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 3)))]
    sizes = Sizes(
        draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.sampled_from([None, None, *RANKS]))
    )
    one = staged(draw, draw(st.sampled_from(KINDS)), sizes)
    racks = {name: draw(st.sampled_from(["r1", "r2"])) for name in names}
    _settle(draw, one, names, racks, draw(st.booleans()) if runs is None else runs, partly)
    others = [_rival(draw, number) for number in range(draw(st.integers(0, rivals)))]
    old = [_old(draw, name) for name in names if draw(st.integers(0, 3)) == 3]
    nodes = [_node(draw, name, racks[name], [*one.pods, *old]) for name in names]
    objects = [*nodes, *one.objects, *one.pods, *others, *old]
    objects += [priority_class(name, value) for name, value in RANKS.items()]
    return Scene(objects, one, others)


def _node(draw: DrawFn, name: str, rack: str, pods: list[Obj]) -> Obj:
    """With some room beside what runs there."""
    asked = (one["spec"]["containers"][0]["resources"]["requests"]["cpu"] for one in pods if _on(one) == name)
    return node(name, cpu=sum(map(int, asked)) + draw(st.integers(0, 5)), rack=rack)


def _old(draw: DrawFn, name: str) -> Obj:
    """A pod that runs, and may have to leave for others, or is leaving."""
    low, going = {"priority": RANKS["low"], "priority_class": "low"}, draw(st.integers(0, 4)) == 4
    return pod(f"old-{name}", 1, node=name, created=0, deleted=going, **(low if draw(st.booleans()) else {}))  # type: ignore[arg-type]


def _rival(draw: DrawFn, number: int) -> Obj:
    rank = draw(st.sampled_from([None, None, *RANKS]))
    ranked = {} if rank is None else {"priority": RANKS[rank], "priority_class": rank}
    age = draw(st.integers(0, 9))
    return pod(f"rival-{number}", draw(st.integers(1, 3)), created=age, preemption="Never", **ranked)  # type: ignore[arg-type]


def _settle(
    draw: DrawFn, one: Staged, names: list[str], racks: dict[str, str], runs: bool, partly: bool
) -> None:
    """Which pods are there, and where those are that run. Pods of an exclusive rack are in it."""
    taken = list[str]()
    for each in one.firsts if runs else ():
        free = [name for name in names if "exclusive" not in _exclusive(one) or racks[name] not in taken]
        if not free:
            break
        each["spec"]["nodeName"] = draw(st.sampled_from(free))
        each["status"]["phase"] = "Running"
        started = draw(st.sampled_from([LATELY, LATELY, LONG_AGO, None]))
        each["status"].update({} if started is None else {"startTime": started})
        taken.append(racks[_on(each)])
    there = draw(st.integers(0, len(one.laters))) if partly and one.runs else 0
    one.missing, one.laters = one.laters[there:], one.laters[:there]
    one.objects += one.made_later if there else []
    if there and one.owner.startswith("RayJob"):
        one.later = "default/o-y"
    for each in one.laters if one.level else ():  # as the webhook of LeaderWorkerSets writes it
        each["spec"]["nodeSelector"] = {"rack": racks[_on(one.firsts[0])]}
    if not one.runs and draw(st.integers(0, 3)) == 3:
        for each in one.firsts:  # promised before
            each["status"].update({} if _on(each) else {"nominatedNodeName": draw(st.sampled_from(names))})
    if draw(st.integers(0, 5)) == 5 and "LeaderWorkerSet" not in one.owner:
        one.suspended = True
        body = one.objects[0]["spec"]
        (body.setdefault("runPolicy", {}) if "MPIJob" in one.owner else body)["suspend"] = True


def _exclusive(one: Staged) -> str:
    return "exclusive" if one.later.endswith("followers") else ""
