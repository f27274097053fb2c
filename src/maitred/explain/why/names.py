"""What somebody means by a name: a group, a pod, or what makes pods (a Job, a Deployment, a JobSet).

Of what makes pods, only Jobs are read. Others are known by their pods, which name them: so the same is found
in a dump and by a scheduler, which may not read Deployments.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TypeVar

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.explain.redaction.aliases import MARK
from maitred.explain.situation import Situation
from maitred.explain.why.answer import KINDS, Kind
from maitred.explain.why.seen import NOTHING_SEEN, Seen
from maitred.model.group import PodGroup
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.manifest.errors import InputError
from maitred.model.membership import PodWords, Settled, group_of_template, said_by, settle
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.owners import BATCH_JOB, BY_NAME, Owner, OwnerKind, owner_of, owners_of
from maitred.model.pod import Pod
from maitred.model.selector import Labels
from maitred.model.words import counted

MOST_MEANT = 3
DEFAULT = "default"
"""The namespace that every cluster has."""
T = TypeVar("T", bound=Object)
STAND_IN = ":"
"""In the names of pods that a suspended Job would have."""


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """What makes pods, and those that it has: first those that wait, then those on nodes, then the others."""

    kind: OwnerKind
    key: str
    pods: tuple[str, ...]
    groups: tuple[str, ...]
    """Of the pods, in that order; a lone pod is a group of its own."""

    @property
    def title(self) -> str:
        return f"{self.kind.title} {self.key}"

    @property
    def is_loose(self) -> bool:
        """Whether each of its pods is decided by itself."""
        return self.groups == self.pods


@dataclass(frozen=True, slots=True)
class Meant:
    key: str
    """Of the group that is meant, or of the first of several; of a Job that has no pods."""
    workload: NamedWorkload | None = None
    """What makes its pods, if that was named."""
    owner: Object | None = None
    """An operator's object that was named, and that has no pods."""


def find(
    situation: Situation, name: str, namespace: str, kind: Kind | None = None, seen: Seen = NOTHING_SEEN
) -> str:
    """The key of the group; that of a Job if it has no pods. Raises InputError for an unknown name."""
    return Names(situation.snapshot, seen).meant(name, namespace, kind).key


