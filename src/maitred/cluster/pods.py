"""All pods of the cluster, each in its group and, if it has one, in its place."""

from itertools import chain

from maitred.cluster.claims import ClaimTable
from maitred.cluster.controllers import ControllerTable
from maitred.cluster.devices.needs import Taken
from maitred.cluster.devices.table import DeviceTable, Needed
from maitred.cluster.intake import Intake
from maitred.cluster.interning import Interner
from maitred.cluster.later import LaterTable, LinkedView, members_of
from maitred.cluster.members import NOT_BOUND, GroupRecord, Member, State, end_of, owner_in_namespace
from maitred.cluster.news import Ends, News
from maitred.cluster.reports import ReportTable
from maitred.cluster.seats import SeatTable
from maitred.cluster.settling import Settling, Speakers
from maitred.cluster.snapshot import UNKNOWN_TIME, GroupView
from maitred.cluster.tables import Tables
from maitred.cluster.trees import Trees
from maitred.cluster.volumes import StorageView
from maitred.model.categories import Effect
from maitred.model.group import PodGroup
from maitred.model.membership import GroupId
from maitred.model.node import Node
from maitred.model.pod import Pod


class PodTable:
    """`ends` is told of every pod that has left its place."""

    def __init__(
        self,
        tables: Tables,
        settling: Settling,
        trees: Trees,
        news: News,
        ends: Ends | None,
        waits: bool,
    ) -> None:
        self._settling = settling
        self._trees = trees
        self._news = news
        self.ends = ends
        self.interner = Interner()
        self.intake = Intake(self.interner)
        self.claims = ClaimTable(tables, news)
        self.devices = DeviceTable(tables, lambda key: settling.find(PodGroup, key), waits)
        self.seats = SeatTable(self.interner, self.claims, news)
        self.controllers = ControllerTable(tables)
        self.members: dict[str, Member] = {}
        self.groups: dict[GroupId, GroupRecord] = {}
        self.waiting: dict[GroupId, GroupRecord] = {}
        self.later = LaterTable(settling, self.groups, self.intake.member)
        self.reports = ReportTable()

    def put(self, pod: Pod) -> None:
        member = self.intake.member(pod)
        known = self.members.get(member.key)
        if known is not None:
            if known.like(member):
                self._note_progress(known, member)
                self._note_reports(pod, known)
                return
            member.crew = self._settling.crew(member.said)
            self._note_end(known, member)
            self._remove(known)  # and with it its crew, if there is nobody else in it
        else:
            member.crew = self._settling.crew(member.said)
        self.members[member.key] = member
        self._add(member)
        self._note_reports(pod, member)

    def put_node(self, node: Node) -> bool:
        """Whether that is news."""
        seats = self.seats
        known, name = len(seats.nodes.resources), node.metadata.name
        was_missed, before = name in seats.nodes.absent, seats.nodes.unwell_on(name)
        news = seats.nodes.put(node)
        if len(seats.nodes.resources) > known:
            seats.charge_more(self.members.values(), known)
        changed = self.reports.put_node(node) or was_missed or seats.nodes.unwell_on(name) != before
        self._news.failed(changed)
        return news

    def delete_node(self, name: str) -> bool:
        """Whether it was there."""
        self.reports.delete_node(name)
        was_there = self.seats.nodes.delete(name)
        self._news.failed(was_there)
        return was_there

    def delete(self, key: str) -> None:
        member = self.members.pop(key, None)
        if member is not None:
            self._note_end(member, None)
            self._remove(member)
            self._news.failed(self.reports.delete_pod(key))

    def depart(self, key: str, leaving: bool) -> None:
        """A pod on a node is on its way out from now on, or is so no longer."""
        member = self.members[key]
        self._remove(member)
        member.state = State.TERMINATING if leaving else State.RUNNING
        member.due, member.grace = UNKNOWN_TIME, 0  # what an earlier departure had is over
        self._add(member)

    def regroup(self, crew: Speakers) -> list[str]:
        """These are in another group now."""
        members = list(crew.members.values())
        for member in members:
            self._remove(member)
            self._add(member)
            self.reports.move_pod(member)
        return [member.key for member in members]

    def describe_again(self, crew: Speakers) -> None:
        """The group of these is described otherwise now."""
        self._news.version += 1
        described = None
        for member in crew.members.values():
            record = member.record  # of all the same; or of a lone pod, its own
            if record is not None and record is not described:
                record.declared, record.view = crew.settled.group, None
                self.seats.groups.changed(record)
                self._news.groups.add(self._trees.id_of(record.id).key)
                described = record
            self.seats.charge_to(member)
            self.later.depart(member)
            self.later.arrive(member)

    def id_of(self, member: Member) -> GroupId | None:
        """The group that a member is decided with: that of its tree, where it is in one."""
        id = member.settled.id
        return None if id is None else self._trees.id_of(id)

    def _note_progress(self, known: Member, member: Member) -> None:
        """A pod has started, or saved its work: no group need be decided again for that."""
        now = _progress(member)
        changed = _progress(known) != now
        self._news.version += changed
        if known.grace != member.grace:  # who waits for its room may count on it by now, or no longer
            self._news.effects |= Effect.ROOM
            self._news.nodes.add(known.node)
        known.working, known.bound_at, known.started, known.checkpoint = now[:4]
        known.due, known.grace, known.step = now[4:]
        if known.bound_row != NOT_BOUND:
            self.seats.bound.set_progress(known.bound_row, *now)

    def _note_reports(self, pod: Pod, member: Member) -> None:
        self._news.failed(self.reports.put_pod(pod, member))

    def _note_end(self, known: Member, member: Member | None) -> None:
        if self.ends is not None and known.bound_row != NOT_BOUND:
            group = self.id_of(known)
            self.ends.note(end_of(known, known.key if group is None else group.key, member))

    def _add(self, member: Member) -> None:
        self._news.version += 1
        self._settling.add(member)
        if member.state <= State.LEAVING:
            self.interner.count_user(member.needs, +1)
            if member.claims:
                self.claims.count(member.claims, +1)
            member.controller = self.controllers.arrive(*owner_in_namespace(member))
        member.label_class = self.seats.label_class(member)
        if (group := member.group) is not None:
            record = member.record = self._record(group)
            record.add(member)
            self.seats.groups.changed(record)
            self._news.groups.add(self._trees.id_of(group).key)
            if record.pending:
                self.waiting[record.id] = record
        self.later.arrive(member)
        if member.state in (State.RUNNING, State.TERMINATING):
            self.seats.seat(member)

    def _remove(self, member: Member) -> None:
        self._news.version += 1
        self._settling.remove(member)
        if member.state <= State.LEAVING:
            self.interner.count_user(member.needs, -1)
            if member.claims:
                self.claims.count(member.claims, -1)
            self.controllers.depart(*owner_in_namespace(member))
        if member.bound_row != NOT_BOUND:
            self.seats.unseat(member)
        if member.nominated:  # what was kept for it is for all again
            self._news.effects |= Effect.ROOM
        record, member.record = member.record, None
        self.later.depart(member)
        if record is not None:
            record.remove(member)
            self.seats.groups.changed(record)
            self._news.groups.add(self._trees.id_of(record.id).key)
            if not record.pending:
                self.waiting.pop(record.id, None)
            if not record.members:
                self.groups.pop(record.id, None)

    def _record(self, id: GroupId) -> GroupRecord:
        record = self.groups.get(id)
        if record is None:
            record = self.groups[id] = GroupRecord(id)
        return record

    # -- what may have failed --------------------------------------------------------------------------

    def on_hurting_nodes(self) -> set[GroupId]:
        """The groups with members on nodes that are lost, gone or about to go."""
        seats = self.seats
        names = seats.nodes.absent | self.reports.hurting
        rows = [seats.nodes.rows[name] for name in names if name in seats.nodes.rows]
        return seats.groups.ids(seats.bound.groups_on(rows)) if rows else set()

    def with_slow_members(self) -> set[GroupId]:
        """The groups with members whose steps take longer than those of the others, as they say."""
        return self.seats.groups.ids(self.seats.bound.slow_groups())

    # -- for a snapshot --------------------------------------------------------------------------------

    def renumber(self) -> None:
        if self._renumber():
            for record in self.groups.values():
                record.view = None
        self.seats.look_at_budgets(self.members.values())

    def _renumber(self) -> bool:
        """Selectors have come or gone, or what no pod has any more is to be forgotten: number every pod anew.
        Rare."""
        pods, interner = len(self.members), self.interner
        numbers, classes_stale = interner.forget_unused(), interner.refresh_live_keys()
        classes_stale |= interner.forget_classes(pods)
        standings_stale, payers_stale = self.intake.forget_standings(pods), self.seats.payers.forget(pods)
        payers_stale |= self.seats.stays.forget(pods)
        if numbers is None and not (classes_stale or standings_stale or payers_stale):
            return False
        for member in chain(self.members.values(), self.later.members()):
            member.standing, member.standing_number = self.intake.numbered(member.standing)
            self.seats.renumber(member, numbers)
        return True

    def view(self, record: GroupRecord, storage: StorageView) -> GroupView:
        return record.current_view(
            lambda member, taken: self._shape(member, storage, taken),
            lambda member: tuple(key for key, _ in self._device_needs(member)),
            self.claims.version,
            self.devices,
        )

    def _shape(self, member: Member, storage: StorageView, taken: Taken) -> int:
        volumes = self.claims.needs_of(member, storage)
        devices = tuple(need for _, need in self._device_needs(member, taken))
        return self.interner.shape_number(member.needs, member.label_class, volumes, devices)

    def _device_needs(self, member: Member, taken: Taken = "as they are") -> Needed:
        if not member.device_claims:
            return ()
        namespace, name = member.key.partition("/")[0], member.said.pod_group
        group = f"{namespace}/{name}" if name else ""
        return self.devices.needs_of(member.device_claims, member.key, member.uid, group, taken)

    # -- pods that are not there yet -------------------------------------------------------------------

    def look_for_later(self) -> None:
        """Which pods come later may have changed with those that are there."""
        for before, now in self.later.refresh():
            for member in members_of(now):
                self.interner.count_user(member.needs, +1)
                member.label_class = self.seats.label_class(member)
            for member in members_of(before):
                self.interner.count_user(member.needs, -1)
            self._news.groups |= {link.host.key for link in (*before, *now)}
            if any(link.before for link in before):  # what was kept may be for all again
                self._news.effects |= Effect.ROOM

    def linked(self, views: dict[GroupId, GroupView], storage: StorageView) -> list[GroupView]:
        """Put into the views what comes later; and views of the groups of which no pod waits, and for which
        room is kept."""
        found = list[GroupView]()
        for link in self.later.links():
            linked = LinkedView(link, self.groups, lambda member: self._shape(member, storage, "anew"))
            if link.host in views:
                views[link.host] = linked.of(views[link.host])
            elif link.before and link.awaited:
                record = self.groups.get(link.host)
                found.append(linked.of(None if record is None else self.view(record, storage)))
        return found


def _progress(member: Member) -> tuple[bool, int, int, int, int, int, float]:
    times = (member.bound_at, member.started, member.checkpoint, member.due, member.grace)
    return member.working, *times, member.step
