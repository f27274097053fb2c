"""A child process that never outlives us, and whose last words are quoted when it does not come up."""

import ctypes
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

READY_SECONDS = 120.0
"""Long enough for a busy machine; one that does nothing else needs a tenth of it."""
POLL_SECONDS = 0.05
QUOTED_LINES = 6
QUOTED_LENGTH = 300
_SET_PARENT_DEATH_SIGNAL = 1
_BEARER = re.compile(r"(?i)(bearer|token)[ =:]+\S+")

Child = subprocess.Popen[bytes]
Birth = tuple[Future[Child], Callable[[], Child]]


class ProcessError(Exception):
    """A program ended by itself, or did not become ready; the message has its last words."""


class Process:
    """A program in a process group of its own, so that Ctrl-C in a terminal is for us to handle, not for it.

    The kernel kills it when we die, however that happens.
    """

    def __init__(
        self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """`environment`: what it finds in its environment on top of ours."""
        self.command = command
        self.log = log
        self.environment = environment or {}
        self.name = Path(command[0]).name
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        assert self._child is not None, f"{self.name} was not started"
        return self._child.pid

    def start(self) -> None:
        child: Future[Child] = Future()
        _births().put((child, self._spawn))
        self._child = child.result()

    def _spawn(self) -> Child:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                env={**os.environ, **self.environment},
                process_group=0,
                preexec_fn=_dies_with(os.getpid()) if sys.platform == "linux" else None,
            )

    def stop(self) -> None:
        """At once and for good. Raises ProcessError if it had ended before, since nobody asked it to."""
        if self._child is None:
            return
        child, self._child = self._child, None
        status = child.poll()
        if status is not None:
            raise ProcessError(f"{self.name} ended by itself, {self._ending(status)}")
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def pause(self) -> None:
        """It keeps its connections and answers nothing, like a machine that hangs."""
        os.killpg(self.pid, signal.SIGSTOP)
        # The signal takes a moment to reach every thread, and a server answers within one.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def wait_ready(self, url: str, context: ssl.SSLContext | None = None) -> None:
        """Until this address of it answers with a success."""
        assert self._child is not None, f"{self.name} was not started"
        deadline = time.monotonic() + READY_SECONDS
        while not _answers(url, context):
            status = self._child.poll()
            if status is not None:
                self._child = None
                raise ProcessError(f"{self.name} did not start, {self._ending(status)}")
            if time.monotonic() > deadline:
                last = f"its last output: {self.last_words()}"
                raise ProcessError(f"{self.name} was not ready within {READY_SECONDS:.0f} s; {last}")
            time.sleep(POLL_SECONDS)

    def last_words(self) -> str:
        with self.log.open(errors="replace") as lines:
            last = deque((line.strip()[:QUOTED_LENGTH] for line in lines if line.strip()), QUOTED_LINES)
        return _BEARER.sub(r"\1 …", " / ".join(last)) or "none"

    def _ending(self, status: int) -> str:
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"{how}; its last output: {self.last_words()}"


def _answers(url: str, context: ssl.SSLContext | None) -> bool:
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@cache
def _births() -> "SimpleQueue[Birth]":
    """Where a thread that stays for as long as we do waits for children to start.

    To the kernel the parent of a process is a thread: the child of one that comes and goes, such as those
    that asyncio lends, would be killed when it goes.
    """
    births: SimpleQueue[Birth] = SimpleQueue()
    Thread(target=_bear, args=(births,), name="parent of processes", daemon=True).start()
    return births


def _bear(births: "SimpleQueue[Birth]") -> None:
    while True:
        child, spawn = births.get()
        try:
            child.set_result(spawn())
        except Exception as error:
            child.set_exception(error)


_libc = ctypes.CDLL(None)


def _dies_with(parent: int) -> Callable[[], None]:
    """For the child between fork and exec, where little more than system calls is safe."""

    def tell_kernel() -> None:
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return tell_kernel