class Names:
    """All that has a name in one snapshot, and in what was seen beside it."""

    def __init__(self, snapshot: Snapshot, seen: Seen = NOTHING_SEEN) -> None:
        self.snapshot, self.seen = snapshot, seen
        self._settled: dict[PodWords, Settled] = {}

    # -- by key ----------------------------------------------------------------------------------------

    @cached_property
    def views(self) -> dict[str, GroupView]:
        """Of several groups of one name, the first."""
        return {view.group.key: view for view in reversed(self.snapshot.groups)}

    @cached_property
    def seated(self) -> dict[str, list[int]]:
        """Groups with members on nodes, by their numbers; a tree has those of its parts."""
        found: dict[str, list[int]] = {}
        for number, group in enumerate(self.snapshot.seated):
            if group is not None:
                found.setdefault(self.snapshot.tree_of(group.group), []).append(number)
        return found

    @cached_property
    def parts(self) -> dict[str, str]:
        """Parts of trees, and the trees that they are in."""
        found = {
            one.group.key: self.snapshot.tree_of(one.group)
            for one in self.snapshot.seated
            if one is not None and one.group.parent
        }
        trees = [(view, view.parts) for view in self.snapshot.groups if view.parts is not None]
        found |= {branch.key: view.group.key for view, parts in trees for branch, _ in parts.root.walk()}
        later = [(view, view.later) for view in self.snapshot.groups if view.later is not None]
        found |= {key: view.group.key for view, coming in later for key, _ in coming.groups}
        return found

    @cached_property
    def bound(self) -> dict[str, int]:
        """Pods on nodes, and their places among those that are bound."""
        return {occupant.key: n for n, occupant in enumerate(self.snapshot.bound.occupants)}

    @cached_property
    def waiting(self) -> dict[str, str]:
        """Pods that wait, and their groups."""
        return {pod: view.group.key for view in self.snapshot.groups for pod in view.pods}

    @cached_property
    def seen_members(self) -> dict[str, list[Pod]]:
        found: dict[str, list[Pod]] = {}
        for pod in self.seen.pods:
            found.setdefault(self._group_of(pod), []).append(pod)
        return found

    def _group_of(self, pod: Pod) -> str:
        """The group of a pod that is not in the snapshot, or not any more."""
        found = self.settled(pod)
        if found.id is not None and found.group is not None and found.group.parent:
            return self.snapshot.tree_of(found.group)
        return found.key or key_of(pod.metadata)

    def settled(self, pod: Pod) -> Settled:
        """Pods that say the same are in the same group."""
        said = said_by(pod)
        found = self._settled.get(said)
        if found is None:
            found = self._settled[said] = settle(said, self, self.snapshot.workloads)
        return found

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        """What says which group a pod is in."""
        if issubclass(kind, PodGroup):
            found = self._pod_groups.get(key)
            return found if isinstance(found, kind) else None
        return self.snapshot.find(kind, key, uid)

    @cached_property
    def _pod_groups(self) -> dict[str, PodGroup]:
        return {key_of(group.metadata): group for group in self.seen.groups}

    @cached_property
    def declared(self) -> set[str]:
        return set(self._pod_groups)

    @cached_property
    def away(self) -> dict[str, Job]:
        """Groups that suspended Jobs name in their templates: their pods will come from these Jobs."""
        rules = self.snapshot.workloads
        suspended = (job for job in self.snapshot.jobs.values() if job.spec.suspend)
        named = ((group_of_template(job, self, rules), job) for job in suspended)
        return {found.key: job for found, job in named if found is not None}

    def is_gang(self, key: str) -> bool:
        """Whether it was declared that some of its members need each other."""
        seated = self.snapshot.seated[self.seated[key][0]] if key in self.seated else None
        group = self.views[key].group if key in self.views else None if seated is None else seated.group
        return group is not None and group.gang

    def rows_of(self, key: str) -> Rows:
        """The members of a group that are on nodes, terminating ones too, by their places among the bound."""
        bound = self.snapshot.bound
        if key in self.seated:
            return np.flatnonzero(np.isin(bound.group, self.seated[key]))
        place = self.bound.get(key)
        lone = place is not None and bound.group[place] == NO_GROUP
        return np.array([place] if lone else [], dtype=np.intp)

    # -- by what people say ----------------------------------------------------------------------------

    def meant(self, name: str, namespace: str, kind: Kind | None) -> Meant:
        """Raises InputError for an unknown name."""
        key = name if "/" in name else f"{namespace}/{name}"
        for how in (kind,) if kind else KINDS:
            found = self._by_kind(how, key)
            if found is not None:
                return found
        raise InputError("", "", "", self._unknown(key, kind))

    def _by_kind(self, kind: Kind, key: str) -> Meant | None:
        if kind in ("group", "pod"):
            group = self.group(key) if kind == "group" else self.group_of_pod(key)
            return None if group is None else Meant(group)
        return self._workload(BY_NAME[kind], key)

    def group(self, key: str) -> str | None:
        known = (self.views, self.seated, self.seen_members, self.declared, self.away)
        if any(key in names for names in known[:2]):
            return key
        if key in self.parts:
            return self.parts[key]
        return key if any(key in names for names in known) or len(self.rows_of(key)) else None

    def group_of_pod(self, key: str) -> str | None:
        if key in self.waiting:
            return self.waiting[key]
        place = self.bound.get(key)
        if place is not None:
            number = int(self.snapshot.bound.group[place])
            group = None if number == NO_GROUP else self.snapshot.seated[number]
            return key if group is None else self.snapshot.tree_of(group.group)
        pod = self.seen.pod(key)
        return None if pod is None else self._group_of(pod)

    # -- by what makes pods ----------------------------------------------------------------------------

    def _workload(self, kind: OwnerKind, key: str) -> Meant | None:
        known = self.owned.get((kind.title, key), {})
        jobless = self._named_like(key) if kind is BATCH_JOB else ()
        waiting = [pod for pod in self.waiting if pod in known or pod in jobless]
        seated = [pod for pod in known if pod in self.bound]
        pods = tuple(dict.fromkeys((*waiting, *seated, *known)))
        groups = tuple(dict.fromkeys(self.group_of_pod(pod) or pod for pod in pods))
        if groups:
            return Meant(groups[0], NamedWorkload(kind, key, pods, groups))
        if kind is BATCH_JOB:
            return Meant(key) if key in self.snapshot.jobs else None
        owner = self._operated(kind, key)
        return None if owner is None else Meant(key, owner=owner)

    def _operated(self, kind: OwnerKind, key: str) -> Object | None:
        tables = ((row_of(of), table) for of, table in self.snapshot.operated.items())
        found = (table for row, table in tables if (row.name, row.group) == (kind.kind, kind.group))
        return next((table[key] for table in found if key in table), None)

    def _named_like(self, job: str) -> Set[str]:
        """Waiting pods of which nothing was seen, by their names as the Job controller makes them; and the
        stand-ins of a Job that is suspended."""
        if job not in self.snapshot.jobs:
            return frozenset()
        begun = (f"{job}-", f"{job}{STAND_IN}")
        return {pod for pod in self.waiting if pod.startswith(begun) and self.seen.pod(pod) is None}

    @cached_property
    def owned(self) -> dict[tuple[str, str], dict[str, None]]:
        """What makes pods, by the title of its kind and its key, and its pods."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for pod in self.seen.pods:
            key = key_of(pod.metadata)
            uid = next((one.uid for one in pod.metadata.owner_references if one.controller), "")
            for kind, name in self._owners(key, pod.metadata.labels, owner_of(pod.metadata), uid):
                found.setdefault((kind, f"{key.partition('/')[0]}/{name}"), {})[key] = None
        for key, place in self.bound.items():
            occupant = self.snapshot.bound.occupants[place]
            controller = occupant.owner[:2] if occupant.owner[0] else None
            for kind, name in self._owners(key, occupant.labels, controller, occupant.owner[2]):
                found.setdefault((kind, f"{key.partition('/')[0]}/{name}"), {})[key] = None
        return found

    def _owners(self, pod: str, labels: Labels, controller: Owner | None, uid: str) -> Iterable[Owner]:
        """Also those of its Job, which may be a CronJob's or a JobSet's. A pod of an earlier Job of the same
        name is not one of the Job that is there now."""
        job = None
        if controller is not None and controller[0] == BATCH_JOB.title:
            job = self.snapshot.jobs.get(f"{pod.partition('/')[0]}/{controller[1]}")
        if job is not None and uid and job.metadata.uid and uid != job.metadata.uid:
            yield from (one for one in owners_of(labels, controller) if one[0] != BATCH_JOB.title)
            return
        yield from owners_of(labels, controller)
        if job is not None:
            yield from owners_of(job.metadata.labels, owner_of(job.metadata))

    def job_of(self, key: str) -> Job | None:
        """The Job that a group belongs to: that of its first pod, or of the same name."""
        view = self.views.get(key)
        pod = view.pods[0] if view else key
        names = [pod.partition(STAND_IN)[0], key]
        rows = self.rows_of(key)
        if len(rows):
            kind, name, _ = self.snapshot.bound.occupants[rows[0]].owner
            names += [f"{key.partition('/')[0]}/{name}"] if kind == BATCH_JOB.title else []
        named = next((self.snapshot.jobs[name] for name in names if name in self.snapshot.jobs), None)
        return named or self.away.get(key)

    def _unknown(self, key: str, kind: Kind | None) -> str:
        groups = {*self.views, *self.seated, *self.seen_members, *self.declared, *self.away}
        pods, jobs = {*self.waiting, *self.bound}, {*self.snapshot.jobs}
        title = "" if kind in (None, "group", "pod") else BY_NAME[kind].title
        owners = {key for of, key in self.owned if title in ("", of)}
        known = {"group": groups, "pod": pods, "job": owners | jobs}
        near = nearest_words(key, known.get(kind or "", owners if title else groups | pods | jobs | owners))
        namespace = key.partition("/")[0]
        if namespace not in self._namespaces(groups | pods | jobs):
            kinds = f"; write a namespace before the slash, or one of these kinds: {', '.join(KINDS)}"
            what = "there is no" if self.snapshot.namespaces else "nothing here is in"
            return f"{what} namespace {namespace}{near or ('' if kind else kinds)}"
        if title and title != BATCH_JOB.title:
            return f"there is no pod of a {title} {key}{near}"
        awaited = next((view for view in self.snapshot.awaited if view.group.key == key), None)
        if awaited is not None:
            coming = counted(awaited.coming, "pod")
            return f"no pod of {key} waits: {awaited.owned_by} has yet to create {coming} of it"
        return f"there is no {title or kind or 'group, pod or workload'} {key}{near}"

    def _namespaces(self, keys: Iterable[str]) -> set[str]:
        named = {key.partition("/")[0] for key in keys}
        seen = (pod.metadata.namespace for pod in self.seen.pods)
        return {DEFAULT, *self.snapshot.namespaces, *named, *seen}


def nearest_words(key: str, names: Iterable[str]) -> str:
    """Names like this one, first those that are the same but for the namespace."""
    listed = sorted(name for name in names if MARK not in name)
    bare = key.partition("/")[2]
    same = [name for name in listed if name.partition("/")[2] == bare]
    near = get_close_matches(bare, {name.partition("/")[2]: None for name in listed}, MOST_MEANT, 0.6)
    close = [name for like in near for name in listed if name.partition("/")[2] == like]
    meant = list(dict.fromkeys((*same, *close)))[:MOST_MEANT]
    return f"; did you mean {' or '.join(meant)}?" if meant else ""
