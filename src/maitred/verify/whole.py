"""A group together with the pods that come after it: the search for places for all of them at once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .groups import Group
from .later import Link
from .objects import Node
from .placement import Seats, find_placement
from .pods import Pod
from .rules import Bind
from .trees import Composite, Tree, placement_of
from .world import World


def place_whole(
    world: World,
    group: Group,
    link: Link | None,
    pods: Sequence[Pod],
    need: int,
    nodes: Sequence[Node],
    fixed: Sequence[Bind] = (),
    anchors: Sequence[Bind] = (),
) -> Seats | None:
    """Seats for so many of the pods, and for all that come later; None if none were found, which proves
    nothing.

    `anchors` are pods that have their places, whose domains those that come later must share.
    """
    if link is None or not link.coming:
        return placement_of(world, group, pods, need, nodes, fixed)
    every = [*pods, *link.pods]
    bare = not (group.topology or group.slice_size or link.bonds or link.shared or link.topologies)
    if bare and need == len(pods):
        return find_placement(world, Group("", group.key, every), every, len(every), nodes)
    children = _bonded(group, link, pods, need, (*fixed, *anchors)) if link.bonds else None
    if not link.bonds:
        children = _grouped(group, link, pods, need, fixed, anchors)
    if children is None:
        return None
    root = Composite(group.key, len(children), link.shared, children)
    tree = Tree("composite", group.key, every, root.quorum, root=root)
    return tree.placement(world, every, nodes, [*fixed, *anchors])


def _grouped(
    group: Group, link: Link, pods: Sequence[Pod], need: int, fixed: Sequence[Bind], anchors: Sequence[Bind]
) -> list[Composite | Group]:
    own, seated = link.coming.get(group.key, []), [pod for pod, _ in fixed]
    count = max(0, need) + len(own) + len(seated)
    level = group.topology or link.topologies.get(group.key, "")
    found: list[Composite | Group] = [
        replace(group, members=[*seated, *pods, *own], quorum=count, removed=0, topology=level)
    ]
    for key, later in link.coming.items():
        if key != group.key:
            found.append(_leaf(key, later, link.topologies.get(key, "")))
    if link.shared and anchors:
        found.append(_leaf("", [pod for pod, _ in anchors]))
    return found


def _bonded(
    group: Group, link: Link, pods: Sequence[Pod], need: int, seated: Sequence[Bind]
) -> list[Composite | Group] | None:
    """Those of one controller are in one domain; None where they have other wishes as well."""
    if group.topology or group.slice_size or link.topologies or link.shared or need != len(pods):
        return None
    found: list[Composite | Group] = []
    levels = {controller: level for level, controller in link.bonds.values()}
    for controller, level in sorted(levels.items()):
        first = _of(controller, (*pods, *(pod for pod, _ in seated)))
        parts = [("first", first), *((key, _of(controller, later)) for key, later in link.coming.items())]
        below: list[Composite | Group] = [_leaf(key, members) for key, members in parts if members]
        found.append(Composite(controller, len(below), level, below))
    rest = [pod for pod in (*pods, *link.pods) if _controller(pod) not in levels]
    return [*found, _leaf(group.key, rest)] if rest else found


def _leaf(key: str, pods: Sequence[Pod], topology: str = "") -> Group:
    return Group("", key, list(pods), len(pods), topology=topology)


def _of(controller: str, pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if _controller(pod) == controller]


def _controller(pod: Pod) -> str:
    return pod.controller[1] if pod.controller else ""
