"""Admission: may a group have seats, on devices of which models, and if not, which limit or budget is in the
way.

It is asked before seats are looked for, by everybody who looks for seats (`attempt.py`). A gang is admitted
whole or not at all; members above its quorum are admitted as far as it goes. What is used is counted by the
models of the nodes, so it is asked for one model after the other, in the order of the limits of the queue.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.book import Limit
from maitred.cluster.queues.tree import Bounds
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.context import FULL_RULES, Waiver
from maitred.decide.queues.affording import (
    Overspend,
    first_overspend,
    is_paid_for,
    least_rates,
    overspends,
    pays_by_price,
    rates_of_seats,
    runs_unpaid,
)
from maitred.model.devices.counting import resources_of_class
from maitred.model.policy import Policy, is_device, is_device_driver, matches_model
from maitred.model.queues import EVERY_MODEL

LimitKind = Literal["cap", "perUser", "borrow", "lend"]


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that would be exceeded."""

    kind: LimitKind
    queue: int
    """Whose limit it is; of `lend`, the queue that does not lend."""
    bounds: Bounds
    allowed: int
    used: int
    asked: int
    user: str = ""


class ModelChoice(NamedTuple):
    """What a group may look for, and where."""

    ask: Ask
    """The group, or as many of its members as are admitted."""
    nodes: Mask | None = None
    """None: everywhere."""
    model: int | None = None
    """The model of the devices there, if it must be one."""


def is_limited(trial: Trial, ask: Ask, waiver: Waiver = FULL_RULES) -> bool:
    """Whether any limit of a queue could be in the way."""
    return trial.queues is not None and ask.account != NO_ACCOUNT and "Quota" not in waiver.lift


def choices(use: QueueUse, ask: Ask, policy: Policy) -> Iterator[ModelChoice]:
    """The models that the group may use now, the one that it should use first, first."""
    for most, choice in use.answered(ask.account, ask.unnamed(), lambda: _found_choices(use, ask, policy)):
        yield choice._replace(ask=ask if most == len(ask.shapes) else _first(ask, most))


def _found_choices(use: QueueUse, ask: Ask, policy: Policy) -> list[tuple[int, ModelChoice]]:
    """The same for all who ask for the same, with how many members are admitted."""
    found = ((_admitted(use, ask, *wanted), wanted.choice) for wanted in _wanted(use, ask, policy))
    return [(most, choice) for most, choice in found if most >= max(1, ask.need)]


def within_limits(use: QueueUse, ask: Ask, found: Assignment) -> Assignment | None:
    """These seats, or as many of them as no limit forbids; None if those are too few."""
    amounts, rates = _amounts_of_seats(use, ask, found), rates_of_seats(use, ask, found)

    def excess_of(count: int) -> Excess | Overspend | None:
        return first_excess(use, ask, amounts[:count].sum(axis=0)) or first_overspend(
            use, ask.account, rates[:count].sum(axis=0)
        )

    most = _largest(len(found), max(1, ask.need), excess_of)
    if most == len(found):
        return found
    return None if ask.intricate or most < max(1, ask.need) else found[:most]


def is_admitted(trial: Trial, ask: Ask, seats: Assignment, promised: bool = False) -> bool:
    """Whether no limit forbids these seats; `promised` if they were promised before."""
    use = trial.queues
    if use is None or ask.account == NO_ACCOUNT or not seats:
        return True
    if first_excess(use, ask, _amounts_of_seats(use, ask, seats).sum(axis=0)) is not None:
        return False
    rates = rates_of_seats(use, ask, seats).sum(axis=0)
    return first_overspend(use, ask.account, rates, promised) is None


def refusals(use: QueueUse, ask: Ask, policy: Policy) -> list[tuple[str, Excess | Overspend | None]]:
    """The models that the group could be on, and what limit forbids it there, or what budget cannot pay for
    it; None if it is admitted."""
    need = max(1, ask.need)
    named = {"" if model is None else use.book.models[model]: model for model in _models_of(use, ask, policy)}
    return [(name, _excess_of(use, ask, named[name], need)) for name in sorted(named)]


