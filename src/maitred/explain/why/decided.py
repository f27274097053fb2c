"""The answer for a group with members that wait: what this cycle makes of it, and why."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from maitred.cluster.leaving import stuck_pods
from maitred.cluster.snapshot import GroupView
from maitred.decide.queues.budget_words import AT_ANY_TIME
from maitred.decide.record import TriedGroup
from maitred.decide.screen import waits_for_time_alone
from maitred.explain.cycle import ExplainedCycle
from maitred.explain.empty import blocker_on_empty_cluster
from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import estimate
from maitred.explain.remedies.seeking import Sought, sought_for
from maitred.explain.situation import Situation
from maitred.explain.tables import shares
from maitred.explain.why.answer import Nearest, Placement, State, Waited, Why
from maitred.explain.why.due import due_of_seated, due_of_waiting
from maitred.explain.why.ending import end_of
from maitred.explain.why.lent import lent_words
from maitred.explain.why.names import STAND_IN, Names
from maitred.explain.why.nearest import nearest_to
from maitred.explain.why.owners import failure_of, refusal_of
from maitred.explain.why.preemption import preemption_of
from maitred.explain.why.progress import Progress
from maitred.explain.why.provisioning import node_words
from maitred.explain.why.queue import queue_of
from maitred.explain.why.ranks import ranks_of_decided
from maitred.explain.why.roles import short_roles
from maitred.explain.why.schedulers import Absence, absence
from maitred.explain.why.seated import is_starting, lost_words, placement_of, progress_in
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.objects import Object
from maitred.model.plan import GroupVerdict
from maitred.model.suspending import OWNERS, row_of_suspendable
from maitred.model.suspension import SUSPENDED
from maitred.model.words import counted, moment, printable

LONGEST_LINE = 300
MOST_STUCK = 3
NO_LEDGER = "what it waited for earlier is not known: this answer has no ledger"


def of_decided(situation: Situation, cycle: ExplainedCycle, group: TriedGroup, names: Names) -> Why:
    verdict = cycle.verdict(group.key)
    waits = verdict.verdict != "Scheduled"
    progress = progress_in(situation, group.key, names)
    waited = _waited(situation, group.view) if waits else None
    job = names.job_of(group.key)
    sought = sought_for(situation, group.key)
    absent = absence(names.seen.leases, group.view.pending_schedulers)
    lent = lent_words(situation, group) if verdict.verdict == "Waiting" else ()
    about = (*_unattended(group, verdict, absent), *_refused(group, verdict, names, job), *lent)
    start, remedies = _estimate(situation, group, verdict), () if sought is None else sought.remedies
    rows = names.rows_of(group.key)
    ends = None if waits else end_of(situation, rows)
    return Why(
        group=group.key,
        state=_state(group, verdict, progress, job, absent),
        verdict=verdict.verdict,
        members=verdict.members,
        quorum=verdict.quorum,
        quorum_from=group.view.group.origin,
        placed=verdict.placed,
        leaving=int(np.count_nonzero(situation.snapshot.bound.terminating[rows])),
        priority=None if verdict.verdict == "Invalid" else group.screening.rank.priority,
        placement=_placement(cycle, group, verdict, situation, names),
        parts=cycle.parts(group.key),
        ranks=ranks_of_decided(cycle.snapshot.nodes, cycle.context.levels, group),
        blockers=verdict.blockers,
        on_empty_cluster=(
            blocker_on_empty_cluster(situation.snapshot, cycle.context, group.view)
            if verdict.verdict == "Impossible"
            else None
        ),
        nearest=None if verdict.verdict == "Impossible" else _nearest(cycle, group),
        remedies=remedies,
        queue=queue_of(cycle, group),
        preemption=preemption_of(cycle, group, verdict),
        waited=waited,
        estimate=start,
        progress=progress,
        ends=ends,
        due=(
            due_of_waiting(situation, group.view, start, remedies)
            if waits
            else due_of_seated(situation, rows, ends)
        ),
        notes=(*about, *_notes(situation, cycle, group, waited, job, sought, verdict)),
    )


def _unattended(group: TriedGroup, verdict: GroupVerdict, absent: Absence | None) -> Iterator[str]:
    """Whether a scheduler runs matters to all; that it is not known, to those who would be seated now."""
    if absent is not None and (absent.sure or (verdict.verdict == "Scheduled" and group.seated)):
        yield absent.words


def _refused(group: TriedGroup, verdict: GroupVerdict, names: Names, job: Job | None) -> Iterator[str]:
    """What its controller met with, if there are fewer pods than there should be."""
    created = len(group.view.pods) + len(group.view.running)
    incomplete = any(blocker.category == "Members" for blocker in verdict.blockers)
    if incomplete or (job is not None and created < job.members):
        yield from filter(None, (refusal_of(names, group.key), failure_of(names, group.key)))


def _state(
    group: TriedGroup,
    verdict: GroupVerdict,
    progress: Progress | None,
    job: Job | None,
    absent: Absence | None,
) -> State:
    if verdict.verdict != "Scheduled":
        is_away = (job is not None and job.spec.suspend) or _is_stood_in_for(group)
        return "Suspended" if is_away else "Waiting"
    if group.seated and absent is not None and absent.sure:
        return "Unattended"
    starting = group.seated or (progress is not None and is_starting(progress))
    return "Starting" if starting else "Running"


def _nearest(cycle: ExplainedCycle, group: TriedGroup) -> Nearest | None:
    """For members that wait for a place; who is promised one, or may not start, is not looked at. Of a tree
    as many members are counted as any of its parts would have there; its blockers say which part is short."""
    if group.blocked or group.promised or not group.ask.shapes:
        return None
    return nearest_to(cycle.left(group.key), group.ask, cycle.context)


def _placement(
    cycle: ExplainedCycle, group: TriedGroup, verdict: GroupVerdict, situation: Situation, names: Names
) -> Placement | None:
    running = placement_of(situation, group.view.group, names.rows_of(group.key))
    rows = [row for _, row in sorted(group.seated)]
    if not rows:
        return running
    here = [] if running is None else list(running.nodes)
    nodes = dict.fromkeys([*here, *(cycle.snapshot.nodes.names[row] for row in rows)])
    members = len(rows) + (0 if running is None else running.members)
    return Placement(members, tuple(nodes), verdict.domains, None if running is None else running.since)


def _estimate(situation: Situation, group: TriedGroup, verdict: GroupVerdict) -> Estimate | None:
    screening = group.screening
    barred = screening.problems or not waits_for_time_alone(screening.obstacles)
    return None if barred or verdict.verdict == "Scheduled" else estimate(situation, group.key)


def _waited(situation: Situation, view: GroupView) -> Waited | None:
    since, history = min(created for _, created, _ in view.orders), situation.history
    if not math.isfinite(since):
        return None
    by = history.waits.get(view.group.key, {})
    # What waited before under this name is recorded too: the wait is as long as all that is told of it.
    seconds = max(situation.now.timestamp() - since, sum(by.values()), 0.0)
    return Waited(
        since=moment(int(situation.now.timestamp() - seconds)),
        seconds=seconds,
        by=dict(sorted(by.items(), key=lambda one: (-one[1], one[0]))),
        unknown=seconds - sum(by.values()),
        known_since=None if history.since is None else moment(int(history.since)),
    )


def _notes(
    situation: Situation,
    cycle: ExplainedCycle,
    group: TriedGroup,
    waited: Waited | None,
    job: Job | None,
    sought: Sought | None,
    verdict: GroupVerdict,
) -> Iterator[str]:
    if sum(other.key == group.key for other in cycle.groups) > 1:
        yield "another group has the same name, declared in another way; this answer is about the first"
    if group.view.overruled:
        yield group.view.overruled
    away = job if job is not None and job.spec.suspend else _owner_away(situation, group)
    if away is not None:
        yield suspension_words(away)
    if _is_stood_in_for(group):
        kind = "owner" if away is None else row_of(type(away)).name
        yield f"its pods do not exist while its {kind} is suspended; it keeps its place in the queue"
    if group.reserved:
        rooms = Counter(cycle.snapshot.nodes.names[row] for _, row in group.reserved)
        pods = counted(rooms.total(), "pod")
        yield f"room is kept for {pods} that {group.view.owned_by} creates next: {shares(rooms, 'node')}"
    if group.ask.scavenges and group.seated:
        yield f"it runs without paying, because no budget of its queue pays for it: {AT_ANY_TIME}"
    if group.ask.shapes and not group.seated and (short := short_roles(cycle, group)):
        yield short
    if cycle.decided.search_exhausted:
        yield "the search stopped at its limit, policy.search.steps; a higher limit may find more"
    if sought is not None:
        yield from sought.untried
    yield from node_words(situation, group.view, verdict)
    if waited is not None and waited.known_since is None:
        yield NO_LEDGER
    yield from lost_words(situation, [member.node for member in group.view.running])
    yield from _stuck_words(situation)


def _is_stood_in_for(group: TriedGroup) -> bool:
    return any(STAND_IN in pod for pod in group.view.pods)


def _owner_away(situation: Situation, group: TriedGroup) -> Object | None:
    """The suspended owner whose pods are stood in for. What it would make anew is called by its name too."""
    if not _is_stood_in_for(group):
        return None
    names = {pod.partition(STAND_IN)[0] for pod in group.view.pods if STAND_IN in pod}
    found = ((row, situation.snapshot.find(row.type, name)) for name in sorted(names) for row in OWNERS)
    return next((one for row, one in found if one is not None and row.is_suspended(one)), None)


def _stuck_words(situation: Situation) -> Iterator[str]:
    """Pods whose room nobody gets, though they were told to go."""
    bound, nodes = situation.snapshot.bound, situation.snapshot.nodes
    rows = np.flatnonzero(stuck_pods(situation.snapshot, round(situation.now.timestamp() * 1000)))
    names = sorted(f"{bound.occupants[row].key} on {nodes.names[bound.node[row]]}" for row in rows)
    if names:
        more = f" and {len(names) - MOST_STUCK} more" if len(names) > MOST_STUCK else ""
        have = "has" if len(names) == 1 else "have"
        told = ", ".join(names[:MOST_STUCK])
        yield f"{told}{more} should be gone and {have} not left: check the node and the pod's finalizers"


def suspension_words(one: Object) -> str:
    """What stands on it, as a quotation: anyone who may write to the owner may have written that."""
    row = row_of_suspendable(type(one))
    who, line = f"{row_of(type(one)).name} {one.metadata.name}", one.metadata.annotations.get(SUSPENDED)
    if line is None:
        field = "spec.suspend" if row is None else row.field
        return f"{who} is suspended, and not by maitred: resume it with {field}: false"
    return f"{who} is suspended; its annotation {SUSPENDED} says: {printable(line[:LONGEST_LINE])}"
