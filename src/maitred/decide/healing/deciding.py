"""One decision for each group that hardware has failed under: what is done, what is kept, and until when.

`heal` is a pure function of a snapshot, a policy and a time. What it must know of earlier is in the memory of
the snapshot, which it hands on changed. A decision speaks of the whole group; nothing is ever decided for one
member of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import msgspec

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.healing.faults import node_faults
from maitred.decide.healing.lemons import Lemonade, tainted_nodes
from maitred.decide.healing.losses import HurtGroup, Losses, LostMember
from maitred.decide.healing.remembering import DEGRADED, Remembering
from maitred.decide.healing.restarting import SUSPENDED, owner_of, restart_of
from maitred.decide.healing.scores import Scoring
from maitred.decide.healing.slow import SlowGroup, SlowGroups, as_hurt
from maitred.decide.healing.stand_ins import as_healed
from maitred.model.duration import span
from maitred.model.healing import NO_WISH, ON_FAILURE, FailureRule
from maitred.model.memory import HealthMemory, Incident
from maitred.model.plan import HealingDecision, LostPod, NodeTaint, Restart
from maitred.model.policy import Policy, is_device
from maitred.model.suspending import TopOwner
from maitred.model.times import after
from maitred.model.words import counted, moment

WITH_ALL = "it is stopped with all the others"


@dataclass(frozen=True, slots=True)
class SlowDecision:
    """Members that are slow are replaced, if there is room for others elsewhere."""

    slow: SlowGroup
    rule: FailureRule
    until: datetime
    devices: int

    @property
    def decision(self) -> HealingDecision:
        group = as_hurt(self.slow)
        pods = tuple(_lost_pod(one, self.rule, False, False) for one in group.lost)
        family, certainty, words, _, _ = group.verdict
        does = _does(group, pods, self.until, None)
        return HealingDecision(
            group.key, self.rule, family, certainty, words, does, None, _at(self.until), pods
        )


@dataclass(frozen=True)
class HealingOutcome:
    """What one cycle decided about failures."""

    decisions: tuple[HealingDecision, ...] = ()
    memory: HealthMemory | None = None
    """What is to be remembered from now on; None if that is what was remembered before."""
    held_until: Mapping[str, datetime] = field(default_factory=dict)
    """Groups for which room is kept."""
    hurt: tuple[GroupView, ...] = ()
    """Of these, the ones of which no pod waits, as if all that was lost had left."""
    wake_at: datetime | None = None
    """When time alone may change any of this."""
    taints: tuple[NodeTaint, ...] = ()
    avoided: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The rows of nodes that broke under a group, by group: it is seated elsewhere if it can be."""
    healed: frozenset[str] = frozenset()
    """Groups that may have what is kept free for repairs."""
    had: Mapping[str, int | None] = field(default_factory=dict)
    """How many members groups had for which room is kept."""
    slow: tuple[SlowDecision, ...] = ()
    """Groups whose slow members are replaced now, if there is room for that."""
    replaced: frozenset[str] = frozenset()
    """Groups for which room is kept because slow members are replaced, and nothing else has failed."""


REPLACING: tuple[FailureRule, ...] = ("replace", "shrink")
"""What a group may say for members of it to be replaced because they are slow."""
LOOK_AGAIN = timedelta(seconds=30)
"""Members tell how long their steps take, and when their work is saved, without waking anybody."""
NO_ROOM = "there is no room for it elsewhere: it is replaced after a checkpoint once there is"
MOST_NAMED = 3
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
NOTHING_TO_HEAL = HealingOutcome()


def heal(snapshot: Snapshot, policy: Policy, now: datetime, scheduler: str | None = None) -> HealingOutcome:
    """`scheduler`: only groups of this one are decided about."""
    memory = snapshot.memory
    amiss = snapshot.reports or snapshot.hurt or snapshot.nodes.unwell or snapshot.inventory.is_tainted
    if not (amiss or memory.incidents or memory.scores or tainted_nodes(snapshot)):
        soon = _look_for_slow(snapshot, policy, now)
        return NOTHING_TO_HEAL if soon is None else HealingOutcome(wake_at=soon)
    return _Healer(snapshot, policy, now, scheduler).heal()