@dataclass(frozen=True, slots=True)
class Obstacles:
    """All that is in the way of a group on devices of one model."""

    amounts: Ints
    """What the least of it that counts would use of every kind."""
    excesses: tuple[Excess, ...]
    overspends: tuple[Overspend, ...]

    def __len__(self) -> int:
        return len(self.excesses) + len(self.overspends)


def all_obstacles(use: QueueUse, ask: Ask, policy: Policy) -> Iterator[Obstacles]:
    """For each model that it could be on, the preferred first."""
    need = max(1, ask.need)
    for model in _models_of(use, ask, policy):
        amounts = _least_amounts(use, ask, model, need)
        yield Obstacles(
            amounts,
            tuple(_excesses(use, ask, amounts, model is not None)),
            tuple(overspends(use, ask.account, least_rates(use, ask, model, need))),
        )


def _models_of(use: QueueUse, ask: Ask, policy: Policy) -> list[int | None]:
    """None where no model is known that it could be on."""
    models = [one.model for one in models_for(use, ask, policy)]
    return [*_devices_and_models(use, ask, policy)[1]] or [None] if None in models else models


def is_refused(trial: Trial, ask: Ask, policy: Policy) -> bool:
    """Whether limits forbid the group, on whatever devices it would be."""
    if trial.queues is None or ask.account == NO_ACCOUNT:
        return False
    return all(excess is not None for _, excess in refusals(trial.queues, ask, policy))


def as_scavenger(trial: Trial, ask: Ask, policy: Policy) -> tuple[Ask, Overspend | None] | None:
    """The same for nothing, and what is too dear, if its queue lets groups run that no budget can pay for: on
    none of the models that it may use. Members whose group pays pay too, or wait."""
    use = trial.queues
    if use is None or ask.scavenges or ask.seated or not is_paid_for(use, ask.account):
        return None
    need = max(1, ask.need)
    rates = [least_rates(use, ask, choice.model, need) for choice in models_for(use, ask, policy)]
    if not all(runs_unpaid(use, ask.account, one) for one in rates):
        return None
    unpaid = replace(ask, account=use.book.scavenging(ask.account), scavenges=True)
    return unpaid, first_overspend(use, ask.account, rates[0])


def shares_claims(use: QueueUse, ask: Ask) -> bool:
    """Whether what it would use depends on who has the claims already that its members may share."""
    return any(map(use.shared_by, ask.distinct))


def amounts_asked(use: QueueUse, ask: Ask, policy: Policy) -> list[Ints]:
    """What the least of it that counts would use of every kind, on devices of each model that it may use."""
    return [wanted.least for wanted in _wanted(use, ask, policy)]


class Wanted(NamedTuple):
    """Devices of one model that a group may use, and what the least of it that counts would use of every kind
    there."""

    choice: ModelChoice
    least: Ints


def _wanted(use: QueueUse, ask: Ask, policy: Policy) -> list[Wanted]:
    """The preferred first; of the group only what it asks for is in it."""

    def found() -> list[Wanted]:
        need = max(1, ask.need)
        choices = models_for(use, ask, policy)
        return [Wanted(choice, _least_amounts(use, ask, choice.model, need)) for choice in choices]

    return found() if shares_claims(use, ask) else use.derived(ask.unnamed(), found)


def narrowed(
    use: QueueUse, ask: Ask, policy: Policy, worthwhile: Callable[[Ints], bool] = lambda amounts: True
) -> Iterator[tuple[Ask, Ints]]:
    """The group on devices of one model after the other, and what it would use of them, if that much is
    `worthwhile`. Where no limit is in the way, limits are left out: pods that leave cannot make them matter.
    Where it may be on any model they stay, because they are known to hold only once seats are found."""
    need = max(1, ask.need)
    for choice, amounts in _wanted(use, ask, policy):
        if not worthwhile(amounts):
            continue
        if first_overspend(use, ask.account, least_rates(use, ask, choice.model, need)) is not None:
            continue  # who leaves for it frees no money
        free = choice.model is not None and first_excess(use, ask, amounts) is None
        account, closed = NO_ACCOUNT if free else ask.account, ask.closed
        if choice.nodes is not None:
            closed = closed | frozenset(np.flatnonzero(~choice.nodes).tolist())
        same = account == ask.account and choice.nodes is None
        yield ask if same else replace(ask, account=account, closed=closed), amounts


