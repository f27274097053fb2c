"""What can go wrong on the line between a scheduler and its server."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable

from maitred.kube.client import Params
from maitred.kube.errors import ApiError, Unreachable
from tests.scenarios.line import READS, Send, Trouble, never

SLOW_SECONDS = 0.2
FAULTY_SHARE = 0.2


class Interlude(Trouble):
    """Something happens just before the scheduler sends its nth write to a subresource."""

    def __init__(self, before: int, subresource: str, act: Callable[[], Awaitable[None]]) -> None:
        self._left = before
        self._ending = f"/{subresource}"
        self._act = act

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        if path.endswith(self._ending):
            self._left -= 1
            if self._left == 0:
                await self._act()
        return await send()


class CrashAt(Trouble):
    """The process dies at its nth write: before it is sent, or when it is executed and not yet answered."""

    def __init__(self, write: int, *, executed: bool) -> None:
        self.reached = asyncio.Event()
        self._left = write
        self._executed = executed

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        if verb not in READS:
            self._left -= 1
            if self._left == 0:
                if self._executed:
                    await send()
                self.reached.set()
        return await (send() if self._left > 0 else never())


class LostAnswers(Trouble):
    """Every bind is executed, and nobody hears of it."""

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        answer = await send()
        if path.endswith("/binding"):
            raise Unreachable(f"{verb} {path}: the answer is lost")
        return answer


class Partition(Trouble):
    """The network is gone; whoever runs on the far side does not know."""

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        raise Unreachable(f"{verb} {path}: no route")

    async def opening(self, path: str, params: Params) -> None:
        raise Unreachable(f"GET {path}: no route")

    async def arriving(self, path: str, batch: list[bytes]) -> list[bytes]:
        raise Unreachable(f"GET {path}: no route")


class Expiry(Trouble):
    """What comes next on each watch is lost, and the server has forgotten it when it is asked again."""

    def __init__(self) -> None:
        self._done = set[str]()

    async def arriving(self, path: str, batch: list[bytes]) -> list[bytes]:
        if path in self._done:
            return batch
        self._done.add(path)
        raise ApiError("WATCH", path, 410, "Expired", "too old resource version")


class Stranger(Trouble):
    """A server that has just started does not know anyone's rights yet: it refuses what it is asked first."""

    def __init__(self, requests: int) -> None:
        self._left = requests

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        self._left -= 1
        if self._left >= 0:
            raise ApiError(verb, path, 403, "Forbidden", "rights are not known yet")
        return await send()


class PagesOnly(Trouble):
    """A server that cannot stream lists."""

    async def opening(self, path: str, params: Params) -> None:
        if "sendInitialEvents" in params:
            raise ApiError("GET", path, 400, "BadRequest", "sendInitialEvents is forbidden for watch")


class Faults(Trouble):
    """Everything at random. The seed alone says what happens to the nth request of a kind."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._counts = Counter[str]()

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        what = f"{verb} {path}"
        match self._fault(what, "refused", "slow", "lost", "conflict", "busy"):
            case "refused":
                raise Unreachable(f"{what}: connection refused, says the seed")
            case "slow":
                await asyncio.sleep(SLOW_SECONDS)
            case "lost":
                await send()
                raise Unreachable(f"{what}: the answer is lost, says the seed")
            case "conflict" if verb not in READS:
                raise ApiError(verb, path, 409, "Conflict", "says the seed")
            case "busy":
                raise ApiError(verb, path, 429, "TooManyRequests", "says the seed")
        return await send()

    async def opening(self, path: str, params: Params) -> None:
        if self._fault(f"WATCH {path}", "refused"):
            raise Unreachable(f"GET {path}: connection refused, says the seed")

    async def arriving(self, path: str, batch: list[bytes]) -> list[bytes]:
        match self._fault(f"BATCH {path}", "slow", "gap", "expired"):
            case "slow":
                await asyncio.sleep(SLOW_SECONDS)
            case "gap":
                raise Unreachable(f"GET {path}: the connection broke, says the seed")
            case "expired":
                raise ApiError("WATCH", path, 410, "Expired", "too old resource version, says the seed")
        return batch

    def _fault(self, what: str, *kinds: str) -> str:
        """Not from one stream of numbers: requests overtake each other, and each must keep its fate."""
        self._counts[what] += 1
        digest = hashlib.sha256(f"{self._seed} {what} {self._counts[what]}".encode()).digest()
        chance, choice = digest[0] / 256, digest[1] % len(kinds)
        return kinds[choice] if chance < FAULTY_SHARE else ""
