"""Which group a pod belongs to, once the objects that it points to are known.

What somebody wrote counts first: a PodGroup, a mark of ours on the pod or on an owner above it, a group in
another scheduler's language. Where nothing is written, the owners of the pod say what it belongs to, or
a PodGroup that a controller made for them by default. Sources that were written and say different things make
the group invalid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from maitred.model import kinds
from maitred.model.group import (
    GROUP,
    MIN_COUNT,
    NO_MARKS,
    CompositePodGroup,
    Group,
    Marks,
    PodGroup,
    group_from_pod_group,
)
from maitred.model.job import Job
from maitred.model.membership.conventions import BY_TITLE, all_marks, group_from_foreign
from maitred.model.membership.jobs import filled, group_from_job, marks_of_job
from maitred.model.membership.owners import OWNERS, group_from_owners, kind_title, staged_owner
from maitred.model.membership.paying import (
    NO_MODELS,
    ModelsWish,
    SaidAt,
    models_of,
    payer_of,
    user_named,
    user_on,
    words_of_object,
)
from maitred.model.membership.progress import JobProgress, progress_of
from maitred.model.membership.source import JOB, MARKS, OWNER, POD_GROUP, WORKER_SET, GroupId
from maitred.model.membership.stages import speaks_for_itself
from maitred.model.membership.words import SILENT, PodWords
from maitred.model.meta import OwnerReference, Timestamp, controller_of, key_of, own_mark
from maitred.model.objects import Object
from maitred.model.operators.jobset import TrainJob
from maitred.model.operators.leaderworkerset import LeaderWorkerSet
from maitred.model.operators.podgroups import ForeignGroup
from maitred.model.owner_chain import (
    LONGEST_CHAIN,
    Chain,
    Found,
    climb,
    owners_above,
    row_of_owner,
    series_of,
)
from maitred.model.owners import BATCH_JOB, kind_of
from maitred.model.policy import Workloads
from maitred.model.queues import Payer
from maitred.model.runtime import NO_STAY, Stay, stay_of

MADE_FROM: dict[type[Object], str] = {row.kind: row.title for row in OWNERS}
"""Kinds whose pods are gangs, and what their groups are called by."""
AWAITED: tuple[type[Object], ...] = (Job, TrainJob, *MADE_FROM)
"""Kinds that are waited for, because their objects may change what group a pod is in."""
SAYING: tuple[type[Object], ...] = (*AWAITED, PodGroup, ForeignGroup)
"""Kinds that say which group pods are in, or how many members it takes."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The group that a pod belongs to; no `id` for a pod on its own."""

    id: GroupId | None
    group: Group | None = None
    """As the object has it that the group comes from; None if its members alone describe it, or if there is
    no such object."""
    marks: Marks = NO_MARKS
    conflict: str = ""
    """Two places that say different things of the group, which makes it invalid."""
    overruled: str = ""
    """What says something else, and does not count."""
    job: JobProgress | None = None
    """What has become of its Job, if an owner above that makes the group."""
    since: float | None = None
    """When the oldest of the objects was created that the pod is there for: its PodGroup, or an owner above
    it. So pods that are made anew do not lose their turn. A LeaderWorkerSet does not count: what it adds
    today are new replicas."""
    staged: tuple[type[Object], str] | None = None
    """The kind and the key of the owner, if it creates pods once others are scheduled or ready."""
    top: str = ""
    """The UID of what somebody wrote and the pod is a part of, or its kind and name if it has none; empty if
    none of its owners is known."""
    payer: Payer | None = None
    """On whose account it runs; None: on that of its namespace, since it says nothing."""
    models: ModelsWish = NO_MODELS
    stay: Stay = NO_STAY
    """How long it may keep its place, as far as that is said above it, or with a mark on itself."""

    @property
    def key(self) -> str | None:
        return None if self.id is None else self.id.key


ALL_ALONE = Settled(None)


@dataclass(frozen=True, slots=True)
class GroupClaim:
    """A group that something names."""

    id: GroupId
    where: str
    group: Group | None = None
    count: str | None = None
    marked: str | None = None
    """How many members it takes, as the pod says it beside the object of the group, which counts."""
    problem: str = ""
    """What the pod says that contradicts itself."""
    made: bool = False
    """A controller made it, and nobody asked for it."""
    object: Object | None = None
    """That describes it, if there is one."""

    @property
    def since(self) -> Timestamp | None:
        return None if self.object is None else self.object.metadata.creation_timestamp


