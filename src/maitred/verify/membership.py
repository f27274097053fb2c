"""Which group a pod belongs to: by what is written, else by who owns it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .conventions import BY_TITLE, Naming, all_marks, foreign_quorum, namings, short
from .fields import Doc
from .objects import Cluster
from .owners import API_GROUPS, MAKERS, Above, Gang, gang_of, meta_marks, speaks
from .pods import Pod, controller
from .policy import Policy
from .selectors import Labels
from .workloads import GROUP, MIN_COUNT, Wishes

MOST_OWNERS = 8
SERVICES = {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Node"}
LWS = "leaderworkerset.sigs.k8s.io/"


@dataclass(frozen=True)
class Place:
    """`origin` says by what the pod is in the group."""

    origin: str
    key: str
    uid: str = ""
    gang: Gang | None = field(default=None, compare=False)
    above: tuple[Above, ...] = field(default=(), compare=False)
    """From the owner that makes the gang upwards."""
    count: str | None = field(default=None, compare=False)
    """How many members it takes, as the pod or an object in another scheduler's language says."""
    conflict: str = field(default="", compare=False)


@dataclass(frozen=True)
class Owners:
    """Whoever is above a pod, nearest first, and the kind and name of the next one if it is not known."""

    known: tuple[Above, ...] = ()
    missing: tuple[str, str, str] = ("", "", "")


def owners_of(pod: Pod, cluster: Cluster) -> Owners:
    name, index = pod.labels.get(f"{LWS}name"), pod.labels.get(f"{LWS}group-index")
    if name and index and (pod.controller is None or pod.controller[0] in SERVICES):
        found = cluster.owners.get("LeaderWorkerSet", {}).get(f"{pod.namespace}/{name}")
        if found is None:
            return Owners((), ("LeaderWorkerSet", name, ""))
        return Owners((("LeaderWorkerSet", found), *above_owner(found, cluster)))
    return _climb(pod.namespace, pod.controller, cluster)


def above_owner(doc: Doc, cluster: Cluster) -> tuple[Above, ...]:
    meta = doc.doc("metadata")
    return _climb(meta.text("namespace") or "default", controller(meta), cluster).known


def _climb(namespace: str, owner: tuple[str, str, str] | None, cluster: Cluster) -> Owners:
    known: list[Above] = []
    while owner is not None and owner[0] in ("Job", *API_GROUPS) and len(known) < MOST_OWNERS:
        kind, name, uid = owner
        found = cluster.owners.get(kind, {}).get(f"{namespace}/{name}")
        own = "" if found is None else found.doc("metadata").text("uid")
        if found is None or (uid and own not in ("", uid)):
            return Owners(tuple(known), owner)
        known.append((kind, found))
        owner = controller(found.doc("metadata"))
    return Owners(tuple(known))


def wishes_of(pod: Pod, cluster: Cluster) -> Wishes | None:
    """What its Job has to say."""
    if pod.controller is None or pod.controller[0] != "Job":
        return None
    job = cluster.jobs.get(f"{pod.namespace}/{pod.controller[1]}")
    return job.wishes if job is not None and job.made(pod.controller[2]) else None


def place_of(pod: Pod, cluster: Cluster, policy: Policy) -> Place:
    owners, wishes = owners_of(pod, cluster), wishes_of(pod, cluster)
    written, made = _written(pod, cluster, owners, wishes)
    if written:
        return _first_of(written, pod, cluster, owners)
    spoken = wishes is not None and speaks(owners.known[0][1])
    if policy.owners == "gang" and not spoken:
        found = gang_of(pod, owners.known)
        if found is not None:
            return in_gang(pod, owners.known, *found)
        kind, name, uid = owners.missing
        if kind in MAKERS:
            index = f"-{pod.labels[f'{LWS}group-index']}" if kind == "LeaderWorkerSet" else ""
            return Place(kind, f"{pod.namespace}/{name}{index}", uid)
    return _by_job(pod, cluster, policy, wishes, made)


def in_gang(pod: Pod, owners: tuple[Above, ...], kind: str, doc: Doc, gang: Gang) -> Place:
    meta = doc.doc("metadata")
    parts = [
        meta.text("name"),
        pod.labels[f"{LWS}group-index"] if kind == "LeaderWorkerSet" else "",
        gang.suffix,
    ]
    key = f"{pod.namespace}/{'-'.join(part for part in parts if part)}"
    above = owners[[one for _, one in owners].index(doc) :]
    return Place(kind, key, meta.text("uid"), gang, above)


def _by_job(pod: Pod, cluster: Cluster, policy: Policy, wishes: Wishes | None, made: list[Place]) -> Place:
    is_group = wishes is not None and wishes.is_group(policy.jobs)
    counted = wishes is not None and wishes.count is not None
    if made and (not is_group or (not counted and _is_gang(made[0], cluster))):
        return made[0]
    if is_group and pod.controller is not None:
        return Place("Job", f"{pod.namespace}/{pod.controller[1]}", pod.controller[2])
    unknown = pod.controller is not None and pod.controller[0] not in ("Job", *API_GROUPS, *SERVICES)
    if unknown and pod.controller is not None and _mark(pod, MIN_COUNT) is not None:
        return Place("owner", f"{pod.namespace}/{pod.controller[1]}", pod.controller[2])
    return Place("pod", pod.key)


