"""On whose account pods run: the queue that they are in, and the user who made them.

docs/queues.md: the nearest place that names a queue counts: the pod, its PodGroup, the owners above it, and
of the namespace its label. Places that contradict each other make the group invalid.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .conventions import BY_TITLE
from .fields import Doc
from .groups import chain_above, parent_of
from .membership import owners_of
from .objects import Cluster
from .owners import meta_marks
from .pods import Pod, controller
from .queues import DEFAULT
from .selectors import Labels

QUEUE, USER = "maitred.dev/queue", "maitred.dev/user"
FOREIGN = (
    "scheduling.volcano.sh/queue-name",
    "kai.scheduler/queue",
    "quota.scheduling.koordinator.sh/name",
    "yunikorn.apache.org/queue",
    "kueue.x-k8s.io/queue-name",
)
"""Where other schedulers name a queue."""
WITH_QUEUES = ("Volcano", "KAI")
"""Those whose PodGroups name one in their spec."""


@dataclass(frozen=True)
class Account:
    queue: str
    user: str = ""
    """Empty where nobody says it."""
    contradictory: bool = False


def account_of(pod: Pod, group: str, cluster: Cluster) -> Account:
    """`group` is the key of the group that the pod is in."""
    said, others = _named(pod, group, cluster)
    space = cluster.namespaces.get(pod.namespace, {}).get(QUEUE, "")
    queue = next((name for name in (*said[:1], *others[:1], space) if name), DEFAULT)
    return Account(queue, _user(pod, cluster), len(set(said)) > 1)


def names_of(pod: Pod, group: str, cluster: Cluster) -> tuple[str, str]:
    """The queue that is named for it, and its user; empty for what nobody says."""
    said, others = _named(pod, group, cluster)
    return next(iter((*said, *others)), ""), _user(pod, cluster)


def _named(pod: Pod, group: str, cluster: Cluster) -> tuple[list[str], list[str]]:
    """Queues that are named for it, nearest first: with our mark, and with those of others."""
    places = list(places_of(pod, group, cluster))
    said = [marks[QUEUE] for marks in places if marks.get(QUEUE)]
    return said, [marks[key] for marks in places for key in (*FOREIGN, "") if marks.get(key)]


def places_of(pod: Pod, group: str, cluster: Cluster) -> Iterator[Labels]:
    """What each says, nearest first; under the empty key what the spec of a foreign object names."""
    own = {**pod.annotations, **pod.labels}
    yield own
    key = f"{pod.namespace}/{pod.group_name}" if pod.group_name else group
    if pod.group_name and key in cluster.pod_groups:
        yield meta_marks(cluster.pod_groups[key])
        above = parent_of(key, cluster.pod_groups[key].doc("spec"))
        for composite in chain_above(cluster, above):
            yield meta_marks(cluster.composites[composite])
    for title, language in BY_TITLE.items():
        doc = cluster.foreign_groups.get(language.group, {}).get(group)
        if doc is not None and title in WITH_QUEUES:
            yield {**meta_marks(doc), "": doc.doc("spec").text("queue")}
        elif doc is not None and not own.keys().isdisjoint(language.names):
            yield meta_marks(doc)
    for _, doc in owners_of(pod, cluster).known:
        yield meta_marks(doc)


def _user(pod: Pod, cluster: Cluster) -> str:
    """Only the annotation of the object at the top counts: of a Job that has none, that of its CronJob."""
    owners = owners_of(pod, cluster)
    if not owners.known:
        return pod.annotations.get(USER, "") if pod.controller is None else ""
    top = owners.known[-1][1].doc("metadata")
    own = top.strings("annotations").get(USER, "")
    if not _is_controlled(top):
        return own
    kind, name, uid = controller(top) or ("", "", "")
    if kind != "CronJob":
        return ""
    series = cluster.owners.get("CronJob", {}).get(f"{pod.namespace}/{name}", Doc({}, "")).doc("metadata")
    made_it = not _is_controlled(series) and (not uid or series.text("uid") in ("", uid))
    return own or (series.strings("annotations").get(USER, "") if made_it else "")


def _is_controlled(meta: Doc) -> bool:
    return any(owner.flag("controller") for owner in meta.docs("ownerReferences"))