# -- which models --------------------------------------------------------------------------------------


def models_for(use: QueueUse, ask: Ask, policy: Policy) -> list[ModelChoice]:
    """Where members of one gang are together on devices of one model, and the model; in the order in which
    its queue prefers them."""
    devices, there = _devices_and_models(use, ask, policy)
    if not devices:
        return [ModelChoice(ask)]
    if len(there) == 1:
        return [ModelChoice(ask, model=there[0])]
    one_by_one = len(ask.shapes) + len(ask.seated) == 1 and not _by_model(use, ask, devices)
    if not there or ask.any_model or one_by_one:
        return [ModelChoice(ask)]
    if ask.seated:
        there = tuple(sorted({int(model) for model in use.models[ask.anchors()]}))
        if len(there) > 1:
            return [ModelChoice(ask)]  # they were seated before there were queues
    return [ModelChoice(ask, use.models == model, model) for model in _preferred(use, ask, there)]


def _devices_and_models(use: QueueUse, ask: Ask, policy: Policy) -> tuple[list[str], tuple[int, ...]]:
    """The kinds of devices that its members ask for, and the models of nodes that have any of these."""

    def found() -> tuple[list[str], tuple[int, ...]]:
        devices = _devices(use, ask, policy)
        return devices, _models_with(use, devices) if devices else ()

    return use.derived(("devices and models", ask.distinct), found)


def _devices(use: QueueUse, ask: Ask, policy: Policy) -> list[str]:
    """The kinds of devices that its members ask for, as resources."""
    resources = {name for shape in ask.distinct for name, _ in use.load.needs(shape).requests}
    found = {name for name in resources if is_device(policy, name)}
    for name in {name for shape in ask.distinct for name in use.classes_of(shape)}:
        known = resources_of_class(name, use.book.snapshot.inventory.classes)
        limited = any(one in use.book.tree.resources for one in known)
        if limited or is_device_driver(policy, name) or any(is_device(policy, one) for one in known):
            found.update(known)
    return sorted(found)


def _by_model(use: QueueUse, ask: Ask, resources: list[str]) -> bool:
    """Whether a limit, or a price, speaks of devices of one model that the group may use."""
    if pays_by_price(use, ask.account):
        return True
    own = (limit for queue in _chain(use, ask.account) for limit in use.book.limits[queue])
    limits = (*own, *use.book.not_lent(_chain(use, ask.account)))
    return any(one.bounds.model != EVERY_MODEL and one.bounds.resource in resources for one in limits)


def _models_with(use: QueueUse, devices: list[str]) -> tuple[int, ...]:
    """The models of nodes that have any of these."""
    nodes = use.load.nodes

    def there() -> tuple[int, ...]:
        columns = [column for name in devices if (column := nodes.resource_column(name)) is not None]
        having = (nodes.allocatable[columns] > 0).any(axis=0) | use.book.claims.publishing(nodes, devices)
        return tuple(np.unique(use.models[nodes.alive & having]).tolist())

    inventory = use.book.snapshot.inventory
    return nodes.derived_with(inventory, ("models with", use.book.models, *devices), there)


def _preferred(use: QueueUse, ask: Ask, there: tuple[int, ...]) -> list[int]:
    """First what the limits of its queue name, in their order, then those of the queues above; by name, what
    none of them names."""
    names, found = sorted(use.book.models[place] for place in there), list[str]()
    for queue in reversed(_chain(use, ask.account)):
        for limit in use.book.limits[queue]:
            if limit.bounds.model != EVERY_MODEL:
                found += [name for name in names if matches_model(limit.bounds.model, name)]
    return [use.book.models.index(name) for name in dict.fromkeys((*found, *names))]


# -- how many members ----------------------------------------------------------------------------------