class _Healer:
    def __init__(self, snapshot: Snapshot, policy: Policy, now: datetime, scheduler: str | None) -> None:
        self.snapshot, self.policy, self.now, self.scheduler = snapshot, policy, now, scheduler
        self.slow = SlowGroups(snapshot, policy, round(now.timestamp() * 1000)).found
        self.losses = Losses(snapshot, policy, now, self._being_replaced())
        self.memory = remembering(snapshot.memory, policy, now)

    def heal(self) -> HealingOutcome:
        decisions = list[HealingDecision]()
        lost, whole = dict[str, tuple[LostMember, ...]](), set[str]()
        for group in self.losses.hurt():
            if not self._is_ours(group.view):
                continue
            if not group.lost and not group.below:
                whole.add(group.key)
            decision = None if group.key in whole else self._decide(group)
            if decision is None:
                continue
            decisions.append(decision)
            lost[group.key] = group.lost
        self.memory.end(whole)
        told = {one.group for one in decisions}
        slow = [one for one in self.slow.values() if one.key not in told and self._is_ours(one.view)]
        weighed = [self._weigh(one) for one in slow]
        decisions += [one for one in weighed if isinstance(one, HealingDecision)]
        scores = self._scores()
        taints = scores.taints()
        self.memory.scores = scores.scoring.kept()
        held = self._held()
        kept = [view for view in self.snapshot.hurt if view.group.key in held]
        had = {key: self.memory.had(key) for key in held}
        hurt = tuple(as_healed(one, lost.get(one.group.key, ()), had[one.group.key]) for one in kept)
        return HealingOutcome(
            tuple(decisions),
            self.memory.changed,
            held,
            hurt,
            min((*self.losses.soon, *held.values(), *scores.wake_at(), *self._slow_soon()), default=None),
            taints,
            self._avoided(),
            frozenset(one.group for one in self.memory.open if one.family != DEGRADED),
            had,
            tuple(one for one in weighed if isinstance(one, SlowDecision)),
            frozenset(held) - {one.group for one in self.memory.open if one.family != DEGRADED},
        )

    def _is_ours(self, view: GroupView) -> bool:
        return self.scheduler is None or self.scheduler in view.schedulers

    # -- slow members ----------------------------------------------------------------------------------

    def _being_replaced(self) -> dict[str, tuple[LostMember, ...]]:
        """Members that it was decided to replace: as long as they are slow, and it is the time for it."""
        chosen = {
            uid
            for one in self.snapshot.memory.incidents
            if one.is_open and one.family == DEGRADED
            for uid in one.uids
        }
        found = {
            key: tuple(member for member in one.members if member.uid in chosen)
            for key, one in (self.slow.items() if chosen else ())
            if one.is_due
        }
        return {key: members for key, members in found.items() if members}

    def _weigh(self, slow: SlowGroup) -> "HealingDecision | SlowDecision":
        """Whether its slow members are replaced, as far as that does not depend on room."""
        group = as_hurt(slow)
        rule, problem = self._rule(group)
        before = self.memory.replaced(slow.key)
        why = problem or slow.why_not
        if rule not in REPLACING:
            why = problem or f"{ON_FAILURE} is {rule}: none is replaced"
        elif before is not None:
            there = " and ".join(before.nodes[:MOST_NAMED])
            why = (
                f"members on {there} were replaced for that less than {self.policy.healing.slow.again} ago: "
            )
            why += "if one is slow again, its share of the work may be larger"
        elif self.memory.begun(slow.key) >= self.policy.healing.most:
            why = self._too_often()
        elif self.memory.is_full(slow.key.partition("/")[0]):
            why = "too many other groups of its namespace are being healed"
        elif not why and not slow.is_due:
            why = "replaced after the next checkpoint, if there is room elsewhere"
        if why:
            return _kept_slow(group, why)
        until = after(self.now, span(self.policy.healing.hold))
        return SlowDecision(slow, rule, until, self._devices(slow.view))

    def _slow_soon(self) -> Iterator[datetime]:
        soon = _look_for_slow(self.snapshot, self.policy, self.now)
        yield from () if soon is None else (soon,)
        for one in self.slow.values():
            if one.at is not None:
                yield datetime.fromtimestamp(one.at / 1000, UTC)

    # -- one group -------------------------------------------------------------------------------------

    def _decide(self, group: HurtGroup) -> HealingDecision | None:
        """None if nothing was lost, and nothing is under way."""
        rule, problem = self._rule(group)
        news, open_now = self.memory.unknown(group), self.memory.is_open(group.key)
        if not news and open_now:
            return self._goes_on(group)
        if not news or not (group.lost or group.by_hardware):
            return None
        if not group.by_hardware or rule == "none":
            return self._left_alone(group, problem or self._why_nothing(group))
        if self.memory.begun(group.key) >= self.policy.healing.most:
            return self._left_alone(group, self._too_often())
        if self.memory.is_full(group.view.group.key.partition("/")[0]):
            return self._left_alone(group, "too many other groups of its namespace are being healed")
        if rule == "replace" and self._is_all_lost(group):
            rule = "restart"
        devices = self._devices(group.view) if group.below or rule == "restart" else 0
        self.memory.begin(group, rule, self._hold_end(group, rule), devices)
        return self._goes_on(group)

    def _devices(self, view: GroupView) -> int:
        snapshot, shapes = self.snapshot, [*view.running_shapes.tolist(), *view.shapes.tolist()]
        requests = (one for shape in shapes for one in snapshot.needs[snapshot.shapes[shape].needs].requests)
        return sum(count for resource, count in requests if is_device(self.policy, resource))

    def _is_all_lost(self, group: HurtGroup) -> bool:
        """Then nothing that runs well is stopped with its owner. Deleted one by one, its members would come
        much later: a Job waits twice as long with each that was deleted before it makes others."""
        lost, running = len(group.lost), len(group.view.running)
        return 1 < lost == running and isinstance(owner_of(self.snapshot, group.view), TopOwner)

    def _rule(self, group: HurtGroup) -> tuple[FailureRule, str]:
        """What the group asks for. What cannot be read, or contradicts itself, asks to be left alone."""
        own = group.view.group.on_failure
        wishes = (own,) if own != NO_WISH else group.view.wishes
        problem = next((one.problem for one in wishes if one.problem), "")
        rules = sorted({one.rule for one in wishes if one.rule is not None})
        if problem:
            return "none", problem
        if len(rules) > 1:
            return "none", f"its members have different values of {ON_FAILURE}: {', '.join(rules)}"
        return rules[0] if rules else self.policy.healing.on_failure, ""

    def _hold_end(self, group: HurtGroup, rule: FailureRule) -> datetime | None:
        """Room is kept for the missing quorum only; of a group that is stopped, all of it is missing."""
        keeps = group.below or rule == "restart"
        return after(self.now, span(self.policy.healing.hold)) if keeps else None

    def _why_nothing(self, group: HurtGroup) -> str:
        if group.by_hardware:
            return f"it is left to itself, as {ON_FAILURE} or the policy says"
        return "no fault of a node or a device is certain enough to act on"

    def _too_often(self) -> str:
        healing = self.policy.healing
        return (
            f"it was healed {counted(healing.most, 'time')} within {healing.window}, and is left alone now: "
            f"look at what its nodes have in common"
        )

    def _goes_on(self, group: HurtGroup) -> HealingDecision:
        """As the last incident of the group began."""
        first = self.memory.last(group.key)
        shrinks = first.rule == "shrink" and not group.below
        restart, instead = self._restart(group, first)
        pods = tuple(_lost_pod(one, first.rule, shrinks, restart is not None) for one in group.lost)
        until = self.memory.open_until(group.key) if group.below or restart else None
        return HealingDecision(
            group=group.key,
            rule=first.rule,
            family=first.family,
            certainty="certain" if group.by_hardware else "likely",
            words=first.words,
            does="; ".join([*instead, _does(group, pods, until, restart)]),
            since=_at(first.since),
            held_until=_at(until),
            pods=pods,
            restart=restart,
        )

    def _restart(self, group: HurtGroup, first: Incident) -> tuple[Restart | None, list[str]]:
        """Whom to stop; or why members are replaced instead."""
        if first.rule != "restart":
            return None, []
        owner = owner_of(self.snapshot, group.view) if group.view.running else SUSPENDED
        if isinstance(owner, TopOwner):
            return restart_of(group.view, first, owner), []
        return None, [] if owner == SUSPENDED else [f"{owner}, so what was lost is replaced"]

    def _left_alone(self, group: HurtGroup, why: str) -> HealingDecision:
        pods = tuple(LostPod(one.pod, one.uid, one.node, False, why) for one in group.lost)
        family, certainty, words, _, since = group.verdict
        return HealingDecision(group.key, "none", family, certainty, words, why, _at(since), None, pods)

    # -- all of them -----------------------------------------------------------------------------------

    def _held(self) -> dict[str, datetime]:
        keys = {one.group for one in self.memory.open}
        found = ((key, self.memory.open_until(key)) for key in sorted(keys))
        return {key: until for key, until in found if until is not None and until > self.now}

    def _scores(self) -> Lemonade:
        """Of all nodes, with the failures that are seen now."""
        scoring = Scoring(self.snapshot.memory.scores, self.policy.healing.lemons, self.now)
        scoring.count(node_faults(self.losses, self.losses.seen))
        return Lemonade(scoring, self.snapshot, self.policy, tainted_nodes(self.snapshot))

    def _avoided(self) -> dict[str, frozenset[int]]:
        rows, found = self.snapshot.nodes.rows, dict[str, frozenset[int]]()
        for one in self.memory.open:
            there = frozenset(rows[node] for node in one.nodes if node in rows)
            if there:
                found[one.group] = found.get(one.group, frozenset()) | there
        return found


