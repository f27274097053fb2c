"""Processes that want one lease, in a world that loses, delays and suspends. Time is simulated.

Each process has an event loop and a clock of its own. A suspended one runs nothing, while time, and whatever
it has sent, go on. The server keeps its versions as kube-apiserver does.
"""

import asyncio
import json
import random
import selectors
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from maitred.kube.client import Client
from maitred.kube.errors import ApiError, Unreachable
from maitred.kube.lease import LeaderLease, Term
from maitred.kube.permit import NotLeading

STEP = 0.5
"""Seconds that pass at once."""
TURNS = 8
"""Rounds of a process within a step: enough to take an answer and send the next request."""


@dataclass(frozen=True)
class Weather:
    """How likely each thing is, per request or, for suspension, per step."""

    lost_requests: float = 0.0
    lost_replies: float = 0.0
    errors: float = 0.0
    slowest: float = 0.0
    """Seconds, each way."""
    suspensions: float = 0.0
    longest_suspension: float = 0.0
    spares_reads: bool = False


CALM = Weather()


@dataclass
class Message:
    due: float
    verb: str
    body: bytes | None
    reply: asyncio.Future[bytes]
    answer: bytes | Exception | None = None


class NothingToSelect(selectors.SelectSelector):
    """There are no sockets here, and waiting is left to the world."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return []


class Loop(asyncio.SelectorEventLoop):
    def __init__(self, process: "Process") -> None:
        self._process = process
        super().__init__(NothingToSelect())

    def time(self) -> float:
        return self._process.clock()


class Process:
    """One candidate. It leads until it loses, or for a while in a restless world, and asks again."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.offset = world.random.uniform(0.0, 1e6)
        self.asleep_until = 0.0
        self.term: Term | None = None
        self.terms = 0
        self.loop = Loop(self)
        self.lease = LeaderLease(cast(Client, self), "ns", "maitred", identity=name, clock=self.clock)
        self.life = self.loop.create_task(self.live())

    def clock(self) -> float:
        return self.world.now + self.offset

    async def live(self) -> None:
        while True:
            async with self.lease.term() as self.term:
                self.terms += 1
                patience = self.world.random.uniform(5.0, 60.0) if self.world.restless else None
                with suppress(TimeoutError):
                    async with asyncio.timeout(patience):
                        await self.term.lost.wait()

    def may_write(self) -> bool:
        try:
            if self.term is not None:
                self.term.check()
        except NotLeading:
            return False
        return self.term is not None

    def turn(self) -> None:
        self._stop_after(TURNS)
        self.loop.run_forever()

    def _stop_after(self, turns: int) -> None:
        if turns:
            self.loop.call_soon(self._stop_after, turns - 1)
        else:
            self.loop.stop()

    async def request(self, verb: str, path: str, *, body: bytes | None = None, seconds: float) -> bytes:
        """In the place of Client.request: one attempt, with the same errors."""
        reply: asyncio.Future[bytes] = self.loop.create_future()
        self.world.send(Message(self.world.now, verb, body, reply))
        try:
            async with asyncio.timeout(seconds):
                return await reply
        except TimeoutError:
            raise Unreachable("no answer") from None


class World:
    def __init__(self, seed: int, names: Iterable[str], *, restless: bool) -> None:
        self.random = random.Random(seed)
        self.restless = restless
        self.now = 0.0
        self.weather = CALM
        self.version = 0
        self.stored: dict[str, Any] | None = None
        self.in_flight: list[Message] = []
        self.processes = [Process(self, name) for name in names]

    def send(self, message: Message) -> None:
        if self.random.random() < self.weather.lost_requests:
            return
        message.due = self.now + self.delay()
        self.in_flight.append(message)

    def delay(self) -> float:
        return self.random.uniform(0.0, self.weather.slowest)

    def run(self, seconds: float, weather: Weather) -> None:
        self.weather = weather
        end = self.now + seconds
        while self.now < end:
            self.now += STEP
            self._deliver()
            for process in self.processes:
                self._turn(process)
            leaders = [process.name for process in self.processes if process.may_write()]
            assert len(leaders) <= 1, f"{leaders} may all write at {self.now}"

    def _turn(self, process: Process) -> None:
        if self.now < process.asleep_until:
            return
        if self.random.random() < self.weather.suspensions:
            process.asleep_until = self.now + self.random.uniform(0.0, self.weather.longest_suspension)
            return
        process.turn()

    def _deliver(self) -> None:
        due = sorted((m for m in self.in_flight if m.due <= self.now), key=lambda m: m.due)
        for message in due:
            self.in_flight.remove(message)
            if message.answer is None:
                self._execute(message)
            elif not message.reply.done():
                self._reply(message, message.answer)

    def _reply(self, message: Message, answer: bytes | Exception) -> None:
        if isinstance(answer, Exception):
            message.reply.set_exception(answer)
        else:
            message.reply.set_result(answer)

    def _execute(self, message: Message) -> None:
        try:
            answer: bytes | Exception = self.serve(message.verb, message.body)
        except ApiError as error:
            answer = error
        if message.verb != "GET" or not self.weather.spares_reads:
            answer = self._spoil(answer)
        message.answer = answer
        message.due = self.now + self.delay()
        self.in_flight.append(message)

    def _spoil(self, answer: bytes | Exception) -> bytes | Exception:
        if self.random.random() < self.weather.errors:
            return ApiError("", "", 500, "InternalError", "etcdserver: request timed out")
        if self.random.random() < self.weather.lost_replies:
            return Unreachable("connection reset")
        return answer

    def serve(self, verb: str, body: bytes | None) -> bytes:
        if verb == "GET":
            if self.stored is None:
                raise ApiError(verb, "", 404, "NotFound", "")
            return json.dumps(self.stored).encode()
        assert body is not None
        lease = json.loads(body)
        if verb == "POST" and self.stored is not None:
            raise ApiError(verb, "", 409, "AlreadyExists", "")
        if verb == "PUT" and self.stored is None:
            raise ApiError(verb, "", 404, "NotFound", "")
        if verb == "PUT" and self.stored and lease["metadata"]["resourceVersion"] != self._stored_version():
            raise ApiError(verb, "", 409, "Conflict", "the object has been modified")
        self.keep(lease)
        return json.dumps(lease).encode()

    def _stored_version(self) -> str:
        assert self.stored is not None
        return str(self.stored["metadata"]["resourceVersion"])

    def keep(self, lease: dict[str, Any]) -> None:
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.stored = lease

    def leader(self) -> Process | None:
        return next((process for process in self.processes if process.may_write()), None)

    def close(self) -> None:
        """All stop as they should: the lease is given back."""
        for process in self.processes:
            process.asleep_until = 0.0
            process.life.cancel()
        try:
            self.run(20.0, CALM)
            assert all(process.life.cancelled() for process in self.processes)
        finally:
            for process in self.processes:
                process.loop.close()
