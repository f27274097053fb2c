"""The answer for a group whose members all have their places: where they are, and how far they have got."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.leaving import lost_nodes
from maitred.cluster.nodes import NodeView
from maitred.cluster.snapshot import UNKNOWN_TIME
from maitred.decide.levels import known_levels, shared_domains
from maitred.decide.preemption.evictable import NOT_KNOWN, EvictablePods
from maitred.decide.queues.budget_words import AT_ANY_TIME
from maitred.explain.healing import slow_words
from maitred.explain.situation import Situation
from maitred.explain.why.answer import Placement, Why
from maitred.explain.why.due import due_of_seated
from maitred.explain.why.ending import end_of
from maitred.explain.why.names import Names
from maitred.explain.why.parts import running_tree
from maitred.explain.why.progress import ImageSizes, Progress, is_told, progress_of
from maitred.explain.why.ranks import ranks_of_seated
from maitred.model.group import Group
from maitred.model.health.tables import TAINTS
from maitred.model.words import counted, moment

NAMES_SHOWN = 5
NOTHING_SEEN_OF_IT = "the progress of its containers is not known: the status of its pods was not read"


def of_seated(situation: Situation, key: str, names: Names) -> Why:
    bound, rows = situation.snapshot.bound, names.rows_of(key)
    seated = situation.snapshot.seated[names.seated[key][0]] if key in names.seated else None
    group = Group(key) if seated is None else seated.group
    tree = running_tree(situation.snapshot, key)
    staying = int(np.count_nonzero(~bound.terminating[rows]))
    away = lost_nodes(situation.snapshot)[bound.node[rows]] & ~bound.terminating[rows]
    placed = (staying if seated is None else seated.counted) - int(np.count_nonzero(away))
    progress = progress_in(situation, key, names)
    unready, ends = progress is not None and is_starting(progress), end_of(situation, rows)
    members, quorum = max(len(rows), len(names.seen_members.get(key, ()))), group.quorum
    if tree:
        group = Group(key, origin=f"CompositePodGroup {key}")
        members, quorum, placed = tree[0].members, tree[0].quorum, tree[0].placed
    return Why(
        group=key,
        state="Starting" if unready and staying else "Running",
        verdict="Scheduled" if placed >= quorum else None,
        members=members,
        quorum=quorum,
        quorum_from=group.origin,
        placed=placed,
        parts=tree[1:],
        leaving=len(rows) - staying,
        priority=priority_of(situation, rows),
        placement=placement_of(situation, group, rows),
        ranks=ranks_of_seated(situation.snapshot, situation.policy, group, rows),
        progress=progress,
        ends=ends,
        due=due_of_seated(situation, rows, ends),
        notes=(
            *unpaid_words(situation, rows),
            *slow_words(situation, key),
            *lost_words(situation, bound.node[rows[~bound.terminating[rows]]].tolist()),
            *(() if progress is not None else (NOTHING_SEEN_OF_IT,)),
        ),
    )


def unpaid_words(situation: Situation, rows: Rows) -> Iterator[str]:
    """That it may have to leave at any time, if it does not pay for what it has."""
    book = situation.snapshot.book
    if book is not None and book.scavenges[rows].any():
        why = "because the budget of its queue was spent when it started"
        yield f"it runs without paying, {why}: {AT_ANY_TIME}"


def placement_of(situation: Situation, group: Group, rows: Rows) -> Placement | None:
    """Where the members in these rows are; those that are leaving, or lost with their nodes, are not
    counted."""
    snapshot = situation.snapshot
    away = snapshot.bound.terminating[rows] | lost_nodes(snapshot)[snapshot.bound.node[rows]]
    staying = rows[~away]
    if not len(staying):
        return None
    nodes = snapshot.bound.node[staying].tolist()
    started = snapshot.bound.started[staying]
    known = started[started != UNKNOWN_TIME]
    return Placement(
        members=len(staying),
        nodes=tuple(sorted({snapshot.nodes.names[row] for row in nodes})),
        domains=shared_domains(
            snapshot.nodes, known_levels(situation.policy, snapshot), group.topology, nodes
        ),
        since=moment(int(known.min()) // 1000) if len(known) else None,
    )


def priority_of(situation: Situation, rows: Rows) -> int | None:
    evictable = EvictablePods(situation.snapshot, situation.policy, int(situation.now.timestamp() * 1000))
    found = int(evictable.priority[rows[0]])
    return None if found == NOT_KNOWN else found


def progress_in(situation: Situation, key: str, names: Names) -> Progress | None:
    """None if nothing was seen of its members, or none has a place."""
    pods = [pod for pod in names.seen_members.get(key, ()) if pod.spec.node_name]
    if not any(map(is_told, pods)):
        return None
    images = ImageSizes(situation.snapshot.nodes.images)
    return progress_of(pods, names.seen, images, situation.now, situation.once(lost_in))


def lost_in(situation: Situation) -> dict[str, str]:
    """Nodes of whose pods nothing is known, and why not."""
    nodes, lost = situation.snapshot.nodes, np.flatnonzero(lost_nodes(situation.snapshot)).tolist()
    return {nodes.names[row]: _how_lost(nodes, row) for row in lost}


def _how_lost(nodes: NodeView, row: int) -> str:
    """As `health` says it. Of several taints, the first that it lists."""
    if not nodes.alive[row]:
        return "is gone"
    keys = {taint.key for taint in nodes.taint_sets[nodes.taint_ids[row]]}
    return next(one.words for one in TAINTS if one.key in keys)


def lost_words(situation: Situation, rows: list[int]) -> Iterator[str]:
    """Members on nodes of which nothing is heard: they are not counted as running."""
    lost = lost_in(situation)
    nodes = Counter(situation.snapshot.nodes.names[row] for row in rows)
    found = {name: count for name, count in nodes.items() if name in lost}
    if found:
        count = sum(found.values())
        names = ", ".join(f"{name} {lost[name]}" for name in sorted(found)[:NAMES_SHOWN])
        more = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
        are = "is" if count == 1 else "are"
        yield f"{counted(count, 'member')} {are} on nodes that are lost: {names}{more}"


def is_starting(progress: Progress) -> bool:
    """Whether any member has yet to begin: who leaves, has failed or is lost with its node began before."""
    return any(slow.cause not in ("Failed", "Leaving", "Stuck", "Lost") for slow in progress.slow)
