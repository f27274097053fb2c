"""What queues have used in the past, and what is to be remembered of it: older use counts for less.

Of every queue and resource there is an average over time, in which what was used a half-life ago counts for
half. It is written down now and then, with what the queue had at that moment. What it comes to at any later
moment follows from a formula. In between the queue is taken to have had the mean of what it had before and
after. If nobody looked for long, it is taken to have had only what it had both times: what nobody has seen is
charged to nobody.

Only the order goes by it. What is reclaimed goes by what queues have now.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from maitred.cluster.queues.book import QueueBook
from maitred.cluster.queues.charges import Floats
from maitred.cluster.queues.tree import QueueTree
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.snapshot import Snapshot
from maitred.model.duration import milliseconds
from maitred.model.memory import LONGEST
from maitred.model.policy import Policy
from maitred.model.quantity import amount
from maitred.model.usage import NO_USAGE, SETTLED_EVERY, UNREAD, QueueUsage, UsageMemory

SEEN = 2 * SETTLED_EVERY
"""Within so long what a queue had before and after says what it had in between."""
DIGITS = 6
LEAST = 10.0**-DIGITS
"""What is less is nothing."""


def averaged(average: Floats, before: Floats, after: Floats, elapsed: float, half_life: float) -> Floats:
    """The average, so much time later."""
    meanwhile = (before + after) / 2 if elapsed <= SEEN else np.minimum(before, after)
    stays = 0.5 ** (elapsed / half_life)
    found: Floats = average * stays + meanwhile * (1 - stays)
    return found


@dataclass(frozen=True, eq=False)
class PastUse:
    average: Floats
    """Of each queue, with those below it, and of each resource that counts."""

    def share(self, use: QueueUse, queue: int) -> float:
        """The share that decides whose turn it is: of the past and of the present, half each."""
        present = use.book.by_resource(use.of_queue(queue))
        return use.book.share_of((self.average[queue] + present) / 2, queue)


@dataclass(frozen=True)
class UsageOutcome:
    past: PastUse | None = None
    memory: UsageMemory | None = None
    """What is to be remembered from now on; None if that is what was."""
    wake_at: int | None = None
    """In milliseconds since 1970."""
    warning: str = ""


NOTHING_DECAYS = UsageOutcome()


def settle(snapshot: Snapshot, policy: Policy, now: datetime) -> UsageOutcome:
    half_life = milliseconds(policy.fair_share.half_life)
    if snapshot.book is None or half_life is None:
        return NOTHING_DECAYS
    return _Reckoning(snapshot.book, snapshot.usage, half_life, now, snapshot.unread_usage).outcome()


class _Reckoning:
    def __init__(
        self, book: QueueBook, memory: UsageMemory, half_life: int, now: datetime, unread: str
    ) -> None:
        self.book, self.half_life, self.now, self.warning = book, half_life, now, unread
        self.elapsed = 0.0 if memory.at is None else (now - memory.at).total_seconds() * 1000
        if self.elapsed < -SETTLED_EVERY:
            self.warning = UNREAD.format("it is from the future")
            memory = NO_USAGE
        self.elapsed, self.memory = max(0.0, self.elapsed), memory
        self.units = np.array([amount(one, 1) for one in book.tree.resources], dtype=np.float64)

    def outcome(self) -> UsageOutcome:
        tree, known = self.book.tree, {one.queue: one for one in self.memory.queues}
        names = [queue.name for queue in tree.queues]
        gone = sorted(known.keys() - set(names))
        present = np.zeros((len(names) + len(gone), len(self.units)))
        present[: len(names)] = self._present(tree)
        average = self._average([*names, *gone], known, present)
        memory = self._remembered([*names, *gone], present, average)
        is_due = self.memory.at is None or self.elapsed >= SETTLED_EVERY
        last = self.now if is_due or self.memory.at is None else self.memory.at
        return UsageOutcome(
            PastUse(_with_below(tree, average[: len(names)])),
            memory if is_due and (memory.queues or self.memory.queues) else None,
            round(last.timestamp() * 1000) + SETTLED_EVERY if memory.queues else None,
            self.warning,
        )

    def _present(self, tree: QueueTree) -> Floats:
        """What groups in each queue itself use."""
        rows = self.book.used_at_first[1 : 1 + len(tree)]
        leaves = np.array([tree.is_leaf(queue) for queue in range(len(tree))])
        found: Floats = self.book.by_resource(rows) * leaves[:, None]
        return found

    def _average(self, names: list[str], known: dict[str, QueueUsage], present: Floats) -> Floats:
        """Who is not remembered has used nothing; if nobody is, all have used what they have now."""
        if self.memory.at is None:
            return present
        resources, units = self.book.tree.resources, self.units
        nothing = QueueUsage("")
        rows = [known.get(name, nothing) for name in names]
        had = np.array([[one.had.get(r, 0.0) for r in resources] for one in rows]).reshape(present.shape)
        before = np.array([[one.average.get(r, 0.0) for r in resources] for one in rows])
        before = before.reshape(present.shape)
        return averaged(before * units, had * units, present, self.elapsed, self.half_life)

    def _remembered(self, names: list[str], present: Floats, average: Floats) -> UsageMemory:
        """Queues that have used too little to count are left out; if there are too many, those that have used
        least."""
        resources = self.book.tree.resources
        had, mean = np.round(present / self.units, DIGITS), np.round(average / self.units, DIGITS)
        most = np.maximum(had, mean).max(axis=1, initial=0.0)
        order = [row for row in np.argsort(-most, kind="stable").tolist() if most[row] >= LEAST]
        found = [
            QueueUsage(names[row], _by_name(resources, had[row]), _by_name(resources, mean[row]))
            for row in order
        ]
        while len(str(memory := UsageMemory(self.now, tuple(sorted(found, key=_name))))) > LONGEST:
            del found[len(found) * 3 // 4 :]
        return memory


def _name(one: QueueUsage) -> str:
    return one.queue


def _by_name(resources: tuple[str, ...], amounts: Floats) -> dict[str, float]:
    return {name: n for name, n in zip(resources, amounts.tolist(), strict=True) if n}


def _with_below(tree: QueueTree, own: Floats) -> Floats:
    """What each queue has with all below it."""
    found = own.copy()
    pairs = [pair for chain in tree.chain for pair in pairwise(chain[-2:])]
    for above, queue in sorted(pairs, key=lambda pair: -len(tree.chain[pair[1]])):
        found[above] += found[queue]
    return found
