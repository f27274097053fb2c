"""Who asks, and which namespaces they may look into. The API server decides both."""

import asyncio
import hashlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Generic, TypeVar

from maitred.controllers.answers.rate_limit import RateLimit
from maitred.controllers.answers.refusals import RefusedError
from maitred.kube.answers import TOKEN_HEADER, Reason
from maitred.kube.client import Client
from maitred.kube.errors import KubeError
from maitred.kube.resources import GROUPS, PODS
from maitred.kube.reviews import User, may, user_of

REMEMBERED_SECONDS = 10.0
MOST_REMEMBERED = 10_000
LONGEST_TOKEN = 16_384
REVIEWS_AT_ONCE = 32
TOKENS_AT_ONCE, TOKENS_PER_SECOND = 200.0, 50.0
"""That were not seen a moment ago."""
MOST_NAMESPACES = 300
"""That are looked into for one question: each costs a review."""
EVERYWHERE = ""

T = TypeVar("T")

log = logging.getLogger(__name__)


class RecentFindings(Generic[T]):
    """What was found out a moment ago. The oldest is forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: OrderedDict[object, tuple[float, T]] = OrderedDict()

    async def recall(self, key: object, find: Callable[[], Awaitable[T]]) -> T:
        known = self._found.get(key)
        if known is not None and self._clock() < known[0] + REMEMBERED_SECONDS:
            return known[1]
        asked = self._clock()
        found = await find()
        self._found.pop(key, None)
        self._found[key] = (asked, found)
        while len(self._found) > MOST_REMEMBERED:
            self._found.popitem(last=False)
        return found


class AccessCheck:
    """Tokens are neither kept nor logged: of one, a hash is remembered that means nothing elsewhere."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._salt = secrets.token_bytes(16)
        self._users: RecentFindings[User | None] = RecentFindings()
        self._rights: RecentFindings[bool] = RecentFindings()
        self._pace = RateLimit(TOKENS_AT_ONCE, TOKENS_PER_SECOND)
        self._reviews = asyncio.Semaphore(REVIEWS_AT_ONCE)

    async def visitor(self, token: str) -> User:
        if not token:
            raise RefusedError(
                Reason.NO_TOKEN, f"the request has no token; send one in the header {TOKEN_HEADER}"
            )
        user = None
        if len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable():
            digest = hashlib.blake2b(token.encode(), key=self._salt).digest()
            user = await self._users.recall(digest, lambda: self._reviewed(token))
        if user is None:
            raise RefusedError(
                Reason.TOKEN_REFUSED, f"the API server does not accept the token in {TOKEN_HEADER}"
            )
        return user

    async def _reviewed(self, token: str) -> User | None:
        """Whoever reaches us may show any number of tokens, and each is a question to the API server."""
        if not self._pace.allows(EVERYWHERE):
            raise RefusedError(Reason.BUSY, "too many callers at once; ask again in a moment")
        return await self._asked(user_of(self._client, token))

    async def admit(self, user: User, namespaces: Iterable[str]) -> None:
        """Only with a right to look into all of these is there anything to say."""
        for namespace in namespaces:
            if not (await self._may_look(user, EVERYWHERE) or await self._may_look(user, namespace)):
                raise RefusedError(
                    Reason.NOT_YOURS,
                    f"you may not list pods in namespace {namespace}, so you get no answer about it",
                )

    async def allow(self, user: User, verb: str, namespace: str, name: str) -> None:
        """To change anything takes a right of its own, which is asked for each time: in one namespace, or
        everywhere."""
        if not await self._asked(may(self._client, user, verb, GROUPS, namespace, name)):
            what, where, role = "nodes", "in all namespaces", "ClusterRoleBinding"
            if namespace != EVERYWHERE:
                what, where, role = f"groups in namespace {namespace}", "there", "Role"
            raise RefusedError(
                Reason.NOT_YOURS,
                f"you may not {verb} {what}: that takes the verb {verb} on {GROUPS} {where}, which a "
                f"{role} can allow (docs/{verb}.md#who-may)",
            )

    async def sight(self, user: User, namespaces: Iterable[str]) -> Collection[str] | None:
        """Those of the namespaces that a user may look into; None for all there are."""
        if await self._may_look(user, EVERYWHERE):
            return None
        candidates = list(dict.fromkeys(namespaces))[:MOST_NAMESPACES]
        allowed = await asyncio.gather(*(self._may_look(user, namespace) for namespace in candidates))
        return frozenset(name for name, mine in zip(candidates, allowed, strict=True) if mine)

    async def _may_look(self, user: User, namespace: str) -> bool:
        return await self._rights.recall(
            (user, namespace), lambda: self._asked(may(self._client, user, "list", PODS, namespace))
        )

    async def _asked(self, review: Awaitable[T]) -> T:
        async with self._reviews:
            try:
                return await review
            except KubeError as error:
                log.warning("the token of a caller could not be reviewed: %s", error)
                raise RefusedError(
                    Reason.NO_REVIEW,
                    "the API server did not say who you are and what you may see; ask again in a moment",
                ) from None
