"""Runs on this machine: one after the other here, or several at once in processes of their own."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from selectors import EVENT_READ, DefaultSelector

from maitred.cli.simulate.showing import StudyDisplay
from maitred.cli.simulate.study import EngineError, Study
from maitred.model.manifest import InputError
from maitred.simulate.results import Run


def cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(study: Study, stage: StudyDisplay) -> list[Run]:
    runs = []
    for number in range(len(study.cases)):
        runs.append(study.run(number, partial(stage.reached, number)))
        stage.ended(number)
    return runs


def run_in_processes(study: Study, processes: int, stage: StudyDisplay) -> list[Run]:
    runs: dict[int, Run] = {}
    left = iter(range(len(study.cases)))
    with ExitStack() as stack:
        busy = stack.enter_context(DefaultSelector())
        with interrupts_held_back():
            for number in islice(left, processes):
                worker = Worker(study)
                stack.callback(worker.end)
                worker.take(number)
                busy.register(worker.pipe, EVENT_READ, worker)
        while busy.get_map():
            for key, _ in busy.select():
                worker = key.data
                news = worker.hear()
                if isinstance(news, float):
                    stage.reached(worker.number, news)
                    continue
                runs[worker.number] = news
                stage.ended(worker.number)
                if (following := next(left, None)) is None:
                    busy.unregister(worker.pipe)
                else:
                    worker.take(following)
    return [runs[number] for number in sorted(runs)]


class Worker:
    """A process that runs one case after the other, and ends with this one.

    It has a pipe of its own, so that if it is killed, be it in the middle of a result, this is known at once.
    """

    def __init__(self, study: Study) -> None:
        context = get_context("spawn")
        self.number = 0
        """The case that it runs."""
        self._study = study
        self.pipe, far = context.Pipe()
        self._process = context.Process(target=serve, args=(study, far), daemon=True)
        self._process.start()
        far.close()

    def take(self, number: int) -> None:
        self.number = number
        with suppress(ConnectionError):  # If it is gone, `hear` says so.
            self.pipe.send(number)

    def hear(self) -> float | Run:
        """How far its run is, or what came of it."""
        try:
            news: float | Run | InputError = self.pipe.recv()
        except (EOFError, ConnectionError):
            raise EngineError(self._last_words()) from None
        if isinstance(news, InputError):
            raise news
        return news

    def _last_words(self) -> str:
        self._process.join()
        code = self._process.exitcode or 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        case = self._study.cases[self.number]
        advice = "if the machine is short of memory, run one at a time with --jobs 1"
        return f"{case}: its process ended {how}; {advice}"

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def serve(study: Study, pipe: Connection) -> None:
    """What a worker does, until nobody is there any more who wants to know."""
    with suppress(EOFError, ConnectionError):
        while True:
            number: int = pipe.recv()
            try:
                news: Run | InputError = study.run(number, lambda fraction: pipe.send(float(fraction)))
            except InputError as error:
                news = error
            pipe.send(news)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Until the end of this; in processes that are started meanwhile, for good.

    Ctrl-C reaches every process of a terminal, but it is for this one to end the others, once it has them all
    in its hands. What it blocks reaches its other threads, so it is caught, too.
    """
    resource_tracker.ensure_running()  # When it starts it lets interrupts through again.
    caught: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if caught:
            signal.raise_signal(signal.SIGINT)
