"""The tree of queues as the policy has it, and what each of them may have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from maitred.model.duration import milliseconds
from maitred.model.quantity import amount
from maitred.model.queues import DEFAULT_QUEUE, EVERY_MODEL, PriorityRange, Queue, QueueLimit
from maitred.model.runtime import RunTerms
from maitred.model.selector import Selector, selector_of

TOP = -1
"""What is above the queues that have no parent."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a queue may have of one resource, on devices of some models together."""

    resource: str
    model: str
    guarantee: int | None = None
    cap: int | None = None
    per_user: int | None = None


class QueueTree:
    """Queues by number: those of the policy in its order; last the default queue, if it is not among them."""

    def __init__(self, written: Sequence[Queue]) -> None:
        names = {queue.name for queue in written}
        self.queues = (*written, *(() if DEFAULT_QUEUE in names else (Queue(DEFAULT_QUEUE),)))
        self.number: Mapping[str, int] = {queue.name: place for place, queue in enumerate(self.queues)}
        self.parent = [self.number[queue.parent] if queue.parent else TOP for queue in self.queues]
        self.chain = [self._chain(queue) for queue in range(len(self.queues))]
        """Each queue and all above it, from the top down."""
        self.depth = max(map(len, self.chain))

    def _chain(self, queue: int) -> tuple[int, ...]:
        above = self.parent[queue]
        return (*(() if above == TOP else self._chain(above)), queue)

    def __len__(self) -> int:
        return len(self.queues)

    @cached_property
    def below(self) -> Mapping[int, list[int]]:
        """The queues under each queue, and those at the top."""
        found: dict[int, list[int]] = {queue: [] for queue in (TOP, *range(len(self)))}
        for queue, above in enumerate(self.parent):
            found[above].append(queue)
        return found

    def is_leaf(self, queue: int) -> bool:
        """Whether groups may name it: only a queue that has no others below it."""
        return not self.below[queue]

    @cached_property
    def has_budget(self) -> list[bool]:
        """Whether a budget pays for what each queue has: its own, or one above."""
        return [any(self.queues[one].budget is not None for one in chain) for chain in self.chain]

    @cached_property
    def selectors(self) -> list[list[Selector]]:
        """Whose groups may use each queue, and those above it, where that is not everybody."""
        said = [selector_of(queue.namespaces) for queue in self.queues]
        return [[one for queue in chain if (one := said[queue]) is not None] for chain in self.chain]

    @cached_property
    def priorities(self) -> list[list[tuple[str, PriorityRange]]]:
        """What each queue and those above say of the priorities of their groups, from the top down, by name;
        those aside that say nothing."""
        said = {place: one.priorities for place, one in enumerate(self.queues)}
        silent = PriorityRange()
        return [
            [(self.queues[one].name, said[one]) for one in chain if said[one] != silent]
            for chain in self.chain
        ]

    def from_below(self) -> Iterator[int]:
        """Every queue after all that are below it."""
        return iter(sorted(range(len(self)), key=lambda queue: -len(self.chain[queue])))

    @cached_property
    def bounds(self) -> list[tuple[Bounds, ...]]:
        """Of each queue, in the order of the policy; what follows from those below it comes last."""
        found = [tuple(map(_bounds, queue.limits)) for queue in self.queues]
        for queue in self.from_below():
            own = {one.resource for one in found[queue] if one.guarantee is not None}
            theirs = [found[child] for child in self.below[queue]]
            found[queue] += tuple(_together(theirs, own))
        return found

    @cached_property
    def run_terms(self) -> list[RunTerms]:
        """Of each queue: the nearest default, and the least that it or any queue above it allows."""
        return [_run_terms([self.queues[one] for one in chain]) for chain in self.chain]

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """All that any limit speaks of."""
        return tuple(sorted({one.resource for bounds in self.bounds for one in bounds}))

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The models that limits speak of, those aside that speak of all."""
        patterns = (one.model for bounds in self.bounds for one in bounds)
        return tuple(dict.fromkeys(pattern for pattern in patterns if pattern != EVERY_MODEL))


def _run_terms(chain: Sequence[Queue]) -> RunTerms:
    """`chain`: a queue and all above it, from the top down."""
    enforced = any(one.runtime.enforce for one in chain)
    found = RunTerms(enforced=enforced, pods=enforced and any(one.runtime.enforce_pods for one in chain))
    for queue in chain:
        default, most = milliseconds(queue.runtime.default), milliseconds(queue.runtime.most)
        if default is not None:
            found = found._replace(default=default, default_of=queue.name)
        if most is not None and (found.most is None or most < found.most):
            found = found._replace(most=most, most_of=queue.name)
    return found


def _bounds(limit: QueueLimit) -> Bounds:
    sizes = (limit.guarantee, limit.cap, limit.per_user)
    read = [None if size is None else amount(limit.resource, size) for size in sizes]
    return Bounds(limit.resource, limit.model, *read)


def _together(children: Sequence[Sequence[Bounds]], own: set[str]) -> Iterator[Bounds]:
    """What is guaranteed to some queues, taken together, of resources of which the one above states no
    guarantee."""
    guaranteed = [one for child in children for one in child if one.guarantee is not None]
    for resource in sorted({one.resource for one in guaranteed} - own):
        theirs = [
            [b for b in child if b.resource == resource and b.guarantee is not None] for child in children
        ]
        if any(one.model == EVERY_MODEL for child in theirs for one in child):
            yield Bounds(resource, EVERY_MODEL, sum(map(_in_all, theirs)))
            continue
        for model in dict.fromkeys(one.model for child in theirs for one in child):
            same = (one.guarantee or 0 for child in theirs for one in child if one.model == model)
            yield Bounds(resource, model, sum(same))


def _in_all(bounds: Sequence[Bounds]) -> int:
    """What a queue is guaranteed of a resource, whatever the model."""
    of_all = [one.guarantee or 0 for one in bounds if one.model == EVERY_MODEL]
    return of_all[0] if of_all else sum(one.guarantee or 0 for one in bounds)
