"""Of a JobSet that is one gang: which of its replicated jobs are short of members."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from maitred.cluster.snapshot import GroupView
from maitred.decide.attempt import attempt
from maitred.decide.record import TriedGroup
from maitred.explain.cycle import ExplainedCycle
from maitred.model.operators.jobset import JobSet

FEW_STEPS = 2_000


def short_roles(cycle: ExplainedCycle, group: TriedGroup) -> str:
    """In words: what each replicated job would have with as many members as fit now, or has of those that
    were created. Nothing where there is only one, or where all have what they need."""
    needed = _needed(cycle, group.view)
    if len(needed) < 2:
        return ""
    if group.blocked:
        there, how = [*group.view.pods], "of the pods that were created"
    else:
        there, how = _seated_as_far(cycle, group), "with as many members as fit now"
    have = Counter(_role(name, needed) for name in (*there, *_running(group.view)))
    short = [f"{role} has {have[role]} of {count}" for role, count in needed.items() if have[role] < count]
    return f"{how}, replicated job {', '.join(short)}" if short else ""


def _needed(cycle: ExplainedCycle, view: GroupView) -> dict[str, int]:
    """By the beginnings of the names of their pods."""
    found = cycle.snapshot.find(JobSet, view.group.key)
    if found is None or view.tree is not None:
        return {}
    jobs = found.spec.replicated_jobs
    return {job.name: job.replicas * job.template.spec.pods for job in jobs if job.template.spec.pods}


def _seated_as_far(cycle: ExplainedCycle, group: TriedGroup) -> list[str]:
    ask = replace(group.ask, need=1)
    found = attempt(cycle.left(group.key), ask, cycle.context, cycle.context.steps(FEW_STEPS)) or []
    return [group.view.pods[group.waiting[member]] for member, _ in found]


def _running(view: GroupView) -> Iterable[str]:
    space = view.group.key.partition("/")[0]
    return (f"{space}/{member.order[2]}" for member in view.running)


def _role(pod: str, needed: Iterable[str]) -> str:
    """The pods of Job 2 of replicated job `worker` of JobSet `train` are called `train-worker-2-...`."""
    parts = pod.partition("/")[2].split("-")
    return max((role for role in needed if _has(parts, role.split("-"))), key=len, default="")


def _has(parts: list[str], role: list[str]) -> bool:
    places = range(1, len(parts) - len(role))
    return any(parts[place : place + len(role)] == role for place in places)