def with_replaced(
    outcome: HealingOutcome,
    snapshot: Snapshot,
    policy: Policy,
    now: datetime,
    begun: Sequence[SlowDecision],
    room: Mapping[str, int],
) -> HealingOutcome:
    """Once it is known for whom there is room. `begun` are those for whose slow members it was found, and
    `room` has for how many members of each group it is kept."""
    memory = remembering(outcome.memory or snapshot.memory, policy, now)
    for one in begun:
        memory.begin(as_hurt(one.slow), one.rule, one.until, one.devices)
    known = {one.slow.key for one in begun}
    crowded = [_kept_slow(as_hurt(one.slow), NO_ROOM) for one in outcome.slow if one.slow.key not in known]
    kept = [_if_room(one, room) for one in outcome.decisions]
    return replace(
        outcome,
        decisions=(*kept, *(one.decision for one in begun), *crowded),
        memory=memory.changed or outcome.memory,
        held_until={**outcome.held_until, **{one.slow.key: one.until for one in begun}},
        replaced=outcome.replaced | known,
    )


def _if_room(decision: HealingDecision, room: Mapping[str, int]) -> HealingDecision:
    """A slow member works: it stays if the room is gone that was kept for another one."""
    going = sum(one.delete for one in decision.pods)
    if decision.family != DEGRADED or room.get(decision.group, 0) >= going:
        return decision
    pods = tuple(msgspec.structs.replace(one, delete=False, why=NO_ROOM) for one in decision.pods)
    return msgspec.structs.replace(decision, pods=pods, does=NO_ROOM)


