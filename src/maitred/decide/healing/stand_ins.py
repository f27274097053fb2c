"""A group as a cycle sees it while it is healed: without what was lost, and with what is to take its place.

Pods that no owner has made yet are stood in for by members of the same shape, as pods that come later are:
room is kept for them, and nothing is bound there.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from maitred.cluster.members import NOT_CREATED
from maitred.cluster.parts import Branch, Parts
from maitred.cluster.snapshot import NO_INDEX, GroupView, LaterMembers
from maitred.decide.healing.losses import LostMember, pod_of, without


def as_healed(view: GroupView, lost: Sequence[LostMember], had: int | None = None) -> GroupView:
    """`lost` count no more, and the quorum is asked for as if all of it were there; but for no more members
    than there were, by what is remembered or seen: whoever may write a quorum may write any."""
    left = without(view, lost)
    if left.parts is not None or left.later is not None:
        return left  # of a tree, room is kept for the members that are there
    had = view.succeeded + len(view.running) + len(view.leaving_shapes) if had is None else had
    most = had - left.succeeded - len(left.running)
    shapes = _shapes(view, lost, min(left.missing, most) - len(left.pods))
    return replace(left, later=_standing_in(left, shapes)) if shapes else left


def _shapes(view: GroupView, lost: Sequence[LostMember], missing: int) -> list[int]:
    """Those that were lost, or leave, come again; what else is missing is like most of the others."""
    if missing <= 0:
        return []
    gone, running = {one.pod for one in lost}, view.running_shapes.tolist()
    again = [
        shape
        for member, shape in zip(view.running, running, strict=True)
        if pod_of(view, member.order[2]) in gone
    ]
    every = Counter([*running, *view.leaving_shapes])
    usual = [max(every, key=lambda shape: (every[shape], -shape))] if every else []
    return [*again, *view.leaving_shapes, *usual * missing][:missing]


def _standing_in(view: GroupView, shapes: Sequence[int]) -> LaterMembers:
    group = view.group
    leaf = Branch(group.key, group.quorum, group.topology, leaf=0)
    parts = Parts(
        Branch(group.key, 1, group.topology, (leaf,)),
        waiting=(0,) * (len(view.pods) + len(shapes)),
        seated=(0,) * len(view.running),
        succeeded=(view.succeeded,),
    )
    orders = tuple((NO_INDEX, NOT_CREATED, f":{number:05}") for number in range(len(shapes)))
    return LaterMembers(tuple(shapes), orders, parts, ())
