"""The thread in which answers are worked out: one job at a time, callers in turn, and a job can be stopped.

A job is a pure function that may run for long. When its caller is gone, or its time is up, an exception is
raised in the thread between two of its steps (`PyThreadState_SetAsyncExc`), so that no rule of a decision has
to ask whether anyone still listens. Jobs that change something are done whole: they are short, and cannot be
stopped. An exception is not delivered inside of a call into C; whoever waits for that in vain is told.

An exception that was sent is always received, if need be after the job. To take it back is no way: in CPython
3.11 the whole process would go on looking for one, which slows it down, and a traced one stands still.
"""

import ctypes
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

STEPS = 100


class InterruptedJob(BaseException):
    """Raised in the thread, in the middle of a job. Not an Exception: nothing on the way may catch it."""


@dataclass(eq=False, slots=True)
class AnswerTask:
    caller: Hashable
    work: Callable[[], Any]
    whole: bool
    stopped: bool = False
    """An exception was sent; there is no second one."""
    done: Future[Any] = field(default_factory=Future)


class AnswerWorker:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting = OrderedDict[Hashable, deque[AnswerTask]]()
        """By caller. Whoever is first is next, and then goes to the end."""
        self._running: AnswerTask | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="answers", daemon=True)
        self._thread.start()

    def submit(self, caller: Hashable, work: Callable[[], Any], *, whole: bool = False) -> AnswerTask:
        job = AnswerTask(caller, work, whole)
        with self._changed:
            self._waiting.setdefault(caller, deque()).append(job)
            self._changed.notify()
        return job

    def drop(self, job: AnswerTask) -> None:
        """Its answer is not wanted any more: it does not begin, or is stopped."""
        with self._changed:
            if job is self._running and not job.whole and not job.stopped:
                job.stopped = True
                raise_in(self._thread, InterruptedJob)
            queue = self._waiting.get(job.caller, deque())
            with suppress(ValueError):
                queue.remove(job)
            if not queue:
                self._waiting.pop(job.caller, None)

    def is_running(self, job: AnswerTask) -> bool:
        return self._running is job

    def close(self) -> None:
        """No further job begins, and the one that runs is stopped; it is not waited for."""
        with self._changed:
            self._is_closed = True
            running = self._running
            self._changed.notify()
        if running is not None:
            self.drop(running)

    # -- in the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                if not self._do_next():
                    return
            except InterruptedJob:
                continue  # It came when the job was just done, or had yet to begin. Its answer is not wanted.

    def _do_next(self) -> bool:
        job = self._next()
        if job is None:
            return False
        received = False
        try:
            value, error = job.work(), None
        except BaseException as found:
            value, error = None, found
            received = isinstance(found, InterruptedJob)
        with self._changed:
            self._running = None  # from here on no exception is sent
        if job.stopped and not received:
            receive()
        if error is None:
            job.done.set_result(value)
        else:
            job.done.set_exception(error)
        return True

    def _next(self) -> AnswerTask | None:
        with self._changed:
            self._running = None
            while True:
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return None
                caller, queue = self._waiting.popitem(last=False)
                job = queue.popleft()
                if queue:
                    self._waiting[caller] = queue
                if job.done.set_running_or_notify_cancel():
                    self._running = job
                    return job


def receive() -> None:
    """Wait for the exception that was sent to this thread. It comes at the next step, unless it came before
    and something on the way swallowed it."""
    with suppress(InterruptedJob):
        for _ in range(STEPS):
            time.sleep(0)


def raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    """At its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(error))
