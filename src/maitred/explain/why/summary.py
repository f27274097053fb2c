"""The answer in one sentence: what a person wants to know first."""

from maitred.explain.why.answer import Nearest, Why
from maitred.explain.why.progress import Progress, Slow
from maitred.model.plan import Blocker
from maitred.model.words import counted
from maitred.simulate.report.amounts import duration


def summary_of(answer: Why) -> str:
    if answer.workload is not None:
        return f"{answer.workload}: {_loose(answer)}"
    return f"{answer.group} {_predicate(answer)}"


def _loose(answer: Why) -> str:
    """Of pods that are decided one by one."""
    have = f"{answer.placed} of {counted(answer.members, 'pod')} {_have(answer.placed)}"
    match answer.state:
        case "Waiting" | "Suspended":
            return f"{have}, each decided by itself; the next one {_predicate(answer)}"
        case "Starting" | "Running":
            progress = f"; {progress_words(answer.progress)}" if answer.progress is not None else ""
            return f"{have}{_in(answer)}, each decided by itself{progress}{_taken(answer)}"
        case "Finished" | "Failed" | "Elsewhere" | "Unattended" | "NoPods":
            return _predicate(answer)


def _have(count: int) -> str:
    return "is placed" if count == 1 else "are placed"


def lasting(seconds: float) -> str:
    """`11 min`, `3.2 h`."""
    return duration(max(seconds, 0.0)).replace(".0 ", " ")


def _predicate(answer: Why) -> str:
    match answer.state:
        case "Waiting":
            return _waiting(answer)
        case "Suspended":
            return (
                f"is suspended: {answer.notes[0]}"
                if not answer.blockers
                else f"is suspended, and {_waiting(answer)}"
            )
        case "Starting" | "Running":
            return _seated(answer)
        case "Finished" | "Failed":
            return _over(answer)
        case "Elsewhere":
            return f"belongs to another scheduler: {answer.notes[0]}"
        case "Unattended":
            return f"fits now, but {answer.notes[0]}"
        case "NoPods":
            return f"has no pods to schedule: {answer.notes[0]}"


def _waiting(answer: Why) -> str:
    first = answer.blockers[0]
    if answer.verdict == "Invalid":
        return f"is not valid: {first.message}"
    if answer.verdict == "Impossible":
        proof = answer.on_empty_cluster or first
        return f"can never start as it is written, not even on an empty cluster: {_because(proof, None)}"
    if answer.verdict == "Preempting" and answer.preemption is not None:
        return answer.preemption.words
    return f"waits: {_because(first, answer.nearest)}"


def _because(blocker: Blocker, nearest: Nearest | None) -> str:
    """A required level is told by how far the best domain is from enough."""
    if blocker.category != "Topology" or nearest is None or nearest.level is None or not nearest.places:
        return blocker.message
    best = nearest.places[0]
    if not best.holds or best.holds >= nearest.needed:
        return blocker.message
    short = counted(nearest.needed - best.holds, "more member")
    where = f"{best.name} with room for {best.holds} of {nearest.needed}"
    return f"it needs room for {short} in one {nearest.level}; the best is {where}{_lack(best.why)}"


def _lack(why: str) -> str:
    return f", where {why}" if why else ""


def _seated(answer: Why) -> str:
    if answer.verdict is None:
        return _broken(answer)
    if answer.progress is not None and (answer.progress.slow or answer.state == "Running"):
        return f"{_where(answer)}: {progress_words(answer.progress)}{_late(answer)}"
    if answer.state == "Starting":
        places = "is placed" if answer.placed == 1 else "are placed"
        placed = counted(answer.placed, "part" if answer.parts else "member")
        return f"fits now: {placed} {places}{_in(answer)}{_late(answer)}"
    return f"{_where(answer)}: {answer.placed} of {answer.members} placed{_late(answer)}"


def _broken(answer: Why) -> str:
    missing = answer.quorum - answer.placed
    leaving = min(answer.leaving, missing)
    parts = [f"{answer.placed} of its quorum of {answer.quorum} {'runs' if answer.placed == 1 else 'run'}"]
    if leaving:
        parts.append(f"{leaving} {'is' if leaving == 1 else 'are'} terminating")
    slow = () if answer.progress is None else answer.progress.slow
    lost = min(sum(one.members for one in slow if one.cause == "Lost"), missing - leaving)
    if lost:
        parts.append(
            f"{lost} {'is' if lost == 1 else 'are'} lost with {'its node' if lost == 1 else 'their nodes'}"
        )
    missing -= lost
    if missing > leaving:
        parts.append(f"{missing - leaving} {'is' if missing - leaving == 1 else 'are'} missing")
    return f"is broken: {', '.join(parts)}"


def _where(answer: Why) -> str:
    return f"{'is starting' if answer.state == 'Starting' else 'runs'}{_in(answer)}"


def _in(answer: Why) -> str:
    placement = answer.placement
    if placement is None:
        return ""
    if placement.domains:
        level, domain = list(placement.domains.items())[-1]
        return f" in {level} {domain}"
    nodes = placement.nodes
    return f" on {nodes[0]}" if len(nodes) == 1 else f" on {counted(len(nodes), 'node')}"


def _late(answer: Why) -> str:
    """Members beyond the quorum that wait although the group runs; and who takes its places."""
    late = f"; the other members wait: {answer.blockers[0].message}" if answer.blockers else ""
    return f"{late}{_taken(answer)}"


def _taken(answer: Why) -> str:
    """By the current plan; what others might do is in the table."""
    losing = answer.yields
    return "" if losing is None or losing.to is None else f"; {losing.words}"


def progress_words(progress: Progress) -> str:
    """`62 of 64 Ready; r3-n02 pulling 38 GB for 11 min`."""
    return "; ".join([ready_words(progress), *(slow_words(slow) for slow in progress.slow[:1])])


def ready_words(progress: Progress) -> str:
    parts = [f"{progress.ready} of {progress.members} Ready"]
    if progress.succeeded:
        parts.append(f"{progress.succeeded} succeeded")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    return ", ".join(parts)


def slow_words(slow: Slow) -> str:
    age = "" if slow.seconds is None else f" for {lasting(slow.seconds)}"
    others = f" ({slow.members - 1} more like it)" if slow.members > 1 else ""
    return f"{slow.node or slow.pod} {slow.words}{age}{others}"


def _over(answer: Why) -> str:
    progress = answer.progress
    if progress is None:
        return f"is over: {answer.notes[0]}"
    when = f", the last at {progress.last_change}" if progress.last_change else ""
    if answer.state == "Finished" and progress.members < answer.quorum:
        needed = f"{progress.succeeded} of the {answer.quorum} members that it needs succeeded"
        return f"has finished: {needed}{when}; the others are gone"
    if answer.state == "Finished":
        return f"has finished: {progress.succeeded} of {counted(progress.members, 'member')} succeeded{when}"
    slow = next(iter(progress.slow), None)
    first = f"; {slow.pod}{f' on {slow.node}' if slow.node else ''} {slow.words}" if slow else ""
    return f"has failed: {progress.failed} of {counted(progress.members, 'member')} failed{when}{first}"
