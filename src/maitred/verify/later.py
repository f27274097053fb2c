"""Pods that come later: their owner creates them once others of it are scheduled or ready.

They are groups of their own, of which there may be no pod yet. A group that comes before them is of no use
without them, so it is seated together with them or not at all; once it runs, room is kept for those that come
next, for a while. Here it is worked out from the owner's object which pods these are.

Pods that come once others are complete are not meant: those have left by then.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .fields import Doc
from .groups import Group
from .objects import Cluster
from .pods import Pod
from .policy import Policy
from .priorities import agree_on_priority, read_rank
from .stages import MOST_OF_OWNER, STAGES, Batch, Stage, Unclear
from .suspending import RULES
from .times import thousandths

MOST_OF_NAMESPACE, MOST_IN_ALL = 5_000, 20_000
"""Pods. Beyond that nobody keeps room, and nothing is judged."""
ENDS = {"JobSet": {"Completed", "Failed"}, "MPIJob": {"Succeeded", "Failed"}}


@dataclass(eq=False)
class Link:
    """A group that is decided together with pods that are not there."""

    host: Group
    """One without members, if it comes next and no pod of it is there."""
    owner: str
    coming: dict[str, list[Pod]]
    """By the keys of their groups, the host's among them if some of its own are to come."""
    before: list[Group]
    """Those that have their places, if this one comes next: then room is kept for it."""
    suspended: bool = False
    bonds: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By pod, its level and its controller."""
    shared: str = ""
    """The level of which all of it must be in one domain, with those before it."""
    topologies: dict[str, str] = field(default_factory=dict)

    @property
    def pods(self) -> list[Pod]:
        return [pod for pods in self.coming.values() for pod in pods]

    @property
    def since(self) -> int | None:
        """When the last of those before it started, or was created where no kubelet says when it started.
        None where that is not known either."""
        running = [pod for group in self.before for pod in group.running]
        times = [pod.created if pod.started is None else pod.started for pod in running]
        known = [at for at in times if at is not None]
        return max(map(thousandths, known)) if known and len(known) == len(times) else None

    def expected(self, bound: bool) -> dict[str, int]:
        """For how many pods of each group the Plan has to hold room, if it does, and if the host is bound."""
        found = Counter({key: len(pods) for key, pods in self.coming.items()})
        if not bound:
            found[self.host.key] += max(0, min(self.host.needed or 0, len(self.host.pending)))
        return dict(+found)


@dataclass
class Links:
    every: list[Link] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)
    """Keys of groups of which it is not known what comes after them, and owners of whom it is not known what
    they create."""

    def __post_init__(self) -> None:
        self._by_host = {id(link.host): link for link in self.every}
        self._next = {id(link.host) for link in self.every if link.before}

    def hosts(self) -> list[Group]:
        """Those that come next."""
        return [link.host for link in self.every if link.before]

    def is_next(self, group: Group) -> bool:
        return id(group) in self._next

    def is_unclear(self, group: Group) -> bool:
        return group.key in self.unclear

    def unclear_owner(self, title: str) -> bool:
        return title in self.unclear

    def of(self, group: Group) -> Link | None:
        return self._by_host.get(id(group))

    def coming(self, group: Group) -> list[Pod]:
        """Pods that are not there, and without which the group is not seated."""
        link = self.of(group)
        return [] if link is None else link.pods


def read_links(cluster: Cluster, groups: Iterable[Group], policy: Policy) -> Links:
    found, unclear = list[Link](), set[str]()
    if policy.owners != "gang":
        return Links()
    known: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        known.setdefault((group.kind, group.key), []).append(group)
    for kind, reader in STAGES.items():
        for key, doc in sorted(cluster.owners.get(kind, {}).items()):
            if _is_over(kind, doc):
                continue
            try:
                stages = list(reader(doc, cluster))
                found += _Owner(f"{kind} {key}", kind, doc, stages, cluster, known, policy).links()
            except (Unclear, ValueError):
                unclear |= {
                    f"{kind} {key}",
                    *(one for _, one in known if one == key or one.startswith(f"{key}-")),
                }
    spaces = Counter[str]()
    for link in found:
        spaces[link.host.key.partition("/")[0]] += len(link.pods)
    if max(spaces.values(), default=0) > MOST_OF_NAMESPACE or spaces.total() > MOST_IN_ALL:
        many = {key for link in found for key in (link.host.key, *link.coming, link.owner)}
        return Links([], unclear | many)
    return Links(found, unclear)


def _is_over(kind: str, doc: Doc) -> bool:
    status = doc.doc("status")
    said = {one.text("type") for one in status.docs("conditions") if one.text("status") == "True"}
    ended = status.text("terminalState") or status.text("jobDeploymentStatus") in ("Complete", "Failed")
    return doc.doc("metadata").given("deletionTimestamp") or bool(said & ENDS.get(kind, set()) or ended)


@dataclass
class _Owner:
    """One owner with all of its groups that come later."""

    title: str
    kind: str
    doc: Doc
    stages: list[Stage]
    cluster: Cluster
    known: dict[tuple[str, str], list[Group]]
    policy: Policy

    def links(self) -> Iterator[Link]:
        stages = {stage.place.key: stage for stage in self.stages}
        if sum(batch.count for stage in self.stages for batch in stage.batches) > MOST_OF_OWNER:
            raise Unclear
        hosts: dict[str, list[Stage]] = {}
        turns: dict[str, list[str]] = {}
        for key in stages:
            if self._is_met(stages, key):
                continue
            earlier = list(_all_before(stages, key))
            waiting = [one for one in earlier if not self._is_met(stages, one)]
            if any(one not in stages and self._group(stages, one) is None for one in waiting):
                continue  # the owner has not begun
            hosts.setdefault(waiting[-1] if waiting else key, []).append(stages[key])
            if not waiting:
                turns[key] = earlier
        for key, later in hosts.items():
            link = self._link(stages, key, later, turns.get(key, []))
            if link is not None:
                yield link

    def _link(self, stages: dict[str, Stage], key: str, later: list[Stage], turn: list[str]) -> Link | None:
        host, coming = self._group(stages, key), {stage.place.key: self._coming(stage) for stage in later}
        coming = {one: batches for one, batches in coming.items() if batches}
        if not coming and not turn:
            return None
        before = [group for one in turn if (group := self._group(stages, one)) is not None]
        pods = {one: _each(one, batches) for one, batches in coming.items()}
        if host is None:
            if key not in pods:
                return None
            host = self._bare(stages[key], [pod for pod, _ in pods[key]])
        link = Link(host, self.title, {one: [pod for pod, _ in every] for one, every in pods.items()}, before)
        link.suspended = self._is_suspended()
        for every in pods.values():
            link.bonds |= {pod.key: (batch.bond, batch.controller) for pod, batch in every if batch.bond}
        link.shared = next((stage.beside for stage in later if stage.beside), "")
        levels = {stage.place.key: self.policy.level(stage.topology) for stage in later}
        link.topologies = {one: level for one, level in levels.items() if level}
        return link

    def _is_suspended(self) -> bool:
        rule = RULES.get(self.kind)
        return rule is not None and rule.place(self.doc.doc("spec")).flag("suspend")

    def _group(self, stages: dict[str, Stage], key: str) -> Group | None:
        """The group of this name that is of the owner."""
        names = [(kind, key) for kind in self._kinds()]
        if key in stages and stages[key].place.gang is None:  # a pod that is in no gang goes by its own name
            names = [("Job", key), *(("pod", pod.key) for pod in self._made(stages[key]) if pod.pending)]
        found = [group for name in names for group in self.known.get(name, [])]
        if len(found) > 1:
            raise Unclear
        return found[0] if found else None

    def _kinds(self) -> tuple[str, ...]:
        return ("RayCluster",) if self.kind == "RayJob" else (self.kind,)

    def _is_met(self, stages: dict[str, Stage], key: str) -> bool:
        if key in stages and stages[key].place.gang is None:
            return any(pod.running or pod.succeeded for pod in self._made(stages[key]))
        group = self._group(stages, key)
        return group is not None and group.met()

    def _made(self, stage: Stage) -> list[Pod]:
        """The pods of a stage that are there, whatever has become of them."""
        if stage.place.gang is not None:
            group = self._group({}, stage.place.key)
            return [] if group is None else group.members
        names = {batch.controller for batch in stage.batches}
        space = stage.place.key.partition("/")[0]
        pods = (pod for pod in self.cluster.pods.values() if pod.namespace == space)
        return [pod for pod in pods if pod.controller is not None and pod.controller[:2] in _jobs(names)]

    def _coming(self, stage: Stage) -> list[Batch]:
        """Those that there has not been a pod of."""
        there = Counter(pod.controller[1] if pod.controller else "" for pod in self._made(stage))
        missing, found = stage.quorum - there.total(), list[Batch]()
        for batch in stage.batches:
            self._check_progress(stage, batch)
            count = min(missing, batch.count - there[batch.controller])
            if count > 0:
                missing -= count
                found.append(Batch(batch.controller, batch.like, count, batch.bond))
        return found

    def _check_progress(self, stage: Stage, batch: Batch) -> None:
        """Of a Job that is under way it depends on more than numbers what it still creates."""
        job = self.cluster.jobs.get(f"{batch.like.namespace}/{batch.controller}")
        if job is not None and (job.succeeded or job.wishes.completed or job.wishes.failed):
            raise Unclear

    def _bare(self, stage: Stage, pods: list[Pod]) -> Group:
        group = Group(stage.place.origin, stage.place.key, list(pods), stage.quorum, gang=True)
        read_rank(group, None, self.cluster)
        agree_on_priority(group, Doc(None, group.key), self.cluster)
        group.members = []
        return group


def _all_before(stages: dict[str, Stage], key: str) -> Iterator[str]:
    """Every group that must have its place first, the nearest first."""
    seen, left = set[str](), list(stages[key].before)
    while left:
        one = left.pop(0)
        if one not in seen:
            seen.add(one)
            yield one
            left += stages[one].before if one in stages else ()


def _jobs(names: Iterable[str]) -> set[tuple[str, str]]:
    return {("Job", name) for name in names}


def _each(key: str, batches: list[Batch]) -> list[tuple[Pod, Batch]]:
    """A pod for each of them, by a name that no pod can have."""
    return [
        (named(batch.like, f"{key.partition('/')[2]}:{batch.controller}:{number}"), batch)
        for batch in batches
        for number in range(batch.count)
    ]


def named(pod: Pod, name: str) -> Pod:
    return Pod(**{**vars(pod), "name": name})


# -- what owners create --------------------------------------------------------------------------------------