def remembering(memory: HealthMemory, policy: Policy, now: datetime) -> Remembering:
    healing = policy.healing
    return Remembering(memory, now, span(healing.window), span(healing.slow.again))


def _look_for_slow(snapshot: Snapshot, policy: Policy, now: datetime) -> datetime | None:
    gangs = policy.healing.slow.replace and any(one is not None and one.group.gang for one in snapshot.seated)
    return after(now, LOOK_AGAIN) if gangs else None


def _kept_slow(group: HurtGroup, why: str) -> HealingDecision:
    """They work, and stay."""
    family, certainty, words, _, _ = group.verdict
    return HealingDecision(group.key, "none", family, certainty, words, why)


def _lost_pod(one: LostMember, rule: FailureRule, shrinks: bool, restarts: bool) -> LostPod:
    """Whether it is told to leave, so that its owner makes another one."""
    why = ""
    if restarts:
        why = WITH_ALL
    elif shrinks:
        why = "the group goes on above its quorum without it"
    elif rule == "hold":
        why = f"{ON_FAILURE} is hold: Kubernetes deletes it"
    elif not one.owned:
        why = "no controller would recreate it: delete it yourself"
    elif not one.node_exists:
        why = "its node does not exist any more: Kubernetes deletes it within a minute"
    return LostPod(one.pod, one.uid, one.node, not why, why)


def _does(
    group: HurtGroup, pods: tuple[LostPod, ...], until: datetime | None, restart: Restart | None
) -> str:
    deleted = sum(one.delete for one in pods)
    said = [f"{counted(deleted, 'pod')} {'is' if deleted == 1 else 'are'} deleted"] if deleted else []
    missing = group.view.group.quorum - group.working
    if restart is not None:
        missing = group.view.group.quorum
        stopped = f"its {restart.kind} is suspended, so that {counted(restart.pods, 'pod')} stop"
        said.append(f"{stopped}, and is resumed when all of it fits")
    if until is not None:
        said.append(f"room for {counted(missing, 'member')} is kept until {_at(until)}")
    said += sorted({one.why for one in pods if one.why and one.why != WITH_ALL})
    if group.unfenced and group.below and len(group.view.pods) < group.view.group.quorum - group.working:
        said.append(
            f"if its owner waits for {' and '.join(group.unfenced[:MOST_NAMED])}: fence the node, with the "
            f"taint {OUT_OF_SERVICE}, or delete the Node"
        )
    return "; ".join(said) or "its owner recreates the missing members"


def _at(time: datetime | None) -> str | None:
    return None if time is None else moment(int(time.timestamp()))
