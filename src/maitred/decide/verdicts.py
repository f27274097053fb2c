"""The Plan, from the record of a cycle: who sits down, who leaves, and a verdict for every group.

Seats are known as soon as the cycle is over. To say what is in the way of those who wait takes longer, so
whoever binds pods asks for `seats` first.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import chain

import msgspec

from maitred.cluster.parts import Branch, Parts
from maitred.cluster.snapshot import GroupView, LaterMembers
from maitred.decide.ask import Assignment
from maitred.decide.attempt import attempt
from maitred.decide.budget import EXPLAINING
from maitred.decide.claims import allocate_claims
from maitred.decide.deadlines import DueDates, due_dates
from maitred.decide.diagnose import Diagnosis
from maitred.decide.holding.booked import Bookings
from maitred.decide.holding.booked_words import with_booking, without_booking
from maitred.decide.holding.reserved_words import warnings_of, with_end
from maitred.decide.holding.words import held_up, with_plan
from maitred.decide.levels import shared_domains
from maitred.decide.preemption.promises import not_before
from maitred.decide.provisioning import Requests, node_requests
from maitred.decide.queues.budget_words import with_scavenging
from maitred.decide.record import CycleRecord, Taken, TriedGroup
from maitred.decide.screen import invalid_blocker
from maitred.decide.volumes import choose_volumes, each_once
from maitred.model.categories import CATEGORIES
from maitred.model.duration import written
from maitred.model.plan import (
    Bind,
    Blocker,
    ClaimAllocation,
    GroupVerdict,
    KeptCause,
    KeptRoom,
    Plan,
    Verdict,
    VolumeChoice,
)
from maitred.model.runtime import MAX_RUNTIME, Runtime
from maitred.model.words import counted, moment

WHY_KEPT = {
    "Healing": "hardware failed under it",
    "Maintenance": "it moves to other nodes",
}
WHY_KEPT_FOR_SLOW = "a slow member of it is replaced"


class Verdicts:
    def __init__(self, record: CycleRecord) -> None:
        self.record = record
        self._exhausted = False
        """Whether the search for what is in the way of some group was cut off by the bound of steps."""

    @property
    def exhausted(self) -> bool:
        """Whether any search of the cycle, or of its explanation so far, was."""
        tried = any(group.exhausted for group in self.record.groups)
        return tried or self._exhausted or self.record.promises.exhausted

    def seats(self) -> Plan:
        """The part of the Plan that is known first: who sits down, in the order in which they were served.
        Of members that are left over it does not say what is in their way."""
        seated = self._as_served()
        return Plan(
            binds=tuple(chain.from_iterable(self._binds(group, group.seated) for group in seated)),
            volumes=self._volumes,
            claims=self._claims,
            groups=tuple(chain.from_iterable(self.with_parts(group, self._bare(group)) for group in seated)),
        )

    def plan(self) -> Plan:
        groups, promises = self.record.groups, self.record.promises
        verdicts = self._verdicts()
        warnings = {warning for group in groups for warning in group.view.group.warnings}
        warnings.update(filter(None, [self.record.usage.warning]))
        due, requests = self._due(verdicts), self.node_requests(verdicts)
        warnings.update(self.record.budgets.warnings, self.record.overrides.warnings, due.warnings)
        warnings.update(warnings_of(self.record.reservations))
        warnings.update(self.record.holds.warnings, self._booked.warnings)
        return Plan(
            binds=tuple(chain.from_iterable(self._binds(group, group.seated) for group in groups)),
            nominations=tuple(chain.from_iterable(self._binds(group, group.promised) for group in groups)),
            evictions=(
                *promises.evictions(),
                *self.record.maintenance.evictions(),
                *self.record.beginnings.evictions(),
            ),
            volumes=self._volumes,
            claims=self._claims,
            holds=tuple(self._holds()),
            groups=tuple(chain.from_iterable(map(self.with_parts, groups, verdicts))),
            healing=self.record.healing.decisions,
            memory=self.record.healing.memory,
            usage=self.record.usage.memory,
            overrides=self.record.overrides.memory,
            budgets=self.record.budgets_memory(),
            planned=self.record.holds.memory,
            bookings=self._booked.memory(self.record.booker.made.values()),
            reservations=tuple(self.record.beginnings.reserved()),
            made_reservations=self.record.beginnings.memory,
            drains=tuple(self.record.maintenance.decisions()),
            taints=self.record.healing.taints,
            deadlines=self.record.limits.deadlines,
            provisioning=requests.asked,
            due=due.groups,
            wake_at=self._wake_at(due, requests),
            search_exhausted=self.exhausted,
            warnings=tuple(sorted(warnings.union(promises.warnings(), self.record.maintenance.warnings()))),
        )

    def _due(self, verdicts: Sequence[GroupVerdict]) -> DueDates:
        """Of those who wait."""
        both = zip(self.record.groups, verdicts, strict=True)
        waiting = (group.view for group, found in both if found.verdict != "Scheduled")
        return due_dates(waiting, self.record.snapshot.book, round(self.record.now.timestamp() * 1000))

    def node_requests(self, verdicts: Sequence[GroupVerdict]) -> Requests:
        """Who asks an autoscaler, of those of whom these say what is in their way."""
        record, views = self.record, (group.view for group in self.record.groups)
        tried = zip(views, verdicts, strict=True)
        return node_requests(
            tried, record.snapshot, record.context.policy, round(record.now.timestamp() * 1000)
        )

    def _wake_at(self, due: DueDates, requests: Requests) -> str | None:
        healing, promises = self.record.healing.wake_at, self.record.promises.wake_at
        seated = (group.ask.account for group in self.record.groups if group.seated)
        limits = self.record.limits.wake_at(seated)
        memories = (self.record.usage.wake_at, self.record.budgets_wake_at, self.record.overrides.wake_at)
        may_start = (self.record.held_back_until, due.wake_at, requests.wake_at)
        kept = (
            self.record.booker.wake_at,
            self.record.holds.wake_at,
            self.record.reservations.wake_at,
            self.record.beginnings.wake_at,
        )
        others = (promises, self.record.maintenance.wake_at, *kept, *memories, limits, *may_start)
        times = [one for one in others if one is not None]
        times += [] if healing is None else [round(healing.timestamp() * 1000)]
        return not_before(min(times)) if times else None

    def _binds(self, group: TriedGroup, places: Assignment) -> list[Bind]:
        if not places:
            return []
        names, pods, uids = self.record.snapshot.nodes.names, group.view.pods, group.view.uids
        key, there = group.key, [place for place in sorted(places) if group.is_there(place[0])]
        return [Bind(pods[member], uids[member], names[row], key) for member, row in there]

    @cached_property
    def _kept_room(self) -> dict[str, str]:
        """What is kept for groups that come next, in words, by the groups."""
        found = dict[str, str]()
        for group in self.record.everyone:
            cause, _ = self._kept_for(group.key)
            if group.reserved and cause != "Later":
                rooms = counted(len(group.reserved), "member")
                slow = cause == "Healing" and group.key in self.record.healing.replaced
                why = WHY_KEPT_FOR_SLOW if slow else WHY_KEPT[cause]
                found[group.key] = f"room for {rooms} of {group.key} is kept, because {why}"
            elif group.reserved and group.view.kept_from is not None:
                found[group.key] = _words_of_room(group)
        return found

    def _holds(self) -> Iterator[KeptRoom]:
        """Room that is kept for pods that are not there, by group and node."""
        names = self.record.snapshot.nodes.names
        for room in self.record.rooms:
            cause, until = self._kept_for(room.group)
            said = None if until is None else moment(int(until.timestamp()))
            devices = dict(room.devices)
            yield KeptRoom(room.group, names[room.row], room.pods, room.owner, cause, said, devices)
        yield from self._spares()

    def _spares(self) -> Iterator[KeptRoom]:
        """All of them, also those that a group which may have them gets in this cycle."""
        names = self.record.snapshot.nodes.names
        for name in sorted(names[row] for row in self.record.spares):
            yield KeptRoom("", name, 0, "", "Spare")

    def _kept_for(self, group: str) -> tuple[KeptCause, datetime | None]:
        healing = self.record.healing
        if group in healing.held_until:
            return "Healing", healing.held_until[group]
        until = self._moving.get(group)
        return ("Later", None) if until is None else ("Maintenance", until)

    @cached_property
    def _moving(self) -> Mapping[str, datetime]:
        return self.record.maintenance.kept_until

    def _as_served(self) -> list[TriedGroup]:
        seated = (group for group in self.record.groups if group.seated)
        return sorted(seated, key=lambda group: group.first_seated)

    @cached_property
    def _volumes(self) -> tuple[VolumeChoice, ...]:
        """They are final with the seats, and looked up once: who binds the pods and who reads the Plan is
        told the same."""
        found = list[VolumeChoice]()
        for group in self._as_served():
            entries = (place for _, place in group.places if not place.held)
            found += choose_volumes(self.record.trial, group.view, group.seated, entries)
        return tuple(each_once(found))

    @cached_property
    def _claims(self) -> tuple[ClaimAllocation, ...]:
        """Devices for the claims of all who are bound, found together."""
        served = (
            (group.view, group.seated, [place for _, place in group.places if not place.held])
            for group in self._as_served()
        )
        return tuple(allocate_claims(self.record.trial, served, self.record.context.policy))

    def _verdicts(self) -> list[GroupVerdict]:
        """In the order of the groups. Who came last is looked at first: the groups that had their turns with
        nothing given away between them then follow each other, and are diagnosed on the same ground."""
        record = self.record
        taken = record.taken() if any(group.ask.shapes for group in record.groups) else []
        found = {
            id(group): self.of(group, taken, explained=record.is_explained(group))
            for group in sorted(record.groups, key=lambda group: -group.last_tried)
        }
        return [found[id(group)] for group in record.groups]

    # -- one group -------------------------------------------------------------------------------------

    def of(self, group: TriedGroup, taken: Sequence[Taken], explained: bool) -> GroupVerdict:
        """`taken` is what others have got in the cycle; `explained`: with what is in the way."""
        bare, view = self._bare(group), group.view
        record, screening, budget = self.record, group.screening, self.record.budget
        verdict, blockers = bare.verdict, bare.blockers
        if screening.problems:
            blockers = tuple(map(invalid_blocker, screening.problems))
        elif screening.obstacles:
            blockers = screening.obstacles
            if explained and all(CATEGORIES[one.category].hides_others for one in blockers):
                blockers += self._behind_gates(group)
        elif group.cut and (group.promised or group.ask.shapes):
            blockers = (budget.not_examined(group.key),)
        elif group.promised:
            blockers = group.blockers if group.sight is None or not explained else group.sight.blockers()
        elif group.ask.shapes and explained:
            blockers, impossible = self._blockers(group, taken)
            verdict = "Impossible" if impossible and verdict == "Waiting" else verdict
            if verdict == "Waiting":
                blockers = with_refusal(blockers, group.refusal)
        if blockers and blockers[0].category == "Priority":
            blockers = with_kept_room(blockers, self._kept_room)
        if view.later is not None and not group.blocked:
            blockers = with_later(blockers, view.later, view.owned_by)
        blockers = self._with_booking(group, self._with_plan(group, blockers))
        if verdict == "Waiting" and group.ask.scavenges:
            blockers = with_scavenging(blockers, record.snapshot, record.context.policy, group.too_dear)
        blockers = self._with_times(view, verdict, blockers)
        if not blockers and verdict == bare.verdict:
            return bare
        return msgspec.structs.replace(bare, verdict=verdict, blockers=blockers)

    def _with_times(
        self, view: GroupView, verdict: Verdict, blockers: tuple[Blocker, ...]
    ) -> tuple[Blocker, ...]:
        """When it would end, where it may not start because of that; and by when it wants to."""
        reservations = self.record.reservations
        if blockers and reservations.kept:
            nodes, end = self.record.snapshot.nodes, self.record.holds.from_now(view).end
            blockers = with_end(blockers, reservations, nodes, view, end)
        if verdict in ("Waiting", "Preempting") and not view.running:
            blockers = with_deadline(blockers, view.runtime)
        return blockers

    def _bare(self, group: TriedGroup) -> GroupVerdict:
        """What its seats alone say."""
        view = group.view
        rows = [member.node for member in view.running] + [row for _, row in group.seated]
        nodes, levels = self.record.snapshot.nodes, self.record.context.levels
        domains = shared_domains(nodes, levels, view.group.topology, rows) if rows else {}
        counts = (view.members, view.group.quorum, group.placed)
        if view.parts is not None:
            root = view.parts.root
            counts = (len(root.children), root.quorum, root.counted(group.by_leaf))
        bare = GroupVerdict(group.key, group.standing, *counts, domains)
        return bare if view.parts is None else msgspec.structs.replace(bare, counts="parts")

    def with_parts(self, group: TriedGroup, verdict: GroupVerdict) -> tuple[GroupVerdict, ...]:
        """What is said of a group; of a tree, what follows from that for each part of it, too."""
        parts = group.view.parts
        if parts is None:
            return (verdict,)
        below = [branch for branch in parts.root.walk() if branch[1]]
        return (verdict, *(self._of_part(group, parts, branch, parent, verdict) for branch, parent in below))

    def _of_part(
        self, group: TriedGroup, parts: Parts, branch: Branch, parent: str, whole: GroupVerdict
    ) -> GroupVerdict:
        """A part starts with its tree, or not at all."""
        view, have, leaves = group.view, group.by_leaf, branch.leaves()
        seats = [*zip(parts.seated, (member.node for member in view.running), strict=True)]
        seats += [(parts.waiting[member], row) for member, row in group.seated]
        rows = [row for leaf, row in seats if leaf in leaves]
        levels = self.record.context.levels
        members = view.members_by_leaf[branch.leaf] if branch.is_leaf else len(branch.children)
        promised = any(parts.waiting[member] in leaves for member, _ in group.promised)
        verdict: Verdict = "Scheduled" if branch.met(have) and view.group.exists else "Waiting"
        if verdict != "Scheduled" or whole.verdict == "Invalid":
            verdict = whole.verdict if whole.verdict not in ("Scheduled", "Preempting") else "Waiting"
            verdict = "Preempting" if promised else verdict
        return GroupVerdict(
            branch.key,
            verdict,
            members,
            branch.quorum,
            branch.counted(have),
            shared_domains(self.record.snapshot.nodes, levels, branch.topology, rows),
            () if verdict == "Scheduled" else _blockers_of_part(parts, branch, whole),
            parent=parent,
            counts="members" if branch.is_leaf else "parts",
        )

    def _blockers(self, group: TriedGroup, taken: Sequence[Taken]) -> tuple[tuple[Blocker, ...], bool]:
        """What is in its way, and whether it could never be seated; a later cycle says so if this one may not
        go on."""
        record, budget = self.record, self.record.budget
        if not budget.is_open(EXPLAINING, group.key):
            return (budget.not_explained(group.key),), False
        own = tuple((int(group.view.shapes[member]), row) for member, row in group.seated)
        with budget.examination(group.key):
            diagnosis = record.hindsight.at(group.last_tried)
            held = self._held_up(group, diagnosis)
            if held is not None:
                return (held,), False
            found = diagnosis.of(group.view, group.ask, own, record.ahead_of(group, taken))
        self._exhausted |= diagnosis.exhausted
        return found

    def _held_up(self, group: TriedGroup, diagnosis: Diagnosis) -> Blocker | None:
        """If only holds of others are in its way: which."""
        if not group.beside:
            return None
        ask = replace(group.ask, need=max(1, group.ask.need))
        found = attempt(diagnosis.trial, ask, self.record.context, self.record.context.steps())
        if not found:
            return None
        tenure = self.record.holds.from_now(group.view)
        return held_up(ask, found, group.beside, tenure, diagnosis.trial)

    def _with_plan(self, group: TriedGroup, blockers: tuple[Blocker, ...]) -> tuple[Blocker, ...]:
        plan = group.plan
        if plan is None:
            return blockers
        nodes, levels = self.record.snapshot.nodes, self.record.context.levels
        rows = [row for _, row in plan.place.seats]
        domains = shared_domains(nodes, levels, group.view.group.topology, rows)
        return with_plan(blockers, plan, self.record.holds.leavers(plan), nodes, domains)

    @property
    def _booked(self) -> Bookings:
        return self.record.holds.booked

    def _with_booking(self, group: TriedGroup, blockers: tuple[Blocker, ...]) -> tuple[Blocker, ...]:
        """When it starts at the latest, if that is promised, or why it is not."""
        wanted = group.view.runtime.stay.timing.start_by
        if wanted is None or not blockers or group.standing == "Scheduled":
            return blockers
        standing, booker = self._booked.kept.get(group.key), self.record.booker
        booking = booker.made.get(group.key)
        if booking is None and standing is not None and not standing.is_over:
            booking = standing.booking
        broken = self._booked.last_broken(group.view)
        if booking is not None:
            return with_booking(blockers, booking, broken)
        return without_booking(blockers, wanted, booker.refused.get(group.key), broken)

    def _behind_gates(self, group: TriedGroup) -> tuple[Blocker, ...]:
        """What would be in its way if it might start."""
        budget = self.record.budget
        if not budget.is_open(EXPLAINING, group.key):
            return (budget.not_explained(group.key),)
        with budget.examination(group.key):
            diagnosis = self.record.hindsight.at(group.last_tried)
            found = diagnosis.behind_gates(group.ask)
        self._exhausted |= diagnosis.exhausted
        return found


def _blockers_of_part(parts: Parts, branch: Branch, whole: GroupVerdict) -> tuple[Blocker, ...]:
    """Its own members are missing, or what is in the way of the tree is in its way."""
    created = branch.counted(parts.possible())
    if created < branch.quorum and whole.verdict != "Invalid":
        counts = {"created": created, "quorum": branch.quorum}
        what = "members to start, and only" if branch.is_leaf else "parts that can be complete, and only"
        return (
            Blocker("Members", f"the group needs {branch.quorum} {what} {created} have been created", counts),
        )
    return tuple(
        Blocker(one.category, f"it starts with the tree {whole.group}: {one.message}", {"tree": whole.group})
        for one in whole.blockers[:1]
    )


def _words_of_room(group: TriedGroup) -> str:
    rooms = Counter(group.comes_as(member) for member, _ in group.reserved)
    named = " and ".join(f"{counted(count, 'pod')} of {key}" for key, count in sorted(rooms.items()))
    pods = "it" if rooms.total() == 1 else "them"
    return f"room for {named} is kept, because {group.view.owned_by} creates {pods} next"


def with_later(blockers: tuple[Blocker, ...], later: LaterMembers, owner: str) -> tuple[Blocker, ...]:
    """The first also says that there must be room for pods that are not there."""
    if not blockers:
        return ()
    first, *others = blockers
    named = " and ".join(f"{counted(count, 'pod')} of {group}" for group, count in later.groups)
    groups = [{"group": group, "pods": count} for group, count in later.groups]
    counts = f"this counts {named}, which {owner} creates later"
    return (Blocker(first.category, f"{first.message}; {counts}", {**first.detail, "later": groups}), *others)


def with_kept_room(blockers: tuple[Blocker, ...], kept: Mapping[str, str]) -> tuple[Blocker, ...]:
    """Some of those who went first may have no pod at all yet."""
    first, *others = blockers
    said = [kept[group] for group in first.detail.get("ahead", ()) if group in kept]
    message = "; ".join((first.message, *said))
    return (msgspec.structs.replace(first, message=message), *others)


def with_deadline(blockers: tuple[Blocker, ...], runtime: Runtime) -> tuple[Blocker, ...]:
    """The first also says that the clock of its Job runs."""
    deadline = runtime.stay.deadline
    if not blockers or deadline is None:
        return blockers
    first, *others = blockers
    said: dict[str, object] = {"deadline": moment(deadline // 1000)}
    words = f"its Job ends at {said['deadline']}, started or not, "
    words += "because activeDeadlineSeconds counts while it waits"
    if runtime.expected is not None:
        said["startBy"] = moment((deadline - runtime.expected) // 1000)
        words += f": to run for {written(runtime.expected)} it must start by {said['startBy']}"
    words += f"; set {MAX_RUNTIME} instead, or suspend the Job until there is room"
    return (Blocker(first.category, f"{first.message}; {words}", {**first.detail, **said}), *others)


def with_refusal(blockers: tuple[Blocker, ...], refusal: str) -> tuple[Blocker, ...]:
    """The first also says why others do not make room."""
    if not refusal:
        return blockers
    first, *others = blockers
    return (msgspec.structs.replace(first, detail={**first.detail, "preemption": refusal}), *others)