def settle(said: PodWords, known: Found, rules: Workloads, waits: bool = False) -> Settled:
    """With `waits`, an object that is not known yet will be, and a pod is not taken for a lone one before
    that: watches of pods and of their owners do not keep pace with each other."""
    if said is SILENT:
        return ALL_ALONE
    return _Settling(said, known, rules, waits).result()


def chain_of(said: PodWords, known: Found) -> Chain:
    """The owners above a pod, nearest first."""
    place = said.worker_set
    if place is None:
        return climb(said.namespace, said.owner, known)
    found = known.find(LeaderWorkerSet, f"{said.namespace}/{place.name}")
    if found is None:
        return Chain((), OwnerReference("LeaderWorkerSet", place.name, controller=True))
    return Chain((found, *owners_above(found.metadata, known)))


def place_of(owner: Object) -> tuple[type[Object], str]:
    """Where it is looked up."""
    return kinds.row_of(type(owner)).type, key_of(owner.metadata)


def top_owner(said: PodWords, known: Found) -> Object | None:
    """What somebody has made in the end, of which a pod is a part, as far as it is known."""
    owners = chain_of(said, known).owners
    return owners[-1] if owners else None


class _Settling:
    def __init__(self, said: PodWords, known: Found, rules: Workloads, waits: bool) -> None:
        self.said, self.known, self.rules, self.waits = said, known, rules, waits
        self.chain = chain_of(said, known)
        first = self.chain.owners[0] if self.chain.owners else None
        self.job = first if isinstance(first, Job) else None

    def result(self) -> Settled:
        claims = list(self._claims())
        owners = (one for one in self.chain.owners if not isinstance(one, LeaderWorkerSet))
        times = [*(claim.since for claim in claims), *(one.metadata.creation_timestamp for one in owners)]
        since = min((time.timestamp() for time in times if time is not None), default=None)
        places = list(self._places(claims))
        settled = self._settled(claims)
        return replace(
            settled,
            since=since,
            top=self._top(),
            payer=payer_of(self.said.namespace, self._user(), places),
            models=models_of(places),
            stay=stay_of(
                [one.words.limits for one in places],
                self.job,
                is_one_gang(settled),
                [one.words.times for one in places],
            ),
        )

    def _top(self) -> str:
        if not self.chain.owners:
            return ""
        top = self.chain.owners[-1]
        return top.metadata.uid or f"{kind_title(top)} {top.metadata.name}"

    # -- who pays --------------------------------------------------------------------------------------

    def _places(self, claims: Sequence[GroupClaim]) -> Iterator[SaidAt]:
        """Where it is said who pays, the nearest to the pod first."""
        yield SaidAt("on the pod", self.said.account)
        for one in (above for claim in claims for above in self._with_composites(claim.object)):
            where = f"on its {kind_title(one)} {one.metadata.name}"
            yield SaidAt(where, words_of_object(one))
        for owner in self.chain.owners:
            yield SaidAt(f"on its {kind_title(owner)}", words_of_object(owner))

    def _with_composites(self, one: Object | None) -> Iterator[Object]:
        """The object of a group, and the composites that it is in. They may be in each other, in a circle."""
        for _ in range(LONGEST_CHAIN):
            if one is None:
                return
            yield one
            named = isinstance(one, PodGroup | CompositePodGroup) and one.spec.parent_composite_pod_group_name
            one = self.known.find(CompositePodGroup, f"{self.said.namespace}/{named}") if named else None

    def _user(self) -> str:
        """Whoever made what is on top of all. What is below it does not count: its makers write what they
        like there."""
        if self.said.user is not None:
            return self.said.user
        if not self.chain.owners:
            return ""
        top = self.chain.owners[-1].metadata
        series = series_of(top)
        if series is None:
            return user_on(top) or ""
        # A Job that somebody made from a CronJob by hand has its own user.
        row, owner = series
        maker = self.known.find(row.type, f"{self.said.namespace}/{owner.name}", owner.uid)
        return user_named(top) or ("" if maker is None else user_on(maker.metadata) or "")

    def _settled(self, claims: Sequence[GroupClaim]) -> Settled:
        written = [claim for claim in claims if not claim.made]
        made = next((claim for claim in claims if claim.made), None)
        if self._is_unclear(written, made):
            return self._awaiting()
        if written:
            return self._as_written(written, made)
        return self._derived(made)

    # -- what is written -------------------------------------------------------------------------------

    def _claims(self) -> Iterator[GroupClaim]:
        """Every group that is named, in the order of precedence."""
        said = self.said
        if said.pod_group:
            yield self._pod_group(said.pod_group)
        if said.group:
            yield GroupClaim(self._id(MARKS, said.group), f"by {GROUP}")
        for owner in self.chain.owners:
            if name := own_mark(owner.metadata, GROUP):
                yield GroupClaim(self._id(MARKS, name), f"by {GROUP} on its {kind_title(owner)}")
        for named in said.named:
            convention = BY_TITLE[named.source]
            id = self._id(named.source, named.name)
            object = None if convention.objects is None else self.known.find(convention.objects, id.key)
            group = None if object is None else group_from_foreign(object, named.source)
            yield GroupClaim(
                id,
                f"by {named.key}",
                group,
                count=named.members if group is None else str(group.quorum),
                marked=None if group is None else named.members,
                problem=named.problem,
                made=object is not None and bool(object.metadata.owner_references),
                object=object,
            )

    def _id(self, source: str, name: str) -> GroupId:
        return GroupId(source, f"{self.said.namespace}/{name}")

    def _pod_group(self, name: str) -> GroupClaim:
        id = self._id(POD_GROUP, name)
        found = self.known.find(PodGroup, id.key)
        if found is None:
            return GroupClaim(id, "in spec.schedulingGroup")
        group = group_from_pod_group(found)
        default = self.job is not None and self.job.spec.scheduling is None and _is_of(found, self.job)
        default = default and not group.parent  # what is in a tree is made as the owner of the Job says
        count = str(group.quorum)
        return GroupClaim(id, "in spec.schedulingGroup", group, count, made=default, object=found)

    def _as_written(self, claims: Sequence[GroupClaim], made: GroupClaim | None) -> Settled:
        first = claims[0]
        marks, differing = self._marks()
        problem = next((claim.problem for claim in claims if claim.problem), "") or _differing_names(claims)
        conflict = problem or "; ".join(differing) or self._differing_counts(claims, marks)
        overruled = _overruled(made) or self._implied()
        if first.id.source == POD_GROUP:
            return Settled(first.id, first.group, NO_MARKS, conflict, overruled)
        if marks.min_count is None:
            marks = msgspec.structs.replace(marks, min_count=next((c.count for c in claims if c.count), None))
        return Settled(first.id, first.group, marks, conflict, overruled)

    def _implied(self) -> str:
        """The gang that the owners would make of the pod if nothing were written."""
        found = group_from_owners(self.said, self.chain.owners) if self.rules.owners == "gang" else None
        if found is None or not found.takes_all:
            return ""
        gang = f"{found.group.origin}, would be a gang of {found.group.quorum}"
        return f"{gang}; that does not count, because its pods name a group"

    def _marks(self) -> tuple[Marks, list[str]]:
        """Of the pod, and of its owners where it says nothing."""
        marks, problems = self.said.marks, list[str]()
        for owner in self.chain.owners:
            theirs = all_marks(owner.metadata)
            marks, differing = filled(marks, theirs, "on the pod", f"on its {kind_title(owner)}")
            problems += differing
        return marks, problems

    def _differing_counts(self, claims: Sequence[GroupClaim], marks: Marks) -> str:
        said = [(claim.count, f"{claim.id.source} group {claim.id.key}") for claim in claims if claim.count]
        said += [(one.marked, BY_TITLE[one.id.source].counts[0]) for one in claims if one.marked is not None]
        if marks.min_count is not None:
            said.append((marks.min_count, MIN_COUNT))
        for count, where in said[1:]:
            if count != said[0][0]:
                first = f"{said[0][1]} has a quorum of {said[0][0]}"
                return f"{first}, and {where} says {count}; remove one of the two"
        return ""

    # -- what is not known yet -------------------------------------------------------------------------

    def _is_unclear(self, written: Sequence[GroupClaim], made: GroupClaim | None) -> bool:
        """Whether an owner that is not known yet may put the pod elsewhere."""
        unseen = self.chain.unseen
        row = None if unseen is None else row_of_owner(unseen)
        if not self.waits or row is None or row.type not in AWAITED:
            return False
        if not written:
            return True
        only = written[0] if len(written) == 1 and not self.chain.owners else None
        by_job = only is not None and only.id.source == POD_GROUP and row.type is Job
        found = self.known.find(PodGroup, only.id.key) if only is not None and by_job else None
        return found is not None and _made_for_a_job(found)

    def _awaiting(self) -> Settled:
        """With its fellows, until the owner is known."""
        owner = self.chain.unseen
        assert owner is not None
        row = row_of_owner(owner)
        key = f"{self.said.namespace}/{owner.name}"
        place = self.said.worker_set
        name = key if place is None else f"{key}-{place.group}"
        source = JOB if row is None else MADE_FROM.get(row.type, row.name)
        missing = Group(name, exists=False, origin=f"{owner.kind} {key}")
        return Settled(GroupId(source, name, owner.uid), missing)

    # -- what follows from the owners ------------------------------------------------------------------

    def _derived(self, made: GroupClaim | None) -> Settled:
        speaking = self.job is not None and speaks_for_itself(self.job.metadata, self.job.spec)
        gang = self.rules.owners == "gang" and not speaking
        found = group_from_owners(self.said, self.chain.owners) if gang else None
        if found is not None:
            job = None if self.job is None else progress_of(self.job, found.indexes, found.takes_all)
            staged = None if found.staged is None else place_of(found.staged)
            return Settled(found.id, found.group, overruled=_overruled(made), job=job, staged=staged)
        if gang and (id := self._unread_owner()) is not None:
            return Settled(id, marks=self.said.marks, overruled=_overruled(made))
        own = None if self.job is None else group_from_job(self.job, self.rules.jobs)
        if made is not None and (own is None or self._stands(made)):
            return self._as_made(made)
        if own is not None and self.job is not None:
            id = GroupId(JOB, own.key, self.job.metadata.uid)
            return Settled(id, own, overruled=_overruled(made), staged=self._staged(gang))
        return replace(self._marked_only(), staged=self._staged(gang))

    def _staged(self, gang: bool) -> tuple[type[Object], str] | None:
        """Of the pod that submits the job of a RayJob, which is in no gang of it."""
        found = staged_owner(self.chain.owners) if gang else None
        return None if found is None else place_of(found)

    def _as_made(self, made: GroupClaim) -> Settled:
        """What a controller made for another scheduler says how many; of the rest, pods may say more."""
        if made.id.source == POD_GROUP:
            return Settled(made.id, made.group)
        marks, differing = self._marks()
        marks = msgspec.structs.replace(marks, min_count=made.count)
        conflict = made.problem or "; ".join(differing) or self._differing_counts([made], NO_MARKS)
        return Settled(made.id, made.group, marks, conflict)

    def _stands(self, made: GroupClaim) -> bool:
        """Whether a group that was made for a Job is as good as what the Job says."""
        counted = self.job is not None and marks_of_job(self.job)[0].min_count is not None
        return made.group is not None and made.group.gang and not counted

    def _unread_owner(self) -> GroupId | None:
        """The group of an owner whose pods are a gang, and whose object is not in what we know: all of its
        pods that there are."""
        unseen = self.chain.unseen
        row = None if unseen is None else row_of_owner(unseen)
        if unseen is None or row is None or row.type not in MADE_FROM:
            return None
        title, place = MADE_FROM[row.type], self.said.worker_set
        if title != WORKER_SET or place is None:
            return GroupId(title, f"{self.said.namespace}/{unseen.name}", unseen.uid)
        return GroupId(title, f"{self.said.namespace}/{place.name}-{place.group}")

    def _marked_only(self) -> Settled:
        """Pods of a controller that we know nothing of are one group if they say how many it takes."""
        owner, marks = self.said.owner, self.said.marks
        if owner is None or marks.min_count is None or row_of_owner(owner) is not None:
            return Settled(None, marks=marks)
        return Settled(GroupId(OWNER, f"{self.said.namespace}/{owner.name}", owner.uid), marks=marks)


