"""A list that is sent in many pieces arrives as the one that was asked for."""

import asyncio

import pytest

from maitred.sandbox.apiserver import request_handler
from tests.sandbox.apiserver.session import NOTES, note, session


def test_pieces_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_handler, "PIECE", 100)
    wanted = {f"note-{number:02}": str(number) * 50 for number in range(20)}

    async def run() -> None:
        async with asyncio.timeout(30), session() as here:
            for name, word in wanted.items():
                await here.make(NOTES, note(name, word=word))
            status, listed = await here.ask("GET", NOTES)
            assert status == 200
            assert {item["metadata"]["name"]: item["data"]["word"] for item in listed["items"]} == wanted

    asyncio.run(run())
