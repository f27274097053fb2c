"""Whether a gang of some size could be placed: said of an answer that has the largest ones."""

from typing import Literal

import msgspec

from maitred.explain.capacity.document import Capacity, Gangs


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


def _fits(gangs: Gangs, gang: int) -> Literal["now", "with-room", "no"]:
    if gang <= gangs.now.members:
        return "now"
    return "with-room" if gangs.with_room is not None and gang <= gangs.with_room.members else "no"
