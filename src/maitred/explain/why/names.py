"""Which group somebody means by the name of a group, a pod or a Job."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.cluster.trial import Rows
from maitred.explain.aliases import MARK
from maitred.explain.scene import Scene
from maitred.explain.why.answer import Kind
from maitred.explain.why.seen import NOTHING_SEEN, Seen, SeenPod, controller_of
from maitred.model.group import GROUP, group_key
from maitred.model.job import Job
from maitred.model.manifest.errors import InputError
from maitred.model.meta import key_of

MOST_MEANT = 3
STAND_IN = ":"
"""In the names of pods that a suspended Job would have."""


def find(scene: Scene, name: str, namespace: str, kind: Kind | None = None, seen: Seen = NOTHING_SEEN) -> str:
    """The key of the group; that of a Job if it has no pods. Raises InputError for an unknown name."""
    return Names(scene.snapshot, seen).find(name, namespace, kind)


class Names:
    """All that has a name in one snapshot, and in what was seen beside it."""

    def __init__(self, snapshot: Snapshot, seen: Seen = NOTHING_SEEN) -> None:
        self.snapshot, self.seen = snapshot, seen

    # -- by key ----------------------------------------------------------------------------------------

    @cached_property
    def views(self) -> dict[str, GroupView]:
        """Of several groups of one name, the first."""
        return {view.group.key: view for view in reversed(self.snapshot.groups)}

    @cached_property
    def seated(self) -> dict[str, int]:
        return {group.group.key: n for n, group in enumerate(self.snapshot.seated) if group is not None}

    @cached_property
    def bound(self) -> dict[str, int]:
        """Pods on nodes, and their places among those that are bound."""
        return {occupant.key: n for n, occupant in enumerate(self.snapshot.bound.occupants)}

    @cached_property
    def waiting(self) -> dict[str, str]:
        """Pods that wait, and their groups."""
        return {pod: view.group.key for view in self.snapshot.groups for pod in view.pods}

    @cached_property
    def seen_members(self) -> dict[str, list[SeenPod]]:
        found: dict[str, list[SeenPod]] = {}
        for pod in self.seen.pods:
            found.setdefault(group_key(pod) or key_of(pod.metadata), []).append(pod)
        return found

    @cached_property
    def declared(self) -> set[str]:
        return {key_of(group.metadata) for group in self.seen.groups}

    @cached_property
    def away(self) -> dict[str, Job]:
        """Groups that suspended Jobs name in their templates: their pods will come from these Jobs."""
        suspended = (job for job in self.snapshot.jobs.values() if job.spec.suspend)
        named = ((template_group(job), job) for job in suspended)
        return {f"{job.metadata.namespace}/{group}": job for group, job in named if group}

    def rows_of(self, key: str) -> Rows:
        """The members of a group that are on nodes, terminating ones too, by their places among the bound."""
        bound = self.snapshot.bound
        if key in self.seated:
            return np.flatnonzero(bound.group == self.seated[key])
        place = self.bound.get(key)
        lone = place is not None and bound.group[place] == NO_GROUP
        return np.array([place] if lone else [], dtype=np.intp)

    # -- by what people say ----------------------------------------------------------------------------

    def find(self, name: str, namespace: str, kind: Kind | None) -> str:
        key = name if "/" in name else f"{namespace}/{name}"
        ways = {"group": self.group, "pod": self.group_of_pod, "job": self.group_of_job}
        for how in (kind,) if kind else ways:
            found = ways[how](key)
            if found is not None:
                return found
        raise InputError("", "", "", self._unknown(key, kind))

    def group(self, key: str) -> str | None:
        known = (self.views, self.seated, self.seen_members, self.declared, self.away)
        return key if any(key in names for names in known) or len(self.rows_of(key)) else None

    def group_of_pod(self, key: str) -> str | None:
        if key in self.waiting:
            return self.waiting[key]
        place = self.bound.get(key)
        if place is not None:
            number = int(self.snapshot.bound.group[place])
            group = None if number == NO_GROUP else self.snapshot.seated[number]
            return key if group is None else group.group.key
        pod = self.seen.pod(key)
        return None if pod is None else group_key(pod) or key

    def group_of_job(self, key: str) -> str | None:
        """The group of its first pod that waits, else of the first on a node, else of one that is over."""
        pods = [*self._waiting_of(key), *self._bound_of(key), *self._seen_of(key)]
        if pods:
            return self.group_of_pod(pods[0])
        return key if key in self.snapshot.jobs else None

    def _waiting_of(self, job: str) -> Iterable[str]:
        """By the owners that were seen; else by name, as the Job controller makes it, and stand-ins."""
        seen = set(self._seen_of(job))
        begun = (f"{job}-", f"{job}{STAND_IN}")
        known = job in self.snapshot.jobs
        return [pod for pod in self.waiting if pod in seen or (known and pod.startswith(begun))]

    def _bound_of(self, job: str) -> Iterable[str]:
        namespace, _, name = job.partition("/")
        return [
            key
            for key, place in self.bound.items()
            if self.snapshot.bound.occupants[place].owner[:2] == ("Job", name)
            and key.startswith(f"{namespace}/")
        ]

    def _seen_of(self, job: str) -> Iterable[str]:
        namespace, _, name = job.partition("/")
        for pod in self.seen.pods:
            owner = controller_of(pod)
            if owner and (owner.kind, owner.name) == ("Job", name) and pod.metadata.namespace == namespace:
                yield key_of(pod.metadata)

    def job_of(self, key: str) -> Job | None:
        """The Job that a group belongs to: that of its first pod, or of the same name."""
        view = self.views.get(key)
        pod = view.pods[0] if view else key
        names = [pod.partition(STAND_IN)[0], key]
        rows = self.rows_of(key)
        if len(rows):
            kind, name, _ = self.snapshot.bound.occupants[rows[0]].owner
            names += [f"{key.partition('/')[0]}/{name}"] if kind == "Job" else []
        named = next((self.snapshot.jobs[name] for name in names if name in self.snapshot.jobs), None)
        return named or self.away.get(key)

    def _unknown(self, key: str, kind: Kind | None) -> str:
        groups = {*self.views, *self.seated, *self.seen_members, *self.declared, *self.away}
        known = {"group": groups, "pod": {*self.waiting, *self.bound}, "job": {*self.snapshot.jobs}}
        names = known[kind] if kind else set().union(*known.values())
        return f"there is no {kind or 'group, pod or Job'} {key}{nearest_words(key, names)}"


def template_group(job: Job) -> str:
    template = job.spec.template
    own = template.spec.scheduling_group
    marks = (template.metadata.annotations.get(GROUP), template.metadata.labels.get(GROUP))
    return (own.pod_group_name if own else "") or marks[0] or marks[1] or ""


def nearest_words(key: str, names: Iterable[str]) -> str:
    """Names like this one, first those that are the same but for the namespace."""
    listed = sorted(name for name in names if MARK not in name)
    bare = key.partition("/")[2]
    same = [name for name in listed if name.partition("/")[2] == bare]
    near = get_close_matches(bare, {name.partition("/")[2]: None for name in listed}, MOST_MEANT, 0.6)
    close = [name for like in near for name in listed if name.partition("/")[2] == like]
    meant = list(dict.fromkeys((*same, *close)))[:MOST_MEANT]
    return f"; did you mean {' or '.join(meant)}?" if meant else ""
