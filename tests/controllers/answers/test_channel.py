"""News cross from the process that schedules to the one that answers without a change."""

import asyncio
import socket

import msgspec
import pytest

from maitred.controllers.answers.backlog import Update
from maitred.controllers.answers.channel import Ours, Theirs
from maitred.controllers.answers.orders import OrderOutcome
from maitred.model.policy import Policy, Preemption

FULL = Update(
    leading=True,
    afresh=True,
    scheduler="maitred",
    policy=Policy(preemption=Preemption(mode="never")),
    lines=(b'{"a": 1}', b'{"b": 2}'),
    group_api=True,
    done=(OrderOutcome("id", "there is no override of a/other"),),
)
EMPTY = Update(leading=False)


@pytest.mark.parametrize("update", [FULL, EMPTY, msgspec.structs.replace(FULL, group_api=False)])
def test_an_update_crosses_whole(update: Update) -> None:
    async def story() -> Update:
        ends = [await asyncio.open_unix_connection(sock=one) for one in socket.socketpair()]
        ours, theirs = Ours(*ends[0]), Theirs(*ends[1])
        await ours.tell(update)
        heard = await theirs.news(afresh=False)
        for writer in (ends[0][1], ends[1][1]):
            writer.close()
            await writer.wait_closed()
        return heard

    assert asyncio.run(story()) == update


def test_the_full_update_leaves_no_field_at_its_default() -> None:
    for field in msgspec.structs.fields(Update):
        assert getattr(FULL, field.name) != getattr(EMPTY, field.name), field.name
