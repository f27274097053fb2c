"""The answer for a group whose members all have their places: where they are, and how far they have got."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import UNKNOWN_TIME
from maitred.decide.levels import known_levels, shared_domains
from maitred.decide.preemption.roster import NOT_KNOWN, Roster
from maitred.explain.forecast.ends import lost_nodes
from maitred.explain.scene import Scene
from maitred.explain.why.answer import Placement, Why
from maitred.explain.why.names import Names
from maitred.explain.why.progress import ImageSizes, Progress, is_told, progress_of
from maitred.model.group import Group
from maitred.model.words import counted, moment

NAMES_SHOWN = 5
NOTHING_SEEN_OF_IT = "the progress of its containers is not known: the status of its pods was not read"


def of_seated(scene: Scene, key: str, names: Names) -> Why:
    bound, rows = scene.snapshot.bound, names.rows_of(key)
    seated = scene.snapshot.seated[names.seated[key]] if key in names.seated else None
    group = Group(key) if seated is None else seated.group
    staying = int(np.count_nonzero(~bound.terminating[rows]))
    away = lost_nodes(scene.snapshot)[bound.node[rows]] & ~bound.terminating[rows]
    placed = (staying if seated is None else seated.counted) - int(np.count_nonzero(away))
    progress = progress_in(scene, key, names)
    unready = progress is not None and is_starting(progress)
    return Why(
        group=key,
        state="Starting" if unready and staying else "Running",
        verdict="Scheduled" if placed >= group.quorum else None,
        members=max(len(rows), len(names.seen_members.get(key, ()))),
        quorum=group.quorum,
        placed=placed,
        leaving=len(rows) - staying,
        priority=priority_of(scene, rows),
        placement=placement_of(scene, group, rows),
        progress=progress,
        notes=(
            *lost_words(scene, bound.node[rows[~bound.terminating[rows]]].tolist()),
            *(() if progress is not None else (NOTHING_SEEN_OF_IT,)),
        ),
    )


def placement_of(scene: Scene, group: Group, rows: Rows) -> Placement | None:
    """Where the members in these rows are; those that are leaving, or lost with their nodes, are not
    counted."""
    snapshot = scene.snapshot
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
        domains=shared_domains(snapshot.nodes, known_levels(scene.policy, snapshot), group.topology, nodes),
        since=moment(int(known.min()) // 1000) if len(known) else None,
    )


def priority_of(scene: Scene, rows: Rows) -> int | None:
    roster = Roster(scene.snapshot, scene.policy, int(scene.now.timestamp() * 1000))
    found = int(roster.priority[rows[0]])
    return None if found == NOT_KNOWN else found


def progress_in(scene: Scene, key: str, names: Names) -> Progress | None:
    """None if nothing was seen of its members, or none has a place."""
    pods = [pod for pod in names.seen_members.get(key, ()) if pod.spec.node_name]
    if not any(map(is_told, pods)):
        return None
    images = ImageSizes(scene.snapshot.nodes.images)
    return progress_of(pods, names.seen, images, scene.now, scene.once(lost_in))


def lost_in(scene: Scene) -> dict[str, str]:
    """Nodes of whose pods nothing is known, and why not."""
    nodes = scene.snapshot.nodes
    found = ((nodes.names[row], bool(nodes.alive[row])) for row in np.flatnonzero(lost_nodes(scene.snapshot)))
    return {name: "is not Ready" if alive else "is gone" for name, alive in found}


def lost_words(scene: Scene, rows: list[int]) -> Iterator[str]:
    """Members on nodes of which nothing is heard: they are not counted as running."""
    lost = lost_in(scene)
    nodes = Counter(scene.snapshot.nodes.names[row] for row in rows)
    found = {name: count for name, count in nodes.items() if name in lost}
    if found:
        count = sum(found.values())
        names = ", ".join(f"{name} {lost[name]}" for name in sorted(found)[:NAMES_SHOWN])
        more = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
        are = "is" if count == 1 else "are"
        yield f"{counted(count, 'member')} {are} on nodes that are lost: {names}{more}"


def is_starting(progress: Progress) -> bool:
    """Whether any member has yet to begin: who leaves, or is lost with its node, has begun before."""
    return any(slow.cause not in ("Leaving", "Stuck", "Lost") for slow in progress.slow)
