"""Pods that may be evicted: what counts of every pod on a node when others need its place, as columns.

Made once per cycle, when the first group has to be seated at the cost of others.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from maitred.cluster.devices.counted import held_devices
from maitred.cluster.devices.served import nodes_without
from maitred.cluster.journal import Rows
from maitred.cluster.leaving import LATE, leaving_pods, stuck_pods
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import NO_GROUP, UNKNOWN_TIME, GroupRank, Occupant, SeatedGroup, Snapshot
from maitred.decide.preemption.allowance import Heed, heeds
from maitred.decide.preemption.kinship import SINGLE, Kinship, joined
from maitred.model.group import Composite, Group, stated_priority
from maitred.model.leading import is_leading
from maitred.model.meta import key_of
from maitred.model.policy import Policy, grace_limit, is_device, is_device_driver
from maitred.model.priority import rank_of
from maitred.model.protection import (
    FIELDS,
    LAST_CHECKPOINT,
    MIN_RUNTIME,
    NON_PREEMPTIBLE,
    UNPROTECTED,
    Protection,
)
from maitred.model.suspending import TopOwner
from maitred.model.words import counted, moment

NEVER = np.iinfo(np.int64).max
NOT_KNOWN = np.iinfo(np.int64).min
AT_ODDS = NOT_KNOWN + 1
"""The rank of a group that states none and whose members on nodes differ: each of them stands for itself, so
that one pod of a high priority keeps no others of its group from making room."""
LEAST_PRIORITY, UNPAID = -(2**31), 2**33
"""More than priorities differ by: so far below its own is the rank of who does not pay."""
DEEPEST = 16
"""Composite groups within each other; more than any API server accepts."""
NAMES_SHOWN = 5
OwnerOfPods = tuple[str, str, str, str]
"""Namespace, kind, name and UID."""


class EvictablePods:
    def __init__(self, snapshot: Snapshot, policy: Policy, now: int) -> None:
        """`now` in milliseconds since 1970."""
        self.snapshot, self.policy, self.now = snapshot, policy, now
        self.bound = snapshot.bound
        self.suspends = policy.preemption.jobs == "suspend"
        """Owners, so that their pods leave."""
        self.grouped: Mask = self.bound.group != NO_GROUP
        self.leaving: Mask = leaving_pods(snapshot, grace_limit(policy), now)
        """Pods whose room will be there without more ado. Others that terminate and are not stuck may have to
        be hurried: they can be victims, and break with no other, as they count for no quorum any more."""
        self.stuck: Mask = stuck_pods(snapshot, now)
        self._below_known = dict[tuple[int, tuple[str, ...]], Mask]()
        """Who may have to leave for groups of such a rank: many groups ask the same;"""
        self._any_below = dict[tuple[int, tuple[str, ...]], bool]()
        """whether there is anybody."""

    def _by_pod(self, groups: Ints, otherwise: Ints) -> Ints:
        """What the group of each pod has; for lone pods, what they have themselves."""
        found: Ints = np.where(self.grouped, np.append(groups, 0)[self.bound.group], otherwise)
        return found

    # -- rank ------------------------------------------------------------------------------------------

    @cached_property
    def priority(self) -> Ints:
        """Of its group, if that has one; NOT_KNOWN where a priority class does not exist."""
        lone = np.array([self._rank(s.rank) for s in self.snapshot.standings], dtype=np.int64)
        own = np.append(lone, 0)[self.bound.standing]
        groups = [NOT_KNOWN if g is None else self._group_priority(g) for g in self.snapshot.seated]
        found = self._by_pod(np.array(groups, dtype=np.int64), own)
        return np.where(found == AT_ODDS, own, found)

    @cached_property
    def scavenges(self) -> Mask:
        """Pods that run without paying."""
        book = self.snapshot.book
        return np.zeros(len(self.bound.node), dtype=np.bool_) if book is None else book.scavenges

    @cached_property
    def anybody_scavenges(self) -> bool:
        return bool(self.scavenges.any())

    @cached_property
    def rank(self) -> Ints:
        """What they are compared by as victims: who does not pay is below all who do."""
        if not self.anybody_scavenges:
            return self.priority
        return np.where(self.scavenges, np.maximum(self.priority, LEAST_PRIORITY) - UNPAID, self.priority)

    def _rank(self, said: GroupRank) -> int:
        return self._looked_up(said.priority, said.class_name)

    def _looked_up(self, priority: int | None, class_name: str) -> int:
        rank = rank_of(priority, class_name, "", self.snapshot.priority_classes)
        return NOT_KNOWN if rank is None else rank.priority

    def _group_priority(self, seated: SeatedGroup) -> int:
        group = seated.group
        for composite in reversed(list(self._ancestors(group.parent))):
            if composite.states_priority:
                return self._looked_up(composite.priority, composite.priority_class_name)
        if (stated := stated_priority(group, self.snapshot.priority_classes)) is not None:
            return self._looked_up(*stated)
        ranks = {self._rank(rank) for rank in seated.ranks}
        return AT_ODDS if len(ranks) > 1 else next(iter(ranks), 0)

    def _ancestors(self, parent: str) -> Iterator[Composite]:
        """The composite groups that a group is in, from the innermost out."""
        for _ in range(DEEPEST):
            composite = self.snapshot.composites.get(parent)
            if composite is None:
                return
            yield composite
            parent = composite.parent

    # -- which break together --------------------------------------------------------------------------

    @cached_property
    def _families(self) -> tuple[Ints, Ints, dict[int, str]]:
        """For every seated group the family of its pods, how many may go before all must; family names."""
        seated, names = self.snapshot.seated, dict[int, str]()
        families = np.full(len(seated), SINGLE, dtype=np.int64)
        surplus = np.zeros(len(seated), dtype=np.int64)
        composites: dict[str, int] = {}
        for number, each in enumerate(seated):
            if each is None or self._group_priority(each) == AT_ODDS:
                continue
            whole = [c for c in self._ancestors(each.group.parent) if c.disruption == "PodGroup"]
            if whole:
                key = whole[-1].key
                families[number] = composites.setdefault(key, number)
                names[composites[key]] = key
            elif each.group.disruption == "PodGroup" or (each.group.gang and each.group.disruption == "Pod"):
                families[number], names[number] = number, each.group.key
                if each.group.disruption != "PodGroup":
                    surplus[number] = max(0, each.counted - each.group.quorum)
        return families, surplus, names

    @cached_property
    def tops(self) -> tuple[Ints, tuple[TopOwner, ...]]:
        """For every pod the place of the owner that is suspended to make it leave, and these owners."""
        places, found = dict[TopOwner, int](), [SINGLE] * (len(self.snapshot.controllers) + 1)
        for number, controller in enumerate(self.snapshot.controllers):
            if controller is not None and controller.top is not None:
                found[number] = places.setdefault(controller.top, len(places))
        return np.array(found, dtype=np.int64)[self.bound.controller], tuple(places)

    @cached_property
    def _below(self) -> Ints:
        """The same of owners that take all of their pods along."""
        below, tops = self.tops
        takes = [self.suspends and top.whole and not top.suspended for top in tops]
        here: Mask = ~self.bound.terminating | self.leaving
        taken = np.array([*takes, False])[below] & here
        return self._where_ranks_agree(np.where(taken, below, SINGLE), len(tops))

    def _where_ranks_agree(self, below: Ints, tops: int) -> Ints:
        """Owners whose pods differ in rank take nobody along, as groups whose members do."""
        pods = np.flatnonzero((below != SINGLE) & ~self.bound.terminating)
        lowest, highest = np.full(tops, NEVER), np.full(tops, NOT_KNOWN)
        np.minimum.at(lowest, below[pods], self.rank[pods])
        np.maximum.at(highest, below[pods], self.rank[pods])
        agree = np.append(lowest == highest, False)
        return np.where(agree[below], below, SINGLE)

    @cached_property
    def _kinship(self) -> Kinship:
        """Families of groups that have pods of one owner, or owners that have pods of one group, are one."""
        of_group = self._by_pod(self._families[0], np.full(len(self.bound.node), SINGLE, dtype=np.int64))
        of_group[self.bound.terminating & ~self.leaving] = SINGLE
        keys = [top.name.key for top in self.tops[1]]
        return joined(of_group, self._below, keys, self._families[2], len(self.snapshot.seated))

    @cached_property
    def family(self) -> Ints:
        """Equal for pods that break together; one of its own for every other pod."""
        first = len(self.snapshot.seated) + len(self.tops[1])
        alone = first + np.arange(len(self.bound.node))
        return np.where(self._kinship.family == SINGLE, alone, self._kinship.family)

    @cached_property
    def by_family(self) -> Rows:
        """The pods, those of one family one after the other."""
        return np.argsort(self.family, kind="stable")

    def kin_of(self, pods: Rows, among: Mask) -> bool:
        """Whether any of these pods breaks together with one of some others."""
        families = self.family[pods]
        large = families[self._family_sizes[families] > 1]
        return len(large) > 0 and bool((np.isin(self.family, large) & among).any())

    @cached_property
    def _family_sizes(self) -> Ints:
        return np.bincount(self.family)

    def surplus(self, family: Ints) -> Ints:
        """How many pods of each family may go by themselves."""
        inside = family < len(self.snapshot.seated)
        spared = self._families[1].copy()
        spared[[one for one in self._kinship.larger if one < len(spared)]] = 0
        return np.where(inside, np.append(spared, 0)[np.where(inside, family, 0)], 0)

    def leading(self, pods: Rows) -> Mask:
        """Which of these pods the others of their gang cannot do without."""
        occupants: list[Occupant] = self.bound.occupants[pods].tolist()
        return np.fromiter((is_leading(one.labels) for one in occupants), np.bool_, len(occupants))

    @property
    def names(self) -> Mapping[int, str]:
        """Of families that are more than one pod."""
        return self._kinship.names

    def group_of(self, pod: int) -> Group | None:
        return self.group_numbered(int(self.bound.group[pod]))

    def group_numbered(self, number: int) -> Group | None:
        seated = self.snapshot.seated[number] if number != NO_GROUP else None
        return None if seated is None else seated.group

    def owners_of(self, pods: Rows) -> list[OwnerOfPods]:
        """Whoever made each of these pods."""
        occupants: list[Occupant] = self.bound.occupants[pods].tolist()
        return list(map(owner_of, occupants))

    def by_owner(self, pods: Mask) -> Counter[OwnerOfPods]:
        """How many of these pods each owner has, those aside that were leaving before."""
        return Counter(self.owners_of(np.flatnonzero(pods & ~self.bound.terminating)))

    @cached_property
    def top_of(self) -> dict[OwnerOfPods, int]:
        """The place of the topmost owner above each controller that has one."""
        below, _ = self.tops
        pods = np.unique(self.bound.controller, return_index=True)[1]
        return {
            owner: top
            for owner, top in zip(self.owners_of(pods), below[pods].tolist(), strict=True)
            if top != SINGLE
        }

    def by_top(self, pods: Mask) -> Ints:
        """How many of these pods each topmost owner has, those aside that were leaving before."""
        below, tops = self.tops
        counted = pods & ~self.bound.terminating & (below != SINGLE)
        return np.bincount(below[counted], minlength=len(tops))

    @cached_property
    def all_by_top(self) -> Ints:
        return self.by_top(np.ones(len(self.bound.node), dtype=np.bool_))

    # -- protection and loss ---------------------------------------------------------------------------

    def _marks(self, name: str) -> Ints:
        """A mark in milliseconds, of the pod or else of its group; UNKNOWN_TIME where neither says it."""
        own = _known([getattr(standing.protection, name) for standing in self.snapshot.standings])
        return self._or_group(own[self.bound.standing], name)

    @cached_property
    def checkpoint(self) -> Ints:
        """When each pod says that it has saved its work; UNKNOWN_TIME where nothing is said."""
        return self._or_group(self.bound.checkpoint, "last_checkpoint")

    def _or_group(self, own: Ints, name: str) -> Ints:
        """What pods say themselves, or else what their groups say."""
        theirs = _known([getattr(g.group.protection, name) if g else None for g in self.snapshot.seated])
        group = np.where(self.grouped, theirs[self.bound.group], UNKNOWN_TIME)
        return np.where(own == UNKNOWN_TIME, group, own)

    @cached_property
    def unreadable(self) -> Mask:
        """Pods with marks that make no sense: their own, or else their group's."""
        own = np.array([bool(s.protection.unread) for s in self.snapshot.standings] + [False])
        groups = np.array([bool(g and g.group.protection.unread) for g in self.snapshot.seated] + [False])
        unreadable: Mask = own[self.bound.standing]
        doubtful = self.grouped & groups[self.bound.group] & ~unreadable
        for pod in np.flatnonzero(doubtful).tolist():
            unreadable[pod] = any(not self._says(pod, mark) for mark, _ in self._group_protection(pod).unread)
        unreadable |= self.checkpoint > self.now
        return unreadable

    def _says(self, pod: int, mark: str) -> bool:
        """Whether the pod itself has the mark."""
        own = self.snapshot.standings[self.bound.standing[pod]].protection
        if mark == LAST_CHECKPOINT:
            return bool(self.bound.checkpoint[pod] != UNKNOWN_TIME)
        return getattr(own, FIELDS[mark]) is not None

    def _group_protection(self, pod: int) -> Protection:
        group = self.group_of(pod)
        return UNPROTECTED if group is None else group.protection

    @cached_property
    def checkpoint_interval(self) -> Ints:
        """How often it says that it does; UNKNOWN_TIME where nothing is said."""
        return self._marks("checkpoint_interval")

    @cached_property
    def exempt(self) -> Mask:
        """Pods that ask not to be preempted."""
        exempt: Mask = self._marks("non_preemptible") == 1
        return exempt

    @cached_property
    def _asked_until(self) -> Ints:
        """When a pod has run as long as it asked to; what has not started has not begun to count."""
        runtime, started = self._marks("min_runtime"), self.bound.started
        until = np.where(started == UNKNOWN_TIME, NEVER, started + np.maximum(runtime, 0))
        return np.where(runtime == UNKNOWN_TIME, 0, until)

    @cached_property
    def heeds(self) -> Ints:
        """Whether the marks that would keep a pod where it is count by the policy, and else why not."""
        here: Mask = ~(self.bound.fixed | self.leaving | self.stuck)
        claims = here & (self.exempt | self.unreadable | (self._asked_until > self.now))
        return heeds(self.snapshot, self.policy, claims, self.devices)

    @cached_property
    def movable(self) -> Mask:
        """Pods that may have to leave, as far as it depends on them alone and not on the hour."""
        stays: Mask = (self.exempt | self.unreadable) & (self.heeds == Heed.HEEDED)
        stays |= self.bound.fixed | self.leaving | self.stuck | (self.priority == NOT_KNOWN)
        return ~stays

    @cached_property
    def protected_until(self) -> Ints:
        """As far as the policy heeds what they ask for."""
        return np.where(self.heeds == Heed.HEEDED, self._asked_until, 0)

    def unheeded_words(self, pod: int) -> str:
        """Which mark of this pod does not count, and why; empty where none is disregarded."""
        if self.heeds[pod] == Heed.HEEDED:
            return ""
        mark = NON_PREEMPTIBLE if self.exempt[pod] else MIN_RUNTIME
        if self.unreadable[pod]:
            problems = self._problems(pod)
            mark = problems[0].partition(":")[0] if problems else LAST_CHECKPOINT
        namespace = self.bound.occupants[pod].key.partition("/")[0]
        limits = self.policy.preemption.protection
        why = f"namespace {namespace} may not protect pods"
        if self.heeds[pod] == Heed.BEYOND:
            allowed = counted(limits.devices_per_namespace or 0, "device")
            why = f"namespace {namespace} may protect only {allowed}, and other pods of it already do"
        return f"its {mark} does not count: {why} (policy.preemption.protection)"

    @cached_property
    def lost_since(self) -> Ints:
        """From when on the work of each pod would be lost."""
        started, checkpoint = self.bound.started, self.checkpoint
        interval = self.checkpoint_interval
        ran = np.maximum(self.now - started, 0)
        saved = np.where(interval > 0, self.now - ran % np.maximum(interval, 1), started)
        since = np.where(checkpoint != UNKNOWN_TIME, np.maximum(checkpoint, started), saved)
        return np.where(started == UNKNOWN_TIME, self.now, np.minimum(since, self.now))

    @cached_property
    def devices(self) -> Ints:
        """How many each pod has: of those that nodes offer, and by its claims."""
        resources = {resource for needs in self.snapshot.needs for resource, _ in needs.requests}
        counted = {resource for resource in resources if is_device(self.policy, resource)}
        devices = np.array(
            [
                sum(n for resource, n in needs.requests if resource in counted)
                for needs in self.snapshot.needs
            ],
            dtype=np.int64,
        )
        found: Ints = devices[self.bound.needs] - self._served_by_classes(counted)
        for place, kinds in held_devices(self.snapshot).items():
            found[place] += sum(n for kind, n in kinds.items() if is_device_driver(self.policy, kind.driver))
        return found

    def _served_by_classes(self, resources: Collection[str]) -> Ints:
        """How many of these each pod asks for on a node that has none: a class serves them, by a claim."""
        nodes, rows = self.snapshot.nodes, self.bound.node
        found: Ints = np.zeros(len(rows), dtype=np.int64)
        for resource in self.snapshot.device_classes.keys() & resources:
            asked = np.array([dict(needs.requests).get(resource, 0) for needs in self.snapshot.needs])
            found += np.where(nodes_without(nodes, resource)[rows], asked[self.bound.needs], 0)
        return found

    @cached_property
    def work(self) -> Ints:
        """What would be lost with each pod, in device-milliseconds. Who goes anyway loses nothing by it."""
        return np.where(self.bound.terminating, 0, self.devices * (self.now - self.lost_since))

    @cached_property
    def started(self) -> Ints:
        return np.where(self.bound.started == UNKNOWN_TIME, self.now, self.bound.started)

    # -- for which group -------------------------------------------------------------------------------

    def ranks_below(self, priority: int) -> Mask:
        """Pods that rank lower, or of which it is not known how they rank, whether or not they may leave."""
        here: Mask = ~(self.bound.fixed | self.leaving)
        return here & (self.priority < priority)

    def below(self, priority: int, schedulers: tuple[str, ...]) -> Mask:
        """Pods that rank lower and that the policy lets such a group displace, some of them not yet."""
        if (priority, schedulers) not in self._below_known:
            self._below_known[priority, schedulers] = self._lesser(priority, schedulers)
        return self._below_known[priority, schedulers]

    def any_below(self, priority: int, schedulers: tuple[str, ...]) -> bool:
        """Whether there are any."""
        if (priority, schedulers) not in self._any_below:
            self._any_below[priority, schedulers] = bool(self.below(priority, schedulers).any())
        return self._any_below[priority, schedulers]

    def _lesser(self, priority: int, schedulers: tuple[str, ...]) -> Mask:
        lower: Mask = self.movable & (self.priority < priority)
        return lower & self._among(schedulers)

    def _among(self, schedulers: tuple[str, ...]) -> Mask:
        """Pods that the policy lets groups of these schedulers displace."""
        if self.policy.preemption.victims == "any":
            return np.ones(len(self.bound.node), dtype=np.bool_)
        own = np.array([s.scheduler in schedulers for s in self.snapshot.standings] + [False])
        found: Mask = own[self.bound.standing]
        return found

    def removable(self, schedulers: tuple[str, ...]) -> Mask:
        """Pods that could be displaced if no mark of theirs protected them, and whatever their priority."""
        stays = self.bound.fixed | self.leaving | self.stuck
        return ~stays & self._among(schedulers)

    # -- what is odd -----------------------------------------------------------------------------------

    def warnings(self, below: int) -> Iterator[str]:
        """Of pods that would be weighed for a group of that priority, but say something that cannot be."""
        weighed = self.ranks_below(below)
        heeded: Mask = self.heeds == Heed.HEEDED
        for pod in islice(np.flatnonzero(self.unreadable & weighed & heeded).tolist(), NAMES_SHOWN):
            yield f"pod {self.bound.occupants[pod].key} is not evicted: {self._problem(pod)}"
        for pod in islice(np.flatnonzero(weighed & ~heeded).tolist(), NAMES_SHOWN):
            yield f"pod {self.bound.occupants[pod].key} may be evicted: {self.unheeded_words(pod)}"
        unknown = np.flatnonzero((self.priority == NOT_KNOWN) & weighed)
        for pod in islice(unknown.tolist(), NAMES_SHOWN):
            yield f"pod {self.bound.occupants[pod].key} is not evicted: its priority class does not exist"
        for name in islice(self._idle_budgets(), NAMES_SHOWN):
            yield f"PodDisruptionBudget {name} matches no running pod, so it protects none"

    def stuck_warnings(self) -> Iterator[str]:
        """Of pods that were deleted and whose room nobody gets."""
        for pod in islice(np.flatnonzero(self.stuck).tolist(), NAMES_SHOWN):
            key, due = self.bound.occupants[pod].key, int(self.bound.due[pod])
            since = "is being deleted" if due == UNKNOWN_TIME else f"was to be gone by {moment(due // 1000)}"
            why = "is still there" if due + LATE <= self.now else "its node does not answer"
            yield f"pod {key} {since} and {why}: no group waits for its room"

    def _idle_budgets(self) -> Iterator[str]:
        """In namespaces that have pods."""
        sets = [self.snapshot.budget_sets[number] for number in np.unique(self.bound.budgets)]
        used = {place for places in sets for place in places}
        idle = [budget.metadata for place, budget in enumerate(self.snapshot.budgets) if place not in used]
        pods = self.bound.occupants if idle else ()
        namespaces = {occupant.key.partition("/")[0] for occupant in pods}
        return (key_of(budget) for budget in idle if (budget.namespace or "default") in namespaces)

    def _problem(self, pod: int) -> str:
        problems = self._problems(pod)
        return problems[0] if problems else f"{LAST_CHECKPOINT} is in the future"

    def _problems(self, pod: int) -> tuple[str, ...]:
        standing = self.snapshot.standings[self.bound.standing[pod]]
        return (*standing.protection.problems, *self._group_protection(pod).problems)


def _known(values: Sequence[int | None]) -> Ints:
    """A column, with one entry more, of nothing, for those who are in none of these."""
    return np.array([UNKNOWN_TIME if value is None else value for value in (*values, None)], dtype=np.int64)


def owner_of(occupant: Occupant) -> OwnerOfPods:
    return occupant.key.partition("/")[0], *occupant.owner


DEVICE_HOUR = 3_600_000
"""In device-milliseconds."""


def device_hours(work: int) -> float:
    return round(work / DEVICE_HOUR, 4)