def _is_gang(place: Place, cluster: Cluster) -> bool:
    if place.origin != "PodGroup":
        return place.count is not None
    return not cluster.pod_groups[place.key].doc("spec").doc("schedulingPolicy").given("basic")


# -- what is written ---------------------------------------------------------------------------------------


def _written(
    pod: Pod, cluster: Cluster, owners: Owners, wishes: Wishes | None
) -> tuple[list[Place], list[Place]]:
    """Groups that somebody names, in the order in which they count; and those that a controller made."""
    written, made = list[Place](), list[Place]()
    if pod.group_name:
        default = wishes is not None and _is_default(pod, wishes, cluster)
        (made if default else written).append(Place("PodGroup", f"{pod.namespace}/{pod.group_name}"))
    names = [_mark(pod, GROUP), *(meta_marks(doc).get(GROUP) for _, doc in owners.known)]
    written += [Place("label", f"{pod.namespace}/{short(name)}") for name in names if name]
    for naming in namings(pod.labels, pod.annotations):
        doc = foreign_group(naming, pod, cluster)
        quorum = foreign_quorum(doc, naming.title)
        count = naming.count if quorum is None else str(quorum)
        torn = naming.torn or (quorum is not None and naming.count not in (None, count))
        conflict = "it says two things of its group" if torn else ""
        place = Place(naming.title, f"{pod.namespace}/{naming.name}", count=count, conflict=conflict)
        owned = doc is not None and bool(doc.doc("metadata").docs("ownerReferences"))
        (made if owned else written).append(place)
    return written, made


def made_for(pod: Pod, cluster: Cluster) -> Iterator[Doc]:
    """The objects that give a pod their age: PodGroups that it names, and owners above it. What a
    LeaderWorkerSet adds is new."""
    if pod.group_name and (doc := cluster.pod_groups.get(f"{pod.namespace}/{pod.group_name}")) is not None:
        yield doc
    for naming in namings(pod.labels, pod.annotations):
        if (doc := foreign_group(naming, pod, cluster)) is not None:
            yield doc
    yield from (doc for kind, doc in owners_of(pod, cluster).known if kind != "LeaderWorkerSet")


def foreign_group(naming: Naming, pod: Pod, cluster: Cluster) -> Doc | None:
    known = cluster.foreign_groups.get(BY_TITLE[naming.title].group, {})
    return known.get(f"{pod.namespace}/{naming.name}")


def _first_of(written: list[Place], pod: Pod, cluster: Cluster, owners: Owners) -> Place:
    first, counts = written[0], [place.count for place in written if place.count is not None]
    doc = cluster.pod_groups.get(first.key) if first.origin == "PodGroup" else None
    if doc is not None:
        counts.insert(0, str(doc.doc("spec").doc("schedulingPolicy").doc("gang").integer("minCount", 1)))
        if doc.doc("spec").given("minMember"):
            counts[0] = str(doc.doc("spec").integer("minMember"))
    said = [_mark(pod, MIN_COUNT), *(meta_marks(one).get(MIN_COUNT) for _, one in owners.known)]
    own = next((count for count in said if count is not None), None)
    conflict = next((place.conflict for place in written if place.conflict), "")
    if len({place.key for place in written}) > 1:
        conflict = conflict or "its sources name different groups"
    if len({*counts, *([own] if own is not None else [])}) > 1:
        conflict = conflict or "its sources say different quorums"
    count = own if own is not None else next(iter(counts), None)
    return Place(first.origin, first.key, count=count, conflict=conflict)


def _is_default(pod: Pod, wishes: Wishes, cluster: Cluster) -> bool:
    """Whether the Job controller has made the PodGroup of a pod, for a Job that asks for nothing."""
    doc = cluster.pod_groups.get(f"{pod.namespace}/{pod.group_name}")
    owner = None if doc is None else controller(doc.doc("metadata"))
    if doc is not None and doc.doc("spec").text("parentCompositePodGroupName"):
        return False
    return wishes.scheduling is None and owner is not None and owner == pod.controller


def _mark(pod: Pod, key: str) -> str | None:
    return pod.labels.get(key) or pod.annotations.get(key)


def inherited(pod: Pod, cluster: Cluster) -> tuple[Labels, list[str]]:
    """What the owners above a pod say, and where they contradict each other."""
    found = dict[str, str]()
    problems = list[str]()
    for _, doc in owners_of(pod, cluster).known:
        meta = doc.doc("metadata")
        said, wrong = all_marks(meta.strings("labels"), meta.strings("annotations"))
        problems += wrong
        for key, value in said.items():
            if key.startswith("maitred.dev/") and found.setdefault(key, value) != value:
                problems.append(f"its owners say different things of {key}")
    return found, problems