def _admitted(use: QueueUse, ask: Ask, choice: ModelChoice, least: Ints) -> int:
    """How many of its members are admitted on devices of a model; as many as there may be, where it is not
    known yet which members they would be; 0 where those are too few."""
    everyone, need, model = len(ask.shapes), max(1, ask.need), choice.model

    def excess_of(count: int) -> Excess | Overspend | None:
        amounts = least if count == need else _least_amounts(use, ask, model, count)
        return _excess_with(use, ask, model, count, amounts)

    if len(ask.distinct) > 1 or ask.intricate:
        return everyone if excess_of(need) is None else 0
    return _largest(everyone, need, excess_of)


def _largest(most: int, least: int, excess_of: Callable[[int], Excess | Overspend | None]) -> int:
    """The largest count up to `most` that exceeds nothing: what fewer members use is no more. 0 where it is
    less than `least`, as for most who wait."""
    if not most or excess_of(most) is None:
        return most
    if least >= most or excess_of(least) is not None:
        return 0
    while most - least > 1:
        middle = (least + most) // 2
        if excess_of(middle) is None:
            least = middle
        else:
            most = middle
    return least


def _first(ask: Ask, count: int) -> Ask:
    return replace(ask, shapes=ask.shapes[:count], orders=ask.orders[:count])


def _excess_of(use: QueueUse, ask: Ask, model: int | None, count: int) -> Excess | Overspend | None:
    """The first limit or budget that is exceeded with so many members, whichever they are."""
    return _excess_with(use, ask, model, count, _least_amounts(use, ask, model, count))


def _excess_with(
    use: QueueUse, ask: Ask, model: int | None, count: int, amounts: Ints
) -> Excess | Overspend | None:
    """The same, if these use so much."""
    excess = first_excess(use, ask, amounts, model is not None)
    return excess or first_overspend(use, ask.account, least_rates(use, ask, model, count))


def _least_amounts(use: QueueUse, ask: Ask, model: int | None, count: int) -> Ints:
    """What so many members use at least of every kind. Where they may be on any model it counts as if their
    nodes said none: for limits that speak of all models."""
    if shares_claims(use, ask):
        return _amounts_of_least(use, ask, model, count)
    shapes = ask.shapes if len(ask.distinct) > 1 else ask.distinct
    key = ("least", shapes, model, min(count, len(ask.shapes)))
    return use.derived(key, lambda: _amounts_of_least(use, ask, model, count))


def _amounts_of_least(use: QueueUse, ask: Ask, model: int | None, count: int) -> Ints:
    shapes = ask.shapes
    if len(ask.distinct) == 1:
        least = use.amounts_of(shapes[0]) * min(count, len(shapes))
    else:
        least = np.sort(np.array([use.amounts_of(shape) for shape in shapes]), axis=0)[:count].sum(axis=0)
    for claim, of_claim in _newly_shared(use, ask).items():
        without = sum(1 for shape in shapes if claim not in dict(use.shared_by(shape)))
        if count > without:
            least = least + of_claim
    return use.on_model(least, 0 if model is None else model)


def _newly_shared(use: QueueUse, ask: Ask) -> dict[str, Ints]:
    """Claims that its members share and that do not count yet: each counts once, for all of them."""
    shared = {claim: amounts for shape in ask.distinct for claim, amounts in use.shared_by(shape)}
    return {claim: amounts for claim, amounts in shared.items() if not use.counts_already(claim)}


def _amounts_of_seats(use: QueueUse, ask: Ask, found: Assignment) -> Ints:
    """What each of these members uses of every kind."""
    amounts = np.zeros((len(found), len(use.book.tree.resources), len(use.book.models)), dtype=np.int64)
    models = use.models[[row for _, row in found]]
    of_members = np.array([use.amounts_of(ask.shapes[member]) for member, _ in found])
    amounts[np.arange(len(found)), :, models] = of_members
    for claim, of_claim in _newly_shared(use, ask).items():
        users = (place for place, (m, _) in enumerate(found) if claim in dict(use.shared_by(ask.shapes[m])))
        if (first := next(users, None)) is not None:
            amounts[first, :, models[first]] += of_claim
    return amounts.reshape(len(found), use.book.kinds)


# -- limits --------------------------------------------------------------------------------------------


