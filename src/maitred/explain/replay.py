"""A record, decided once more: is the result the same, and what would another policy have changed?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from maitred import __version__
from maitred.cluster.state import ClusterState, Delete, Depart, Put
from maitred.decide import Scope, decide
from maitred.model import recording
from maitred.model.manifest.errors import InputError
from maitred.model.objects import Object
from maitred.model.plan import GroupVerdict, Plan, Record
from maitred.model.policy import API_VERSION, Policy

MOST_TOLD = 100
"""Differences that are told one by one; all are counted."""
NOT_ONE = "is not a record that `maitred record` or `maitred scheduler --record` wrote"


class Difference(Record, frozen=True):
    """One group of one decision."""

    at: str
    group: str
    """Empty where every group comes out the same, and something else of the Plan does not."""
    recorded: str
    """What was decided then, in words; empty if the group was not."""
    replayed: str


class Replay(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Replay"
    recorded_by: tuple[str, ...] = ()
    """The versions of maitred that decided then."""
    replayed_by: str = __version__
    segments: int = 0
    decisions: int = 0
    same: int = 0
    first: str | None = None
    last: str | None = None
    differences: tuple[Difference, ...] = ()
    differing_groups: int = 0
    """Groups with a difference, of all decisions."""
    warnings: tuple[str, ...] = ()


@dataclass
class Replayer:
    """Takes lines one by one; `policy` in place of the recorded one, to see what it would have changed."""

    source: str
    policy: Policy | None = None
    _rules: Policy = field(default_factory=Policy)
    _state: ClusterState | None = None
    _scheduler: str | None = None
    _asked: tuple[str, Plan] | None = None
    _line: int = 0
    _versions: set[str] = field(default_factory=set)
    _groups: set[str] = field(default_factory=set)
    _told: list[Difference] = field(default_factory=list)
    _moments: list[str] = field(default_factory=list)
    _segments: int = 0
    _same: int = 0

    def take(self, data: bytes) -> None:
        """Raises InputError for what is no line of a record."""
        self._line += 1
        try:
            line = recording.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._wrong(f"{NOT_ONE}: {error}") from None
        if isinstance(line, recording.Opening):
            self._open(line)
        elif self._state is None:
            raise self._wrong(f"{NOT_ONE}: its first line is not an opening line")
        else:
            self._follow(line, self._state)

    def replay(self, warnings: Iterable[str] = ()) -> Replay:
        """Raises InputError if no decision was in what was taken."""
        if not self._moments:
            what = "has no decision in it: it ends before the first one" if self._segments else NOT_ONE
            raise InputError(self.source, "", "", what)
        return Replay(
            recorded_by=tuple(sorted(self._versions)),
            segments=self._segments,
            decisions=len(self._moments),
            same=self._same,
            first=min(self._moments, default=None),
            last=max(self._moments, default=None),
            differences=tuple(self._told),
            differing_groups=len(self._groups),
            warnings=tuple(warnings),
        )

    def _open(self, line: recording.Opening) -> None:
        if line.version != recording.VERSION:
            told = f"has format {line.version}; this maitred ({__version__}) reads format {recording.VERSION}"
            raise self._wrong(told)
        self._state, self._scheduler, self._asked = ClusterState(waits_for_owners=True), line.scheduler, None
        self._versions.add(line.maitred)
        self._segments += 1

    def _follow(self, line: recording.AnyLine, state: ClusterState) -> None:
        if isinstance(line, recording.Came):
            state.apply(Put(self._object(line)))
        elif isinstance(line, recording.Gone):
            state.apply(Delete(self._kind(line.kind), line.key))
        elif isinstance(line, recording.Leaving):
            state.apply(Depart(line.pod, line.uid, line.leaving))
        elif isinstance(line, recording.PolicyInForce):
            self._rules = line.policy
            state.follow((self.policy or line.policy).workloads)
        elif isinstance(line, recording.Look):
            now = self._moment(line.now)
            policy = self._rules if self.policy is None else self.policy
            scope = Scope(
                self._scheduler,
                frozenset(line.groups),
                explained=None if line.explained is None else frozenset(line.explained),
                rotation=line.rotation,
            )
            plan = decide(state.snapshot(), policy, now, scope)
            self._asked = (line.now, plan)
        elif isinstance(line, recording.Decision) and self._asked is not None:
            (moment, plan), self._asked = self._asked, None
            self._compare(moment, line.plan, plan)

    def _compare(self, moment: str, recorded: Plan, plan: Plan) -> None:
        self._moments.append(moment)
        if recording.encode(recorded) == recording.encode(plan):
            self._same += 1
            return
        before, after = told_by_group(recorded), told_by_group(plan)
        groups = sorted(
            group for group in before.keys() | after.keys() if before.get(group) != after.get(group)
        )
        self._groups.update(groups)
        told = [Difference(moment, group, before.get(group, ""), after.get(group, "")) for group in groups]
        told = told or [Difference(moment, "", rest_of(recorded), rest_of(plan))]
        self._told += told[: MOST_TOLD - len(self._told)]

    def _object(self, line: recording.Came) -> Object:
        try:
            return msgspec.json.decode(line.object, type=self._kind(line.kind))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._wrong(f"{line.kind}: {error}") from None

    def _kind(self, name: str) -> type[Object]:
        if name not in recording.RECORDED:
            raise self._wrong(f"a record cannot have the kind {name!r}")
        return recording.RECORDED[name]

    def _moment(self, text: str) -> datetime:
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except ValueError:
            raise self._wrong(f"{text!r} is not a time") from None

    def _wrong(self, what: str) -> InputError:
        return InputError(self.source, f"line {self._line}", "", what)


def told_by_group(plan: Plan) -> dict[str, str]:
    """All that a Plan says of each group, in one line each."""
    nodes: dict[str, list[str]] = {}
    for bind in plan.binds:
        nodes.setdefault(bind.group, []).append(bind.node)
    victims: dict[str, list[str]] = {}
    for eviction in plan.evictions:
        victims.setdefault(eviction.preemptor, []).append(eviction.pod)
    promised: dict[str, list[str]] = {}
    for nomination in plan.nominations:
        promised.setdefault(nomination.group, []).append(nomination.node)
    return {
        verdict.group: "; ".join(
            [
                *_verdict(verdict),
                *_listed("on", nodes.get(verdict.group, ())),
                *_listed("promised", promised.get(verdict.group, ())),
                *_listed("evicting", victims.get(verdict.group, ())),
            ]
        )
        for verdict in plan.decisions
    }


def rest_of(plan: Plan) -> str:
    """What a Plan says beside who is where: when to look again, receipts, warnings."""
    bare = msgspec.structs.replace(plan, binds=(), nominations=(), groups=())
    return recording.encode(bare).decode()


def _verdict(verdict: GroupVerdict) -> Iterator[str]:
    yield f"{verdict.verdict}, {verdict.placed} of {verdict.members} placed"
    yield from (f"{blocker.category}: {blocker.message}" for blocker in verdict.blockers)


def _listed(what: str, names: Iterable[str]) -> list[str]:
    found = sorted(names)
    return [f"{what} {', '.join(found)}"] if found else []
