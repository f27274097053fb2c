"""The situation that the questions of one reader are answered from."""

import re
from collections.abc import Collection

from maitred.explain.redaction.overrides import override_told
from maitred.explain.redaction.reservations import reservation_told
from maitred.explain.redaction.snapshot import Redaction
from maitred.explain.situation import Situation
from maitred.explain.tenant_words import told_to
from maitred.model.history import History, PastEviction, PastGroup
from maitred.model.plan import Alternative, Departure, Eviction, Receipt, Toll
from maitred.model.policy import Policy, Preemption, ProtectionLimits
from maitred.model.provisioning import Provisioning
from maitred.model.queues import Queue

_QUEUE = re.compile(r"\bqueue (\S+)(?= (?:asks for|has|was) )")
"""Where the rule of a receipt names a queue."""


def as_seen_by(situation: Situation, namespaces: Collection[str] | None) -> Situation:
    """With the names of these namespaces only; None for all."""
    if namespaces is None:
        return situation
    redaction = Redaction(situation.snapshot, situation.policy, situation.scheduler, namespaces)
    return Situation(
        snapshot=redaction.snapshot(),
        policy=_policy(situation.policy, redaction),
        now=situation.now,
        scheduler=situation.scheduler,
        history=_history(situation.history, redaction),
    )


def _policy(policy: Policy, redaction: Redaction) -> Policy:
    preemption = policy.preemption
    chosen, limit = preemption.protection.namespaces, preemption.protection.devices_per_namespace
    protection = ProtectionLimits(
        namespaces=None if chosen is None else redaction.labels.label_selector(chosen),
        devices_per_namespace=limit,
    )
    return Policy(
        order=policy.order,
        redecide_seconds=policy.redecide_seconds,
        placement=policy.placement,
        topology=policy.topology,
        nodes=policy.nodes,
        node_templates=policy.node_templates,
        health=policy.health,
        healing=policy.healing,
        devices=policy.devices,
        search=policy.search,
        preemption=Preemption(
            mode=preemption.mode,
            delay=preemption.delay,
            victims=preemption.victims,
            jobs=preemption.jobs,
            grace_limit=preemption.grace_limit,
            protection=protection,
        ),
        workloads=policy.workloads,
        prices=policy.prices,
        queues=tuple(_queue(one, redaction) for one in policy.queues),
        fair_share=policy.fair_share,
        holds=policy.holds,
        bookings=policy.bookings,
        provisioning=Provisioning(
            class_name=policy.provisioning.class_name,
            after=policy.provisioning.after,
            keep=policy.provisioning.keep,
        ),
        reservations=tuple(
            reservation_told(one, redaction.names, redaction.words) for one in policy.reservations
        ),
    )


def _queue(queue: Queue, redaction: Redaction) -> Queue:
    """What it may use, and how. Queues of others have no names."""
    chosen, told = queue.namespaces, redaction.words.told
    return Queue(
        name=told(queue.name),
        parent=told(queue.parent),
        weight=queue.weight,
        limits=queue.limits,
        namespaces=None if chosen is None else redaction.labels.label_selector(chosen),
        priorities=queue.priorities,
        borrow=queue.borrow,
        lend=queue.lend,
        min_runtime=queue.min_runtime,
        runtime=queue.runtime,
        bookings=queue.bookings,
        budget=queue.budget,
    )


def _history(history: History, redaction: Redaction) -> History:
    """Others count where many are looked at together. What happened to one of them is not told."""
    names = redaction.names
    return History(
        since=history.since,
        groups=[one if names.is_own(one.group) else _past(one, redaction) for one in history.groups],
        waits={group: waits for group, waits in history.waits.items() if names.is_own(group)},
        evictions=[
            _eviction(past, redaction) for past in history.evictions if names.is_own(past.eviction.pod)
        ],
    )


def _past(group: PastGroup, redaction: Redaction) -> PastGroup:
    return PastGroup(
        group=redaction.names.key(group.group),
        arrived=group.arrived,
        started=group.started,
        ended=group.ended,
        finished=group.finished,
        members=group.members,
        quorum=group.quorum,
        priority=group.priority,
        requests=redaction.pods.amounts(group.requests),
        required=redaction.groups.level(group.required),
    )


def _eviction(past: PastEviction, redaction: Redaction) -> PastEviction:
    """Of an own pod. The group that it left for, and those that could have left instead, have no names."""
    names, eviction, receipt = redaction.names, past.eviction, past.eviction.receipt
    alternatives = tuple(
        Alternative(tuple(map(names.key, other.units)), _toll(other.toll), told_to(names.own, other.worse))
        for other in receipt.alternatives
    )
    told = Receipt(
        unit=names.key(receipt.unit),
        rule=_rule(receipt.rule, redaction),
        priority=receipt.priority,
        preemptor_priority=receipt.preemptor_priority,
        work_lost_device_hours=receipt.work_lost_device_hours,
        lost_since=receipt.lost_since,
        budgets=tuple(map(names.key, receipt.budgets)),
        departure=Departure(
            owner=receipt.departure.owner,
            by=receipt.departure.by,
            survives=receipt.departure.survives,
            words=told_to(names.own, receipt.departure.words),
        ),
        toll=_toll(receipt.toll),
        alternatives=alternatives,
        override=override_told(receipt.override, names.is_own(eviction.preemptor)),
    )
    return PastEviction(
        past.at,
        Eviction(
            pod=eviction.pod,
            uid=eviction.uid,
            group=eviction.group,
            preemptor=names.key(eviction.preemptor),
            cause=eviction.cause,
            receipt=told,
        ),
    )


def _rule(rule: str, redaction: Redaction) -> str:
    """Queues that are not the reader's have no names here either."""
    told = _QUEUE.sub(lambda found: f"queue {redaction.words.told(found[1])}", rule)
    return told_to(redaction.names.own, told)


def _toll(toll: Toll) -> Toll:
    return Toll(
        violations=toll.violations,
        highest_priority=toll.highest_priority,
        work_lost_steps=toll.work_lost_steps,
        units=toll.units,
        pods=toll.pods,
        work_lost_device_hours=toll.work_lost_device_hours,
    )