def _chain(use: QueueUse, account: int) -> tuple[int, ...]:
    return use.book.tree.chain[use.book.accounts[account].queue]


def first_excess(use: QueueUse, ask: Ask, amounts: Ints, on_models: bool = True) -> Excess | None:
    """The first limit that so much more for a group would exceed: of its own queue, of those above it, and of
    those that do not lend. Without `on_models` it is not known yet on devices of which models it is. An
    override lifts it past the first two. What others do not lend is theirs."""
    return use.answered(
        ask.account,
        (ask.account, ask.lifted, on_models, amounts.tobytes()),
        lambda: next(_excesses(use, ask, amounts, on_models), None),
    )


def _excesses(use: QueueUse, ask: Ask, amounts: Ints, on_models: bool) -> Iterator[Excess]:
    chain = _chain(use, ask.account)
    if not ask.lifted:
        yield from _own_excesses(use, ask.account, amounts, on_models)
    if on_models:
        yield from _not_lent(use, chain, amounts)


def _own_excesses(use: QueueUse, account: int, amounts: Ints, on_models: bool) -> Iterator[Excess]:
    book, user, of_kinds = use.book, use.book.accounts[account].user, amounts.tolist()
    for queue in reversed(_chain(use, account)):
        for limit in book.limits[queue]:
            asked, bounds = limit.asked(of_kinds), limit.bounds
            if not asked:
                continue
            if bounds.cap is not None:
                yield from _beyond(use, limit, "cap", bounds.cap, book.row(queue), asked)
            if bounds.per_user is not None and (row := book.row_of_user(queue, user)) is not None:
                yield from _beyond(use, limit, "perUser", bounds.per_user, row, asked, user)
        if on_models and book.tree.queues[queue].borrow == "never":
            yield from beyond_guarantees(use, queue, amounts)


def _beyond(
    use: QueueUse, limit: Limit, kind: LimitKind, most: int, row: int, asked: int, user: str = ""
) -> Iterator[Excess]:
    used = use.used_of(limit, row)
    if used + asked > most:
        yield Excess(kind, limit.queue, limit.bounds, most, used, asked, user)


def beyond_guarantees(use: QueueUse, queue: int, amounts: Ints) -> Iterator[Excess]:
    """What a queue would have beyond its guarantees, so that it would have to borrow."""
    book, used = use.book, use.of_queue(queue)
    for limit in book.limits[queue]:
        asked = int(amounts[limit.kinds].sum())
        if asked and limit.bounds.guarantee is not None:
            yield from _beyond(use, limit, "borrow", limit.bounds.guarantee, book.row(queue), asked)
    for place in book.unguaranteed[queue]:
        if amounts[place]:
            bounds = book.bounds_of_kind(place)
            yield Excess("borrow", queue, bounds, 0, int(used[place]), int(amounts[place]))


def _not_lent(use: QueueUse, chain: tuple[int, ...], amounts: Ints) -> Iterator[Excess]:
    """What would be taken of what queues that never lend have not used of their guarantees, by a group that
    borrows beside them."""
    book = use.book
    kept_from = [one for one in book.not_lent(chain) if _borrows_beside(use, chain, one.queue, amounts)]
    for limit in kept_from:
        asked = int(amounts[limit.kinds].sum())
        kept = sum(_unused(use, one) for one in kept_from if np.isin(one.kinds, limit.kinds).all())
        free = int((book.hardware - use.used_in(0))[limit.kinds].sum()) if asked and kept else 0
        if asked and kept and free - asked < kept:
            yield Excess("lend", limit.queue, limit.bounds, max(0, free - kept), 0, asked)


def _borrows_beside(use: QueueUse, chain: tuple[int, ...], other: int, amounts: Ints) -> bool:
    """Whether the queue of a group would be beyond its guarantee, where its branch parts from another."""
    theirs = use.book.tree.chain[other]
    beside = next((queue for queue in chain if queue not in theirs), None)
    return beside is not None and not use.within_guarantee(beside, amounts)


def _unused(use: QueueUse, limit: Limit) -> int:
    used = int(use.of_queue(limit.queue)[limit.kinds].sum())
    return max(0, (limit.bounds.guarantee or 0) - used)
