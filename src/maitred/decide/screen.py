"""Before a group is decided: is it valid, is it there, may it start?"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from maitred.cluster.parts import Branch, Parts
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.context import Context
from maitred.decide.levels import position_of
from maitred.decide.queues.naming import queue_problems
from maitred.model.group import TOPOLOGY_REQUIRED, TopologyRequest, stated_priority
from maitred.model.meta import Lean
from maitred.model.plan import Blocker, Detail
from maitred.model.priority import Rank, rank_of
from maitred.model.timing import NOT_BEFORE
from maitred.model.words import counted, moment

NAMES_SHOWN = 5
MISSING = {"PodGroup": "podGroup", "CompositePodGroup": "compositePodGroup", "Job": "job"}
"""What the detail of a blocker calls the object that a group comes from; others are owners."""


class Screening(Lean, frozen=True):
    """What is known of a group before any node is looked at."""

    rank: Rank
    problems: tuple[str, ...] = ()
    """Why it is Invalid, if it is."""
    obstacles: tuple[Blocker, ...] = ()
    """Why none of its members may be seated yet."""


def screen(view: GroupView, snapshot: Snapshot, context: Context, now: datetime) -> Screening:
    rank, of_ranks = _rank(view, snapshot)
    problems = (
        *of_ranks,
        *view.group.problems,
        *_policy_problems(view, snapshot),
        *_scheduler_problems(view),
        *queue_problems(view, snapshot, rank),
        *_level_problems(view.group.topology, context),
        *_problems_of_parts(view.parts, context),
    )
    obstacles = tuple(_obstacles(view, now)) if not problems else ()
    return Screening(rank, problems, obstacles)


def waits_for_time_alone(obstacles: Sequence[Blocker]) -> bool:
    """Whether nothing but its own time keeps a group from being tried; also where nothing does."""
    return all("notBefore" in one.detail for one in obstacles)


def invalid_blocker(problem: str) -> Blocker:
    return Blocker("Request", problem, {"problem": problem})


def _obstacles(view: GroupView, now: datetime) -> Iterable[Blocker]:
    group, created = view.group, len(view.running) + view.succeeded + len(view.pods)
    if not group.exists:
        kind = MISSING.get(group.origin.partition(" ")[0], "owner")
        yield Blocker(
            "Members",
            f"{group.origin} does not exist, but {created} of its pods do",
            {kind: group.key, "created": created},
        )
    elif view.parts is not None:
        yield from _parts_missing(view.parts)
    elif created < group.quorum:
        yield Blocker(
            "Members",
            f"the group needs {counted(group.quorum, 'member')} to start, and only {created} "
            f"{'has' if created == 1 else 'have'} been created",
            {"created": created, "quorum": group.quorum},
        )
    if any(view.gates):
        gated = [(pod, gates) for pod, gates in zip(view.pods, view.gates, strict=True) if gates]
        names = sorted({gate for _, gates in gated for gate in gates})
        yield Blocker(
            "Gated",
            f"{len(gated)} of {len(view.pods)} waiting members have scheduling gates: {', '.join(names)}",
            {"gated": len(gated), "gates": names, "pods": [pod for pod, _ in gated[:NAMES_SHOWN]]},
        )
    first = view.runtime.stay.timing.not_before
    if first is not None and first > now.timestamp() * 1000:
        at = moment(-(-first // 1000))
        yield Blocker(
            "Gated",
            f"it is not to start before {at}, as its {NOT_BEFORE} says; to start it sooner, write an earlier "
            "time there, or take it out",
            {"notBefore": at},
        )


def _parts_missing(parts: Parts) -> Iterable[Blocker]:
    """A tree whose quorum could not be met if all members that were created had seats."""
    root, created = parts.root, parts.possible()
    if root.met(created):
        return
    complete = root.counted(created)
    short = short_parts(root, created)
    yield Blocker(
        "Members",
        f"the tree needs {counted(root.quorum, 'part')} with all their members to start, and "
        f"{complete or 'none'} of {len(root.children)} can be complete: {short_words(short)}",
        {"created": complete, "quorum": root.quorum, "parts": short[:NAMES_SHOWN]},
    )


def short_parts(branch: Branch, have: Sequence[int], top: bool = True) -> list[Detail]:
    """Parts of a tree that lack something, from the top down: what they have, and what they need."""
    if branch.met(have) and not top:
        return []
    own = [] if top else [{"part": branch.key, "has": branch.counted(have), "needs": branch.quorum}]
    return own + [one for child in branch.children for one in short_parts(child, have, top=False)]


def short_words(parts: Sequence[Detail]) -> str:
    """`ml/a has 3 of 4, ml/b has 0 of 2`."""
    if not parts:
        return "there are no other parts"
    named = [f"{one['part']} has {one['has']} of {one['needs']}" for one in parts[:NAMES_SHOWN]]
    more = [f"{len(parts) - NAMES_SHOWN} more are short"] if len(parts) > NAMES_SHOWN else []
    return ", ".join([*named, *more])


def _rank(view: GroupView, snapshot: Snapshot) -> tuple[Rank, list[str]]:
    """The rank of the group; pods and group must agree on it."""
    classes = snapshot.priority_classes
    ranks, problems = _member_ranks(view, snapshot)
    if len(ranks) > 1:
        problems += _differences(ranks)
    members = max(ranks, key=lambda rank: rank.priority, default=Rank(0))
    group = view.group
    stated = stated_priority(group, classes)
    if stated is None:
        return members, problems
    own = rank_of(*stated, group.preemption_policy, classes)
    if own is None:
        return members, [*problems, f"priority class {group.priority_class_name} does not exist"]
    if not group.preemption_policy and any(rank.preemption_policy == "Never" for rank in ranks):
        own = Rank(own.priority, "Never")  # what the group leaves open, its members say
    priorities = {rank.priority for rank in ranks}
    if ranks and priorities != {own.priority}:
        found = ", ".join(map(str, sorted(priorities)))
        problems.append(f"the group has priority {own.priority}, its members {found}; they must agree")
    return own, problems


def _differences(ranks: set[Rank]) -> Iterator[str]:
    """Where members do not agree."""
    priorities = sorted({rank.priority for rank in ranks})
    if len(priorities) > 1:
        yield f"members have different priorities: {', '.join(map(str, priorities))}"
    policies = sorted({rank.preemption_policy for rank in ranks})
    if len(policies) > 1:
        yield f"members have different preemption policies: {', '.join(policies)}"


def _member_ranks(view: GroupView, snapshot: Snapshot) -> tuple[set[Rank], list[str]]:
    """The ranks that members have, and the priority classes that they name in vain."""
    ranks, problems = set[Rank](), list[str]()
    classes = snapshot.priority_classes
    for member in view.ranks:
        rank = rank_of(member.priority, member.class_name, member.preemption_policy, classes)
        if rank is None:
            problems.append(f"priority class {member.class_name} does not exist")
        else:
            ranks.add(rank)
    return ranks, problems


def _policy_problems(view: GroupView, snapshot: Snapshot) -> Iterable[str]:
    """A group that says whether it may preempt must say the same as its members."""
    own = view.group.preemption_policy
    if not own:
        return
    policies = sorted({rank.preemption_policy for rank in _member_ranks(view, snapshot)[0]})
    if policies and policies != [own]:
        yield f"the group has preemption policy {own}, its members {', '.join(policies)}; they must agree"


def _scheduler_problems(view: GroupView) -> Iterable[str]:
    if len(view.schedulers) > 1:
        yield f"members name different schedulers: {', '.join(view.schedulers)}"


def _problems_of_parts(parts: Parts | None, context: Context) -> Iterable[str]:
    for branch, parent in () if parts is None else parts.root.walk():
        if parent:
            yield from (f"{branch.key}: {problem}" for problem in _level_problems(branch.topology, context))


def _level_problems(request: TopologyRequest, context: Context) -> Iterable[str]:
    """Levels that contradict each other, as far as the order of levels is known."""
    if request.annotated and context.key(request.annotated) != context.key(request.required):
        yield (
            f"{TOPOLOGY_REQUIRED}, or what another scheduler calls it, is {request.annotated}, and the group "
            f"is declared to require {request.required}; remove one of the two"
        )
    if not context.policy.topology.levels:
        return
    required = position_of(context.key(request.required), context.levels) if request.required else None
    cut = position_of(context.key(request.slice_level), context.levels) if request.slice_level else None
    if required is not None and cut is not None and cut < required:
        yield f"slice level {request.slice_level} is wider than the required level {request.required}"
    places = [position_of(context.key(level), context.levels) for level in request.preferred]
    known = [place for place in places if place is not None]
    if known != sorted(known, reverse=True):
        yield f"preferred levels must go from narrow to wide: {', '.join(request.preferred)}"
    if required is not None and any(place < required for place in known):
        yield f"a preferred level is wider than the required level {request.required}"
