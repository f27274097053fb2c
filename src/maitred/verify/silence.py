"""Law 7: every group that is not scheduled is told why, and what it is told is true."""

from collections.abc import Iterator

from .case import Breach, Case, breach, shown
from .drains import moving_alone
from .fields import Doc
from .groups import Group
from .holds import crowded
from .models import by_model
from .numbers import Measure, judge_numbers
from .planned import is_held_up
from .rights import is_bounded
from .turns import comes_after
from .whole import place_whole

VERDICTS = frozenset({"Scheduled", "Preempting", "Waiting", "Impossible", "Invalid"})
ROOM = frozenset({"Capacity", "Fragmentation", "Topology", "Health", "Affinity", "Volume", "Priority"})
# Reasons to wait that room alone does not answer.
NOT_ABOUT_ROOM = frozenset({"Devices", "Quota", "Budget", "Reservation", "Backoff", "Request"})
CATEGORIES = frozenset({"Members", "Gated"}) | ROOM | NOT_ABOUT_ROOM


def judge_silence(case: Case) -> Iterator[Breach]:
    named: dict[str, list[Group]] = {}
    for group in case.groups:
        named.setdefault(group.key, []).append(group)
    for key, entries in sorted(case.entries.items()):
        allowed = [group for group in named.get(key, []) if case.allowed(group)]
        if not allowed:
            yield breach(7, key, "the Plan names it, but it has no member to decide")
        elif len(entries) > len(allowed):
            yield breach(7, key, f"the Plan names it {len(entries)} times")
        elif len(entries) == len(allowed) == 1:
            yield from _judge_entry(case, allowed[0], entries[0])
    for key, groups in sorted(named.items()):
        if len(case.entries.get(key, [])) < sum(case.due(group) for group in groups):
            yield breach(7, key, "has a member to decide, but the Plan does not name it")


def _judge_entry(case: Case, group: Group, entry: Doc) -> Iterator[Breach]:
    verdict, blockers = entry.text("verdict"), entry.docs("blockers")
    if verdict not in VERDICTS:
        yield breach(7, group.key, f"{verdict!r} is not a verdict")
        return
    left = group.created - case.placed(group)
    if not blockers and verdict != "Scheduled":
        yield breach(7, group.key, f"{verdict} without a blocker")
    if not blockers and verdict == "Scheduled" and left > 0:
        yield breach(7, group.key, f"Scheduled, but no blocker explains the {left} members that wait")
    for blocker in blockers:
        category = blocker.text("category")
        if category not in CATEGORIES:
            yield breach(7, group.key, f"{category!r} is not a category of blockers")
        if not blocker.text("message").strip():
            yield breach(7, group.key, f"{category} without a message")
    if verdict == "Scheduled":
        yield from _judge_domains(case, group, entry)
    if verdict != "Invalid" and not group.problems and not group.missing and not case.is_vague(group):
        measure = Measure(case, group, verdict)
        for number, blocker in enumerate(blockers):
            for problem in judge_numbers(measure, blocker, first=number == 0):
                yield breach(7, group.key, f"{blocker.text('category')}: {problem}")
    yield from _judge_first(case, group, verdict, entry)


def _judge_domains(case: Case, group: Group, entry: Doc) -> Iterator[Breach]:
    """The domains that a seated group is said to be in must be those of its members."""
    for level, domain in entry.strings("domains").items():
        key = case.policy.level(level)
        for pod, node in case.seats(group):
            if node.labels.get(key) != domain:
                said = f"the Plan says that it is in {level} {domain}"
                yield breach(7, group.key, f"{said}, but {pod.key} is on {node.name}")


def _judge_first(case: Case, group: Group, verdict: str, entry: Doc) -> Iterator[Breach]:
    """What comes first among the blockers of a waiting group, and whether it has to wait at all."""
    categories = [blocker.text("category") for blocker in entry.docs("blockers")]
    if verdict not in ("Waiting", "Preempting") or group.problems or not categories or group.may_be_early:
        return
    if group.missing or group.short:
        if categories[0] != "Members":
            yield breach(7, group.key, f"its first blocker is {categories[0]}, should be Members")
    elif group.barred:
        if categories[0] != "Gated":
            yield breach(7, group.key, f"its first blocker is {categories[0]}, should be Gated")
    elif not NOT_ABOUT_ROOM.intersection(categories) and not is_held_up(case, group, entry):
        seats = _seats_left(case, group)
        if seats is not None:
            yield breach(7, group.key, f"{verdict}, but its quorum fits: {shown(seats)}")


def _seats_left(case: Case, group: Group) -> dict[str, str] | None:
    """Seats for the missing quorum in what the Plan leaves over, if a search finds any.

    What is promised to others is theirs. Not asked where the Plan says that it gave up, where the binds of
    later groups may have opened a place that was closed when this one was decided, and where a pod on its own
    has moved ahead of it: where to, the Plan does not say.
    """
    needed = group.needed
    pods = (*group.pending, *case.links.coming(group))
    moving = any(pod.affinity or pod.spreads or pod.wants_devices for pod in pods)
    unknown = any(pod.node_name not in case.cluster.nodes for pod in group.staying)
    link = case.links.of(group)
    if needed is None or needed <= 0 or moving or unknown or case.exhausted or case.is_vague(group):
        return None
    if is_bounded(case, group) or any(not comes_after(case, one, group) for one in moving_alone(case)):
        return None
    world = crowded(case, group, leaving=True)
    before = [] if link is None else link.before
    anchors = [seat for one in before for seat in case.staying(one)]
    for nodes in by_model(case, group, case.open_to(group)):
        seats = place_whole(world, group, link, group.pending, needed, nodes, case.seats(group), anchors)
        if seats is not None:
            return {pod: node.name for pod, node in seats.items()}
    return None
