"""Receipts: what each eviction is for, what it costs, and why no other pods were chosen."""

from collections import Counter
from functools import cached_property
from typing import Literal

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.decide.preemption.allowance import Heed
from maitred.decide.preemption.choice import Choice
from maitred.decide.preemption.evictable import LEAST_PRIORITY, OwnerOfPods, device_hours
from maitred.decide.preemption.feasibility import Option
from maitred.decide.preemption.units import Price, Units
from maitred.decide.queues.rights import Rule
from maitred.model.job import DEFAULT_BACKOFF_LIMIT, Job
from maitred.model.overrides import OverrideNote
from maitred.model.plan import Alternative, Departure, Eviction, Receipt, Toll
from maitred.model.suspending import TopOwner
from maitred.model.words import counted, moment

NAMES_SHOWN = 10


def evictions(
    units: Units,
    choice: Choice,
    preemptor: str,
    priority: int,
    rule_of: Rule,
    failing: Counter[OwnerOfPods],
    override: OverrideNote | None = None,
) -> list[Eviction]:
    """One for each pod that leaves for this group, unit by unit; `failing`: how many of each owner leave, for
    whomever; `override`: what lifts the group past its queue."""
    chosen, evictable = choice.best.chosen, units.evictable
    toll = units.toll(chosen)
    alternatives = tuple(_alternative(units, option, choice.best.price, toll) for option in choice.others)
    broken = units.broken_budgets(chosen)
    departures, names = Departures(units, chosen, failing), units.named(chosen)
    found = []
    entries = units.entries_of(chosen)
    pods = units.pods[entries]
    bound = evictable.bound
    columns = (pods, units.unit[entries], bound.occupants[pods], bound.group[pods], evictable.priority[pods])
    losses = (evictable.work[pods], evictable.lost_since[pods])
    lists = (column.tolist() for column in (*columns, *losses, bound.terminating[pods]))
    rows = zip(*lists, evictable.owners_of(pods), strict=True)
    unheeded = {
        pod: evictable.unheeded_words(pod) for pod in pods[evictable.heeds[pods] != Heed.HEEDED].tolist()
    }
    for pod, unit, occupant, number, theirs, work, since, lingers, owner in rows:
        group = evictable.group_numbered(number)
        key = None if group is None else evictable.snapshot.tree_of(group)
        cause, rule = rule_of(pod)
        rule = rule or f"priority {priority} is higher than {theirs}"
        receipt = Receipt(
            unit=names[unit],
            rule=f"{rule}; {unheeded[pod]}" if pod in unheeded and cause == "Preemption" else rule,
            priority=theirs,
            preemptor_priority=priority,
            work_lost_device_hours=device_hours(work),
            lost_since=moment(since // 1000) if work else None,
            budgets=tuple(name for name, speaks_of in broken.items() if speaks_of[unit]),
            departure=departures.hurried(owner) if lingers else departures.of(owner),
            toll=toll,
            alternatives=alternatives,
            override=override,
        )
        found.append(Eviction(occupant.key, occupant.uid, key, preemptor, cause, receipt))
    return sorted(found, key=lambda eviction: (eviction.receipt.unit, eviction.pod))


def _alternative(units: Units, option: Option, best: Price, best_toll: Toll) -> Alternative:
    toll, names = units.toll(option.chosen), units.names(option.chosen)
    return Alternative(tuple(names[:NAMES_SHOWN]), toll, _worse(option.price, best, toll, best_toll))


def _worse(price: Price, best: Price, toll: Toll, best_toll: Toll) -> str:
    if price.violations > best.violations:
        return f"breaks {counted(price.violations, 'disruption budget limit')} instead of {best.violations}"
    if price.highest_rank > best.highest_rank:
        if best.highest_rank < LEAST_PRIORITY <= price.highest_rank:
            return "touches groups that pay"
        return f"touches priority {toll.highest_priority} instead of {best_toll.highest_priority}"
    if price.steps > best.steps:
        return f"loses {toll.work_lost_device_hours:g} device-hours"
    if price.units > best.units:
        return f"breaks {counted(price.units, 'unit')} instead of {best.units}"
    if price.pods > best.pods:
        return f"evicts {counted(price.pods, 'pod')} instead of {best.pods}"
    return "costs the same, but its pods are older, or later by name"


class Departures:
    """How pods leave, by what is known of whoever made them."""

    def __init__(self, units: Units, chosen: Mask, failing: Counter[OwnerOfPods]) -> None:
        self._evictable = evictable = units.evictable
        self._known = dict[OwnerOfPods, Departure]()
        self._jobs = evictable.snapshot.jobs
        self._units, self._chosen = units, chosen
        self._failing = failing

    @cached_property
    def _leaving(self) -> Ints:
        leaving = np.zeros(len(self._evictable.bound.node), dtype=np.bool_)
        leaving[self._units.pods_of(self._chosen)] = True
        return self._evictable.by_top(leaving)

    def of(self, owner: OwnerOfPods) -> Departure:
        if owner not in self._known:
            self._known[owner] = self._of(owner)
        return self._known[owner]

    def hurried(self, owner: OwnerOfPods) -> Departure:
        """Of a pod that is being deleted: whoever made it knows that it goes, and has acted on that."""
        _, kind, name, _ = owner
        limit = self._evictable.policy.preemption.grace_limit
        words = f"it is being deleted already, with a grace period that is cut to {limit}"
        return Departure(f"{kind} {name}" if kind else "", "delete", True if kind else None, words)

    def _of(self, owner: OwnerOfPods) -> Departure:
        namespace, kind, name, uid = owner
        if not kind:
            return Departure("", "delete", None, "it has no controller, so it is not created again")
        job = self._jobs.get(f"{namespace}/{name}") if kind == "Job" else None
        if job is not None and uid and job.metadata.uid and uid != job.metadata.uid:
            job = None  # another Job has the name by now
        place = self._evictable.top_of.get(owner)
        top = None if place is None else self._evictable.tops[1][place]
        if top is not None and top.suspended:
            return _away_already(top)
        leaves = place is not None and self._leaving[place] == self._evictable.all_by_top[place]
        if top is not None and self._evictable.suspends and leaves:
            return _suspended(top, job)
        if kind != "Job":
            return Departure(f"{kind} {name}", "delete", True, f"{kind} {name} creates it again")
        return self._deleted(name, job, self._failing[owner])

    def _deleted(self, name: str, job: Job | None, leaving: int) -> Departure:
        """Every pod that is deleted counts as a failure, unless the Job says otherwise."""
        if job is None:
            words = f"it counts as a failure of Job {name}, whose backoffLimit is not known here"
            return Departure(f"Job {name}", "delete", None, words)
        action = on_disruption(job)
        if action == "Ignore":
            return Departure(f"Job {name}", "delete", True, f"Job {name} does not count it as a failure")
        if action == "FailJob":
            return Departure(
                f"Job {name}", "delete", False, f"the podFailurePolicy of Job {name} fails the Job"
            )
        if job.spec.backoff_limit_per_index is not None:
            survives = job.spec.backoff_limit_per_index > 0
            words = f"it counts against the backoffLimitPerIndex of Job {name}"
            return Departure(f"Job {name}", "delete", survives, words)
        limit = DEFAULT_BACKOFF_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit
        failed = job.status.failed + leaving
        words = f"Job {name} then has {counted(failed, 'failure')}; its backoffLimit is {limit}"
        return Departure(f"Job {name}", "delete", failed <= limit, words)


def _away_already(top: TopOwner) -> Departure:
    owner = f"{top.name.kind} {top.name.name}"
    words = f"{owner} is suspended already, and creates no pods until it is resumed"
    if top.workload:
        words = f"Workload {top.workload} is not active, so that Kueue stops {owner} already"
    return Departure(owner, "delete", True, words)


def _suspended(top: TopOwner, job: Job | None) -> Departure:
    owner = f"{top.name.kind} {top.name.name}"
    by: Literal["suspend", "deactivate"] = "deactivate" if top.workload else "suspend"
    words = f"{owner} is suspended, and maitred resumes it when it fits again"
    if top.workload:
        words = f"Kueue stops {owner} and queues it again: maitred deactivates its Workload {top.workload}"
    if job is None or on_disruption(job) != "FailJob":
        return Departure(owner, by, True, words)
    # The Job controller looks at pods that fail while they leave, although it does not count them.
    return Departure(
        owner, by, None, f"{words}, unless the podFailurePolicy of Job {job.metadata.name} fails it"
    )


def on_disruption(job: Job) -> str:
    """What its failure policy does about a pod that was disrupted: the action of the first rule for that."""
    policy = job.spec.pod_failure_policy
    rules = policy.get("rules") if isinstance(policy, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        conditions = rule.get("onPodConditions") if isinstance(rule, dict) else None
        for condition in conditions if isinstance(conditions, list) else ():
            said = condition if isinstance(condition, dict) else {}
            if (said.get("type"), said.get("status", "True")) == ("DisruptionTarget", "True"):
                return str(rule.get("action"))
    return "Count"