def is_one_gang(settled: Settled) -> bool:
    if settled.group is None:
        return settled.id is not None and settled.marks.min_count is not None
    return settled.group.gang


def _differing_names(claims: Sequence[GroupClaim]) -> str:
    first = claims[0]
    for other in claims[1:]:
        if other.id.key != first.id.key:
            name = other.id.key.partition("/")[2]
            named = f"its pods name group {first.id.key} {first.where} and {name} {other.where}"
            return f"{named}; remove one of the two"
    return ""


# -- PodGroups that controllers make -----------------------------------------------------------------------


def _is_of(pod_group: PodGroup, job: Job) -> bool:
    owner = controller_of(pod_group.metadata)
    return owner is not None and kind_of(owner) == BATCH_JOB.title and owner.uid == job.metadata.uid


def _made_for_a_job(pod_group: PodGroup) -> bool:
    owner = controller_of(pod_group.metadata)
    return owner is not None and kind_of(owner) == BATCH_JOB.title


def _overruled(made: GroupClaim | None) -> str:
    if made is None:
        return ""
    group = made.group
    said = f"a gang of {group.quorum}" if group is not None and group.gang else "basic"
    who = "the Job controller made by default" if made.id.source == POD_GROUP else "was made for its owner"
    return f"PodGroup {made.id.key}, which {who}, is {said}; that does not count, because the owner says more"
