"""The documents of maitred's own: a Policy, and a Plan that was written earlier."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec

from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest.checks import (
    check_distinct,
    check_key,
    check_pattern,
    check_quantities,
    check_selector,
    check_taints,
    label_key_problem,
    name_problem,
)
from maitred.model.manifest.errors import FieldError, InputError, field_error
from maitred.model.manifest.parsing import Document, parts
from maitred.model.manifest.queue_checks import check_queues
from maitred.model.manifest.reservation_checks import check_reservations, check_time_zone
from maitred.model.policy import (
    LIVE_ORDERS,
    AnyOrder,
    Healing,
    Holds,
    OrderRule,
    Policy,
    Preemption,
    Prices,
)
from maitred.model.provisioning import (
    ATOMIC_SCALE_UP,
    CHECK_CAPACITY,
    LONGEST_PARAMETER,
    MOST_PARAMETERS,
    Provisioning,
)
from maitred.model.setting import NO_LIMIT
from maitred.model.tariff import MIDNIGHT, WHOLE, clock, thousandths

LONGEST_CURRENCY = 16
MOST_PRICE_HOURS = 24
ROUNDING = 1e-6
SHORTEST_GRACE = 1000
"""In milliseconds. With none at all the API server forgets a pod whose containers may still be running."""

T = TypeVar("T")


def read_policy(data: bytes, source: str) -> tuple[Policy, dict[str, Any]]:
    """The policy, and the document as it was written."""
    policy, plain = read_settings(data, source, Policy)
    try:
        check_policy(policy)
    except FieldError as problem:
        raise InputError(source, "", problem.field, problem.what) from None
    return policy, plain


def read_live_policy(data: bytes, source: str) -> tuple[Policy, dict[str, Any]]:
    """A policy for decisions on a real cluster, of which less is known than of a simulated one."""
    policy, plain = read_policy(data, source)
    if isinstance(policy.order, str) and policy.order not in LIVE_ORDERS:
        known = " and ".join(LIVE_ORDERS)
        what = f"{policy.order!r} needs run times, which only simulations know; use {known}"
        raise InputError(source, "", "order", what)
    if policy.placement != "whole-groups":
        what = f"{policy.placement!r} is for comparison in simulations only; leave it out"
        raise InputError(source, "", "placement", what)
    return policy, plain


def read_settings(
    data: bytes,
    source: str,
    into: type[T],
    hook: Callable[[type, Any], Any] | None = None,
    named: Iterable[str] = (),
) -> tuple[T, dict[str, Any]]:
    """One document of settings, and the same as it was written.

    `hook` reads types of the caller's own. `named` are the fields that have objects by their names.
    """
    document = only_document(data, source)
    plain = document.plain()
    try:
        for field in named:
            check_bodies(field, document.plain(nulls=True).get(field))
        return msgspec.convert(plain, into, dec_hook=hook), plain
    except msgspec.ValidationError as error:
        problem = field_error(error, plain, into)
    except FieldError as found:
        problem = found
    raise InputError(source, "", problem.field, problem.what)


def check_bodies(field: str, objects: object) -> None:
    """Nulls are taken as absent, but who writes a name wants to have something of that name."""
    for name, body in objects.items() if isinstance(objects, Mapping) else ():
        if body is None:
            raise FieldError(f"{field}.{name}", "is empty; write {} for the defaults")


def read_plan(data: bytes, source: str) -> dict[str, Any]:
    """A Plan as it was written; who judges it trusts nothing in it."""
    plain = only_document(data, source).plain()
    if plain.get("kind") != "Plan":
        raise InputError(source, "", "kind", "must be Plan")
    return plain


def only_document(data: bytes, source: str) -> Document:
    found = [body for _, body in parts(data, source) if body is not None]
    if len(found) > 1:
        raise InputError(source, "", "", f"has {len(found)} documents; one is allowed")
    return Document(source, "", "", "", found[0] if found else {})


def check_policy(policy: Policy) -> None:
    """What the types leave open; a policy that contradicts itself would decide what was not meant."""
    levels = policy.topology.levels
    for position, level in enumerate(levels):
        if problem := name_problem(level.name):
            raise FieldError(f"topology.levels[{position}].name", problem)
        check_key(f"topology.levels[{position}].key", level.key)
    check_distinct("topology.levels", "name", [level.name for level in levels])
    check_distinct("topology.levels", "key", [level.key for level in levels])
    check_selector("nodes.managed", policy.nodes.managed)
    check_templates(policy)
    for position, key in enumerate(policy.health.taints):
        check_key(f"health.taints[{position}]", key)
    check_healing(policy.healing, [level.name for level in levels])
    check_preemption(policy.preemption)
    if milliseconds(policy.workloads.keep_room) is None:
        raise FieldError("workloads.keepRoom", f"{policy.workloads.keep_room!r} is not {FORM}")
    for position, pattern in enumerate(policy.devices.resources):
        check_pattern(f"devices.resources[{position}]", pattern, "resource names")
    for position, key in enumerate(policy.devices.model_labels):
        check_key(f"devices.modelLabels[{position}]", key)
    timeout = policy.devices.binding_timeout
    if not milliseconds(timeout):
        raise FieldError("devices.bindingTimeout", f"{timeout!r} is not {FORM}, above 0s")
    check_prices(policy.prices)
    check_price_hours(policy.prices)
    check_order(policy.order)
    check_holds(policy.holds)
    check_queues(policy.queues, policy.fair_share, policy.order, policy.prices)
    check_reservations(policy.reservations, policy.queues, [level.name for level in levels])
    check_provisioning(policy.provisioning)


def check_holds(holds: Holds) -> None:
    if holds.after != NO_LIMIT and not milliseconds(holds.after):
        raise FieldError("holds.after", f"{holds.after!r} is neither {NO_LIMIT} nor {FORM}, above 0s")
    if not holds.depth and (holds.after != NO_LIMIT or holds.per_queue is not None):
        raise FieldError("holds.depth", "is 0, so no group has a hold; write how many may have one")


def check_order(order: AnyOrder) -> None:
    """A list that puts priority behind something would let groups go first that must leave again at once."""
    if isinstance(order, str):
        return
    if not order:
        raise FieldError("order", f"is empty; write {', '.join(get_args(OrderRule))}")
    for position, rule in enumerate(order):
        if rule in order[:position]:
            raise FieldError(f"order[{position}]", f"{rule} is listed twice; remove one of the two")
        if rule == "priority" and position:
            raise FieldError(f"order[{position}]", "priority comes first or not at all; move it to the front")
        if rule == "name" and position < len(order) - 1:
            raise FieldError(f"order[{position}]", "name tells all groups apart; move it to the end")
        if rule == "deadline" and "age" in order[:position]:
            what = "age leaves no two groups for it to tell apart; move it before age"
            raise FieldError(f"order[{position}]", what)
        if rule == "fair-share" and "deadline" in order[:position]:
            what = "deadlines, which tenants write, would go before shares; move deadline behind it"
            raise FieldError(f"order[{position}]", what)


def check_healing(healing: Healing, levels: Sequence[str]) -> None:
    for name, said in (("grace", healing.grace), ("hold", healing.hold), ("window", healing.window)):
        if milliseconds(said) is None:
            raise FieldError(f"healing.{name}", f"{said!r} is not {FORM}")
    lemons = healing.lemons
    for name, span in {"halfLife": lemons.half_life, "release": lemons.release}.items():
        if not milliseconds(span):
            raise FieldError(f"healing.lemons.{name}", f"{span!r} is not {FORM}, above 0s")
    if not milliseconds(healing.slow.again):
        raise FieldError("healing.slow.again", f"{healing.slow.again!r} is not {FORM}, above 0s")
    for name, level in {"lemons": lemons.level, "spares": healing.spares.level}.items():
        if level and level not in levels:
            check_key(f"healing.{name}.level", level)


def check_preemption(preemption: Preemption) -> None:
    if milliseconds(preemption.delay) is None:
        raise FieldError("preemption.delay", f"{preemption.delay!r} is not {FORM}")
    limit = preemption.grace_limit
    if limit != NO_LIMIT and (milliseconds(limit) or 0) < SHORTEST_GRACE:
        what = f"{limit!r} is neither {NO_LIMIT} nor {FORM}, of at least 1s"
        raise FieldError("preemption.graceLimit", what)
    check_selector("preemption.protection.namespaces", preemption.protection.namespaces)


def check_prices(prices: Prices) -> None:
    """What follows an entry for the same devices would never count, which cannot be meant."""
    if not prices.currency.isprintable() or not 0 < len(prices.currency.strip()) <= LONGEST_CURRENCY:
        raise FieldError("prices.currency", f"{prices.currency[:40]!r} is not a currency such as USD")
    seen: dict[tuple[str, str], int] = {}
    for position, price in enumerate(prices.devices):
        field = f"prices.devices[{position}]"
        check_pattern(f"{field}.resource", price.resource, "resource names")
        check_pattern(f"{field}.model", price.model, "models")
        first = seen.setdefault((price.resource, price.model), position)
        if first != position:
            raise FieldError(
                field, f"has the same resource and model as prices.devices[{first}]; remove one of the two"
            )


def check_price_hours(prices: Prices) -> None:
    if prices.hours and not prices.devices:
        raise FieldError("prices.hours", "nothing has a price; write prices.devices")
    if len(prices.hours) > MOST_PRICE_HOURS:
        raise FieldError("prices.hours", f"has {len(prices.hours)} entries; {MOST_PRICE_HOURS} are the most")
    for position, one in enumerate(prices.hours):
        field = f"prices.hours[{position}]"
        if abs(one.factor * WHOLE - thousandths(one.factor)) > ROUNDING:
            raise FieldError(f"{field}.factor", f"{one.factor} has more than three digits after the point")
        for name, text in {"from": one.begin, "until": one.until}.items():
            if clock(text) is None and (name, text) != ("until", MIDNIGHT):
                raise FieldError(f"{field}.{name}", f"{text[:40]!r} is not a time of day such as 22:00")
        if one.begin == one.until:
            raise FieldError(
                f"{field}.until", f"{one.until} is when it begins; for a whole day leave out both"
            )
        if not one.days:
            raise FieldError(f"{field}.days", "is empty; name days, or leave it out for every day")
        if len({*one.days}) < len(one.days):
            raise FieldError(f"{field}.days", "names a day twice; remove one of the two")
        check_time_zone(f"{field}.", one.time_zone)


def check_provisioning(one: Provisioning) -> None:
    for name, text in {"after": one.after, "keep": one.keep}.items():
        if milliseconds(text) is None:
            raise FieldError(f"provisioning.{name}", f"{text!r} is not {FORM}")
    if not one.class_name and one != Provisioning():
        raise FieldError(
            "provisioning.class", f"is empty, so no nodes are asked for; write {ATOMIC_SCALE_UP}"
        )
    if one.class_name == CHECK_CAPACITY:
        what = f"{CHECK_CAPACITY} adds no nodes; write {ATOMIC_SCALE_UP}"
        raise FieldError("provisioning.class", what)
    if one.class_name and (problem := name_problem(one.class_name)):
        raise FieldError("provisioning.class", problem)
    if len(one.parameters) > MOST_PARAMETERS:
        raise FieldError("provisioning.parameters", f"has more than {MOST_PARAMETERS} entries")
    for name, value in one.parameters.items():
        if len(value) > LONGEST_PARAMETER:
            raise FieldError(f"provisioning.parameters[{name!r}]", f"is longer than {LONGEST_PARAMETER}")


def check_templates(policy: Policy) -> None:
    for position, template in enumerate(policy.node_templates):
        field = f"nodeTemplates[{position}]"
        if problem := name_problem(template.name):
            raise FieldError(f"{field}.name", problem)
        check_quantities([(f"{field}.allocatable", template.allocatable)])
        for key in template.labels:
            if problem := label_key_problem(key):
                raise FieldError(f"{field}.labels", problem)
        check_taints(f"{field}.taints", template.taints)
    check_distinct("nodeTemplates", "name", [template.name for template in policy.node_templates])
