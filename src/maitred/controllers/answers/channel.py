"""What the two processes say to each other, over a socket that only they have.

The one that answers asks for news and passes on its log lines, as lines of JSON. The one that schedules sends
what the other is configured by, and then news, in frames. All that it reads are those few fields: whatever
people post is read on the other side, also the orders that come of it.
"""

import asyncio
import logging
import struct
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from maitred.controllers.answers.backlog import Update
from maitred.controllers.answers.orders import AnyOrder

T = TypeVar("T")
LENGTH = struct.Struct(">I")
LARGEST_FRAME = 2**18
LONGEST_LINE = 2**16
LONGEST_MESSAGE = 8_000


class Config(msgspec.Struct, frozen=True):
    """All that the process that answers is told at its start."""

    kubeconfig: str | None = None
    context: str | None = None
    ledger: str | None = None
    ledger_days: int = 0
    log_level: int = logging.WARNING


class UpdateHead(msgspec.Struct, frozen=True):
    """An Update without its lines, which come after it in frames."""

    update: Update
    frames: int


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the process that answers: it wants news, it logs something, or it passes on an order."""

    wants: bool = False
    afresh: bool = False
    level: int = 0
    logger: str = ""
    message: str = ""
    order: AnyOrder | None = None


def in_frames(lines: Sequence[bytes]) -> Iterator[bytes]:
    frame, size = list[bytes](), 0
    for line in lines:
        frame.append(line)
        size += len(line)
        if size >= LARGEST_FRAME:
            yield b"\n".join(frame)
            frame, size = [], 0
    if frame:
        yield b"\n".join(frame)


class Ours:
    """The end of the process that schedules."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def configure(self, config: Config) -> None:
        await self._send(msgspec.json.encode(config))

    async def heard(self) -> Said | None:
        """The next line; None when the other process has ended, or has said what it never says."""
        try:
            line = await self._reader.readline()
            return msgspec.json.decode(line, type=Said) if line.endswith(b"\n") else None
        except (ValueError, ConnectionError, msgspec.DecodeError):
            return None

    async def tell(self, update: Update) -> None:
        frames = list(in_frames(update.lines))
        head = UpdateHead(replace(update, lines=()), len(frames))
        await self._send(msgspec.json.encode(head))
        for frame in frames:
            await self._send(frame)

    async def _send(self, frame: bytes) -> None:
        self._writer.writelines((LENGTH.pack(len(frame)), frame))
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()


class Theirs:
    """The end of the process that answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.is_over = asyncio.Event()
        """The other process has ended."""

    async def config(self) -> Config:
        return msgspec.json.decode(await self._frame(), type=Config)

    async def news(self, afresh: bool) -> Update:
        """One question at a time."""
        self.say(Said(wants=True, afresh=afresh))
        head = msgspec.json.decode(await self._frame(), type=UpdateHead)
        lines = [line for _ in range(head.frames) for line in (await self._frame()).split(b"\n")]
        return replace(head.update, lines=tuple(lines))

    def say(self, what: Said) -> None:
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(what) + b"\n")

    async def _frame(self) -> bytes:
        try:
            [length] = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.is_over.set()
            raise ConnectionError("the scheduler process has ended") from None


class LogToThem(logging.Handler):
    """Lines of the process that answers, in the log of the one that schedules."""

    def __init__(self, channel: Theirs, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._channel, self._loop = channel, loop

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)[:LONGEST_MESSAGE]
        said = Said(level=record.levelno, logger=record.name, message=text)
        self._loop.call_soon_threadsafe(self._channel.say, said)
