"""How many questions are taken at once, whose turn it is, and for how long anyone has to wait."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from maitred.controllers.answers.rate_limit import RateLimit
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.worker import AnswerTask, AnswerWorker, InterruptedJob
from maitred.kube.answers import Reason
from maitred.kube.reviews import User

MOST_QUESTIONS = 32
MOST_EACH = 4
"""Of one caller, so that no caller keeps the others out."""
MOST_BODIES, MOST_BODIES_EACH = 8, 2
"""Of these, questions that post something: it is in memory until they are answered."""
BURST, PER_SECOND = 60.0, 10.0
"""Questions of one caller."""
LONGEST_SECONDS = 20.0
"""From when a question is taken to its answer."""
WORK_SECONDS = 8.0
"""Of the thread for one step of a question, so that the others get their turn while they wait."""
TOO_MUCH_WORK = (
    f"this question takes more than {WORK_SECONDS:g} s; ask about less at a time, such as fewer pods of "
    f"fewer kinds, or give `maitred plan` a dump of the cluster with --on"
)
STUCK_SECONDS = 5.0
SERVICE_ACCOUNT = "system:serviceaccount:"

T = TypeVar("T")


def nothing_to_do() -> None:
    pass


class QuestionQueue:
    def __init__(self, stuck: Callable[[], None] = nothing_to_do) -> None:
        """`stuck` is called when a job that was stopped goes on all the same."""
        self._stuck = stuck
        self._worker = AnswerWorker()
        self._taken = Counter[Hashable]()
        self._bodies = Counter[Hashable]()
        self._pace = RateLimit(BURST, PER_SECOND)

    @asynccontextmanager
    async def seat(self, user: User, posts: bool) -> AsyncIterator[None]:
        """For as long as the question is with us. Raises RefusedError at once if there are too many, and
        later if there is no answer in time."""
        caller = caller_of(user)
        self._check(caller, posts)
        counters = (self._taken, self._bodies) if posts else (self._taken,)
        for counter in counters:
            counter[caller] += 1
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                yield
        except TimeoutError:
            raise RefusedError(Reason.TOO_LONG, too_long_words(self._taken.total() - 1)) from None
        finally:
            for counter in counters:
                counter[caller] -= 1
                if not counter[caller]:
                    del counter[caller]

    def _check(self, caller: Hashable, posts: bool) -> None:
        if self._taken[caller] >= MOST_EACH or (posts and self._bodies[caller] >= MOST_BODIES_EACH):
            raise RefusedError(
                Reason.BUSY, "you have too many questions open; ask again when one is answered"
            )
        if self._taken.total() >= MOST_QUESTIONS or (posts and self._bodies.total() >= MOST_BODIES):
            raise RefusedError(Reason.BUSY, "too many questions at once; ask again in a moment")
        if not self._pace.allows(caller):
            raise RefusedError(
                Reason.BUSY, f"more than {PER_SECOND:g} questions a second; ask again in a moment"
            )

    async def work(self, user: User | None, work: Callable[[], T], *, whole: bool = False) -> T:
        """In the thread, when it is the caller's turn. Whoever stops to wait stops the work, unless it is to
        be done whole. None: it is for all of them."""
        began = asyncio.Event()
        caller = None if user is None else caller_of(user)
        job = self._worker.submit(
            caller, partial(begun, work, began, asyncio.get_running_loop()), whole=whole
        )
        try:
            done: asyncio.Future[T] = asyncio.wrap_future(job.done)
            if not whole:
                await began.wait()
            async with asyncio.timeout(None if whole else WORK_SECONDS):
                return await done
        except asyncio.CancelledError:
            self._drop(job)
            raise
        except TimeoutError:
            self._drop(job)
            raise RefusedError(Reason.TOO_LONG, TOO_MUCH_WORK) from None
        except InterruptedJob:
            raise RefusedError(Reason.NOT_LEADING, "this scheduler is being stopped; ask again") from None

    def _drop(self, job: AnswerTask) -> None:
        self._worker.drop(job)
        asyncio.get_running_loop().call_later(STUCK_SECONDS, partial(self._look_at, job))

    def _look_at(self, job: AnswerTask) -> None:
        if self._worker.is_running(job) and not job.whole:
            self._stuck()

    def close(self) -> None:
        self._worker.close()


def begun(work: Callable[[], T], event: asyncio.Event, loop: asyncio.AbstractEventLoop) -> T:
    loop.call_soon_threadsafe(event.set)
    return work()


def caller_of(user: User) -> Hashable:
    """A tenant may make any number of service accounts, but only in namespaces of their own."""
    if user.name.startswith(SERVICE_ACCOUNT):
        return user.name.rpartition(":")[0]
    return user.name


def too_long_words(others: int) -> str:
    what = f"no answer within {LONGEST_SECONDS:g} s, so the question was dropped"
    if others:
        return f"{what}; {others} other questions were open at the same time: ask again in a moment"
    return f"{what}; ask about less at a time, such as fewer pods of fewer kinds"
