"""Whether a gang of some size could be placed: said of an answer that has the largest ones."""

from typing import Literal

import msgspec
from msgspec import UNSET

from maitred.explain.capacity.document import Capacity, Gangs
from maitred.model.manifest import InputError


def asked_about(capacity: Capacity, gang: int) -> Capacity:
    """The same, and whether a gang of that many members could be placed."""
    answered = tuple(
        msgspec.structs.replace(
            each,
            ranks=tuple(
                msgspec.structs.replace(
                    rank, gangs=tuple(msgspec.structs.replace(g, fits=_fits(g, gang)) for g in rank.gangs)
                )
                for rank in each.ranks
            ),
        )
        for each in capacity.placeable
    )
    return msgspec.structs.replace(capacity, gang=gang, placeable=answered)


def of_queue(capacity: Capacity, queue: str) -> Capacity:
    """The same with this queue alone. Raises InputError."""
    if capacity.queues is UNSET:
        raise InputError("--queue", "", "", "the policy has no queues")
    named = tuple(one for one in capacity.queues if one.queue == queue)
    if not named:
        known = ", ".join(dict.fromkeys(one.queue for one in capacity.queues)) or "none"
        what = f"{queue!r} is not one of the queues in which groups can be and that you may use: {known}"
        raise InputError("--queue", "", "", what)
    return msgspec.structs.replace(capacity, queues=named)


def _fits(gangs: Gangs, gang: int) -> Literal["now", "with-room", "no"]:
    if gang <= gangs.now.members:
        return "now"
    return "with-room" if gangs.with_room is not None and gang <= gangs.with_room.members else "no"
