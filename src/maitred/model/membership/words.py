"""What a pod itself says of its group, read once when the pod is seen.

Pods that say the same share what becomes of it, so nothing is in here that tells two members of a group
apart. Most pods of a cluster say nothing: all of them have the same words, `SILENT`.
"""

from typing import NamedTuple

from maitred.model.group import GROUP, MIN_COUNT, NO_MARKS, TOPOLOGY_MARKS, Marks
from maitred.model.job import COMPLETION_INDEX
from maitred.model.membership.conventions import CONVENTIONS, NamedGroup, all_marks
from maitred.model.membership.conventions import KEYS as FOREIGN_KEYS
from maitred.model.membership.paying import UNSAID, AccountWords, account_words, user_on
from maitred.model.meta import ObjectMeta, OwnerReference, controller_of, mark, own_mark
from maitred.model.operators import jobset, leaderworkerset
from maitred.model.owners import SERVICES, kind_of
from maitred.model.pod import Pod
from maitred.model.queues import DEVICE_MODELS, QUEUE, USER
from maitred.model.runtime import LIMIT_MARKS
from maitred.model.timing import TIMING_MARKS

KEYS = frozenset(
    {GROUP, MIN_COUNT, *TOPOLOGY_MARKS, *FOREIGN_KEYS}
    | {leaderworkerset.SET_NAME, leaderworkerset.GROUP_INDEX, leaderworkerset.WORKER_INDEX}
    | {jobset.EXCLUSIVE_TOPOLOGY, QUEUE, USER, DEVICE_MODELS, *LIMIT_MARKS, *TIMING_MARKS}
)
"""Every label or annotation of a pod that says something of its group, of who pays, or of when it runs, and
how long."""


class SetPlace(NamedTuple):
    """Where a pod is in a LeaderWorkerSet, by its labels."""

    name: str
    group: str
    leads: bool


class PodWords(NamedTuple):
    namespace: str = "default"
    owner: OwnerReference | None = None
    """Its controller, unless it is one whose pods serve one by one."""
    pod_group: str = ""
    """The PodGroup of Kubernetes that it names."""
    group: str = ""
    """The group that a mark of ours names."""
    named: tuple[NamedGroup, ...] = ()
    """The groups that it names in other schedulers' languages, in the order of precedence."""
    worker_set: SetPlace | None = None
    leads: bool = True
    """False for a pod of a JobSet with exclusive topology that is not the first of its Job: it is created
    when the first one has its place."""
    marks: Marks = NO_MARKS
    account: AccountWords = UNSAID
    user: str | None = None
    """Who made it; None if it has a controller, above which that is said."""

    @property
    def names_a_group(self) -> bool:
        return bool(self.pod_group or self.group or self.named)


SILENT = PodWords()


def said_by(pod: Pod) -> PodWords:
    about, wanted = pod.metadata, pod.spec.scheduling_group
    unmarked = KEYS.isdisjoint(about.labels) and KEYS.isdisjoint(about.annotations)
    if unmarked and wanted is None and not about.owner_references:
        return SILENT
    owner = controller_of(about) if about.owner_references else None
    if owner is not None and kind_of(owner) in SERVICES:
        owner = None
    pod_group = "" if wanted is None else wanted.pod_group_name or ""
    if not unmarked:
        return _marked(about, owner, pod_group)
    if owner is None and not pod_group:
        return SILENT
    return PodWords(about.namespace or "default", owner, pod_group)


def _marked(about: ObjectMeta, owner: OwnerReference | None, pod_group: str) -> PodWords:
    return PodWords(
        namespace=about.namespace or "default",
        owner=owner,
        pod_group=pod_group,
        group=own_mark(about, GROUP) or "",
        named=tuple([said for one in CONVENTIONS if (said := one.said_by(about)) is not None]),
        worker_set=_set_place(about) if owner is None else None,
        leads=leads(about),
        marks=all_marks(about),
        account=account_words(about),
        user=user_on(about),
    )


def leads(about: ObjectMeta) -> bool:
    """Whether a pod does not wait for the first pod of its Job to have a place."""
    exclusive = jobset.EXCLUSIVE_TOPOLOGY in about.annotations
    return not exclusive or mark(about, COMPLETION_INDEX) in (None, "0")


def _set_place(about: ObjectMeta) -> SetPlace | None:
    """Of a LeaderWorkerSet, whose pods no chain of controllers leads to: the pods of a group are controlled
    by a StatefulSet, this by the pod that leads the group, that by another StatefulSet, and we read neither.
    So its labels are believed, within the namespace: a tenant that copies them lies to nobody but itself."""
    name, index = (about.labels.get(key) for key in (leaderworkerset.SET_NAME, leaderworkerset.GROUP_INDEX))
    if not name or not index:
        return None
    return SetPlace(name, index, about.labels.get(leaderworkerset.WORKER_INDEX, "0") == "0")
