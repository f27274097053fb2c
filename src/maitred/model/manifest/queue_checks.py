"""Queues that contradict themselves or each other: the tree, and what its limits promise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest.checks import (
    LONGEST_NAMESPACE,
    check_distinct,
    check_int32,
    check_pattern,
    check_selector,
    name_problem,
    quantity_problem,
)
from maitred.model.manifest.errors import FieldError
from maitred.model.pod import Quantity
from maitred.model.policy import AnyOrder, FairShare, Prices, matches_model, order_rules
from maitred.model.quantity import LARGEST_AMOUNT, NATIVE, amount, text
from maitred.model.queues import DEFAULT_QUEUE, EVERY_MODEL, Queue, QueueBudget, QueueLimit
from maitred.model.setting import NO_LIMIT

DEEPEST = 8
MOST_QUEUES = 10_000
MOST_LIMITS = 256
LONGEST_QUEUE_NAME = LONGEST_NAMESPACE
"""Queues are named in labels too, as those of other schedulers are."""
LARGEST_BUDGET = 1e12
MOST_WARNINGS = 16
SHOWN = 4
SHORTEST_LIMIT = 1_000
"""Of run times, in milliseconds: deadlines of Jobs are in seconds."""
NOBODY_SHARES = "queues share, and there are none; write queues or leave it out"

Subject = tuple[str, str]
"""A resource, and a pattern of models of devices."""


def check_queues(queues: Sequence[Queue], fair_share: FairShare, order: AnyOrder, prices: Prices) -> None:
    if len(queues) > MOST_QUEUES:
        raise FieldError("queues", f"has {len(queues)} queues; {MOST_QUEUES} are allowed")
    for position, queue in enumerate(queues):
        if problem := name_problem(queue.name, LONGEST_QUEUE_NAME):
            raise FieldError(f"queues[{position}].name", problem)
    check_distinct("queues", "name", [queue.name for queue in queues])
    check_tree(queues)
    for position, queue in enumerate(queues):
        check_queue(f"queues[{position}]", queue)
    check_promises(queues)
    check_run_times(queues)
    check_budgets(queues, prices)
    check_sharing(queues, fair_share, order)


def check_sharing(queues: Sequence[Queue], fair_share: FairShare, order: AnyOrder) -> None:
    rules = order_rules(order)
    if queues and "deadline" in rules and "fair-share" not in rules:
        what = "deadline tells apart only groups of equal share; list fair-share before it"
        raise FieldError(f"order[{rules.index('deadline')}]", what)
    if fair_share.reclaim and not queues:
        raise FieldError("fairShare.reclaim", NOBODY_SHARES)
    spans = {"halfLife": fair_share.half_life, "longestWait": fair_share.longest_wait}
    for name, said in spans.items():
        if said == NO_LIMIT:
            continue
        if not milliseconds(said):
            raise FieldError(f"fairShare.{name}", f"{said!r} is neither {NO_LIMIT} nor {FORM}, above 0s")
        if not queues:
            raise FieldError(f"fairShare.{name}", NOBODY_SHARES)
        if "fair-share" not in rules:
            what = "means nothing, as order leaves fair-share out; add it there, or leave this out"
            raise FieldError(f"fairShare.{name}", what)


# ---- the tree


def check_tree(queues: Sequence[Queue]) -> None:
    parents = {queue.name: queue.parent for queue in queues}
    for position, queue in enumerate(queues):
        field = f"queues[{position}].parent"
        if queue.parent == DEFAULT_QUEUE:
            what = f"{DEFAULT_QUEUE} is for groups that name no queue, so it has no queues below it"
            raise FieldError(field, what)
        if queue.parent and queue.parent not in parents:
            raise FieldError(field, f"there is no queue {queue.parent!r}")
        path = [queue.name]
        while (above := parents[path[-1]]) and above not in path and len(path) <= DEEPEST:
            path.append(above)
        if above in path:
            circle = [*path[path.index(above) :], above]
            raise FieldError(field, f"goes round in a circle: {' below '.join(circle)}")
        if len(path) > DEEPEST:
            raise FieldError(field, f"{queue.name!r} is more than {DEEPEST} levels deep")


# ---- one queue


def check_queue(field: str, queue: Queue) -> None:
    check_selector(f"{field}.namespaces", queue.namespaces)
    range = queue.priorities
    check_int32(f"{field}.priorities.least", range.least)
    check_int32(f"{field}.priorities.most", range.most)
    if range.least is not None and range.most is not None and range.least > range.most:
        raise FieldError(f"{field}.priorities.least", f"{range.least} is above the most, {range.most}")
    if milliseconds(queue.min_runtime) is None:
        raise FieldError(f"{field}.minRuntime", f"{queue.min_runtime!r} is not {FORM}")
    if len(queue.limits) > MOST_LIMITS:
        raise FieldError(f"{field}.limits", f"has {len(queue.limits)} limits; {MOST_LIMITS} are allowed")
    seen: dict[Subject, int] = {}
    for position, limit in enumerate(queue.limits):
        check_limit(f"{field}.limits[{position}]", limit)
        first = seen.setdefault(subject(limit), position)
        if first != position:
            what = f"has the same resource and model as {field}.limits[{first}]; remove one of the two"
            raise FieldError(f"{field}.limits[{position}]", what)


def check_limit(field: str, limit: QueueLimit) -> None:
    if not limit.resource:
        raise FieldError(f"{field}.resource", "is required")
    known = limit.resource in NATIVE or limit.resource.startswith("hugepages-") or "/" in limit.resource
    if not known:
        what = f"{limit.resource[:60]!r} is no resource of pods, such as cpu, memory or nvidia.com/gpu"
        raise FieldError(f"{field}.resource", what)
    if problem := quantity_problem(limit.resource, 0):
        raise FieldError(f"{field}.resource", problem)
    check_pattern(f"{field}.model", limit.model, "models")
    for name, quantity in amounts_of(limit):
        if problem := quantity_problem(limit.resource, quantity):
            raise FieldError(f"{field}.{name}", problem)
        if amount(limit.resource, quantity) > LARGEST_AMOUNT:
            raise FieldError(f"{field}.{name}", f"{str(quantity)[:40]} is more than any cluster has")


def amounts_of(limit: QueueLimit) -> Iterator[tuple[str, Quantity]]:
    """By their names, those that are set."""
    said = (("guarantee", limit.guarantee), ("cap", limit.cap), ("perUser", limit.per_user))
    return ((name, quantity) for name, quantity in said if quantity is not None)


def subject(limit: QueueLimit) -> Subject:
    return limit.resource, limit.model.casefold()


# ---- budgets


def check_budgets(queues: Sequence[Queue], prices: Prices) -> None:
    for position, queue in enumerate(queues):
        if queue.budget is not None:
            check_budget(f"queues[{position}].budget", queue.budget, prices)
    check_ends(queues)


def check_budget(field: str, budget: QueueBudget, prices: Prices) -> None:
    said = {"deviceHours": budget.device_hours, "money": budget.money}
    sizes = {name: size for name, size in said.items() if size is not None}
    if len(sizes) != 1:
        has = "both" if sizes else "neither"
        raise FieldError(field, f"needs either deviceHours or money, and has {has}")
    for name, size in sizes.items():
        if not 0 <= size <= LARGEST_BUDGET:
            raise FieldError(f"{field}.{name}", f"{size:g} is not between 0 and {LARGEST_BUDGET:g}")
    if budget.money is not None and not any(price.per_hour for price in prices.devices):
        raise FieldError(f"{field}.money", "nothing has a price; write prices.devices, or use deviceHours")
    if len(budget.warn_at) > MOST_WARNINGS:
        what = f"has {len(budget.warn_at)} shares; {MOST_WARNINGS} are allowed"
        raise FieldError(f"{field}.warnAt", what)
    for place, share in enumerate(budget.warn_at):
        if not 0 < share <= 1:
            raise FieldError(f"{field}.warnAt[{place}]", f"{share:g} is no share: above 0, and 1 at most")


def check_ends(queues: Sequence[Queue]) -> None:
    """Of groups for which a budget pays it is known how long they run at most."""
    for terms in terms_of(queues):
        chain = [one.queue for one in terms.chain()]
        payers = [one.name for one in chain if one.budget is not None]
        said = any({one.runtime.default, one.runtime.most} != {NO_LIMIT} for one in chain)
        if payers and not terms.below and not said:
            what = (
                f"is required, such as 24h: the budget of {payers[0]} pays for groups from their start, so "
                "it must be known how long those run that say nothing"
            )
            raise FieldError(f"queues[{terms.position}].runtime.default", what)


# ---- how long groups run


def check_run_times(queues: Sequence[Queue]) -> None:
    """What a queue gives to those who say nothing is no more than it allows, and the queues above it."""
    for terms in terms_of(queues):
        field, said = f"queues[{terms.position}].runtime", terms.queue.runtime
        default, most = (check_span(f"{field}.{name}", getattr(said, name)) for name in ("default", "most"))
        for other in terms.chain():
            allowed = milliseconds(other.queue.runtime.most)
            whose = "the most" if other is terms else f"the most of {other.queue.name}"
            for name, span in (("default", default), ("most", most)):
                if span is not None and allowed is not None and span > allowed:
                    what = f"{getattr(said, name)} is longer than {whose}, {other.queue.runtime.most}"
                    raise FieldError(f"{field}.{name}", what)
        if said.enforce_pods and not any(other.queue.runtime.enforce for other in terms.chain()):
            what = "needs enforce: true, of this queue or of one above"
            raise FieldError(f"{field}.enforcePods", what)


def check_span(field: str, said: str) -> int | None:
    span = None if said == NO_LIMIT else milliseconds(said)
    if said != NO_LIMIT and (span is None or span < SHORTEST_LIMIT):
        raise FieldError(field, f"{said!r} is neither {NO_LIMIT} nor {FORM}, of at least 1s")
    return span


# ---- what is promised


class Terms:
    """What one queue says, as amounts by resource and model; and with which of its limits it does."""

    def __init__(self, position: int, queue: Queue) -> None:
        self.position, self.queue = position, queue
        self.below: list[Terms] = []
        self.above: Terms | None = None
        self.amounts: dict[str, dict[Subject, int]] = {"guarantee": {}, "cap": {}, "perUser": {}}
        self.place = {subject(limit): place for place, limit in enumerate(queue.limits)}
        for limit in queue.limits:
            for name, quantity in amounts_of(limit):
                self.amounts[name][subject(limit)] = amount(limit.resource, quantity)

    def field(self, about: Subject, name: str) -> str:
        return f"queues[{self.position}].limits[{self.place[about]}].{name}"

    def where(self, about: Subject) -> str:
        model = self.queue.limits[self.place[about]].model
        return "" if model == EVERY_MODEL else f" on {model}"

    @cached_property
    def guarantees(self) -> Mapping[Subject, int]:
        """What is guaranteed to it: where it says nothing of a resource, what is guaranteed below it."""
        found = dict(self.amounts["guarantee"])
        stated = {resource for resource, _ in found}
        below = dict.fromkeys(about for child in self.below for about in child.guarantees)
        for about in below:
            whole = (about[0], EVERY_MODEL)
            about = whole if whole in below else about
            if about[0] not in stated:
                found[about] = sum(child.guaranteed(about) for child in self.below)
        return found

    def guaranteed(self, about: Subject) -> int:
        """Of models of which it names some: of each, those aside that another of its patterns includes."""
        resource, model = about
        found = self.guarantees
        if about in found:
            return found[about]
        named = {one: n for (name, one), n in found.items() if name == resource and matches_model(model, one)}
        return sum(
            count
            for pattern, count in named.items()
            if not any(other != pattern and matches_model(other, pattern) for other in named)
        )

    def covers(self, about: Subject) -> bool:
        """Whether one of its own guarantees speaks of all that this one does, if any does of the resource."""
        own = [model for resource, model in self.amounts["guarantee"] if resource == about[0]]
        return not own or any(matches_model(model, about[1]) for model in own)

    def chain(self) -> "Iterator[Terms]":
        here: Terms | None = self
        while here is not None:
            yield here
            here = here.above


def check_promises(queues: Sequence[Queue]) -> None:
    every = terms_of(queues)
    for check in (_check_caps, _check_models, _check_covered, _check_sums):
        for terms in every:
            check(terms)


def terms_of(queues: Sequence[Queue]) -> list[Terms]:
    """Of a tree that has been found to be one."""
    every = [Terms(position, queue) for position, queue in enumerate(queues)]
    named = {terms.queue.name: terms for terms in every}
    for terms in every:
        if terms.queue.parent:
            terms.above = named[terms.queue.parent]
            terms.above.below.append(terms)
    return every


def _check_caps(terms: Terms) -> None:
    """No more is promised, or capped, than a cap allows, its own or one above."""
    for name in ("guarantee", "perUser", "cap"):
        for about, count in terms.amounts[name].items():
            for other in terms.chain():
                for wider in _wider(about):
                    cap = other.amounts["cap"].get(wider)
                    if cap is None or count <= cap:
                        continue
                    whose = "the cap" if other is terms else f"the cap of {other.queue.name}"
                    words = f"is above {whose}, {_text(about, cap)}{other.where(wider)}"
                    raise FieldError(terms.field(about, name), f"{_text(about, count)} {words}")


def _check_models(terms: Terms) -> None:
    """A guarantee on one model is part of that on all models."""
    own = terms.amounts["guarantee"]
    for about, count in own.items():
        whole = own.get((about[0], EVERY_MODEL))
        if whole is not None and count > whole:
            words = f"is above the guarantee on all models, {_text(about, whole)}"
            raise FieldError(terms.field(about, "guarantee"), f"{_text(about, count)} {words}")


def _check_sums(terms: Terms) -> None:
    """What a queue is guaranteed, and what it may have, covers what the queues below it are guaranteed."""
    for name in ("guarantee", "cap"):
        for about, count in terms.amounts[name].items():
            parts = {child.queue.name: child.guaranteed(about) for child in terms.below}
            total = sum(parts.values())
            if total > count:
                words = f"is less than the {_text(about, total)} that is guaranteed below it"
                what = f"{_text(about, count)} {words}: {_parts(about, parts)}"
                raise FieldError(terms.field(about, name), what)


def _check_covered(terms: Terms) -> None:
    """A guarantee in a queue that has none itself would hold against its siblings only. Who has it could be
    evicted by others, so that three groups could evict each other in turn."""
    above = terms.above
    for about, count in terms.amounts["guarantee"].items():
        if above is not None and count and not above.covers(about):
            where = terms.where(about) or " on all models"
            what = (
                f"is not part of what {above.queue.name} is guaranteed, which has none{where}; add it there"
            )
            raise FieldError(terms.field(about, "guarantee"), what)


def _wider(about: Subject) -> Iterable[Subject]:
    return dict.fromkeys((about, (about[0], EVERY_MODEL)))


def _parts(about: Subject, parts: Mapping[str, int]) -> str:
    words = [f"{name} {_text(about, count)}" for name, count in parts.items() if count]
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(words[:SHOWN]) + more


def _text(about: Subject, count: int) -> str:
    return text(about[0], count)
