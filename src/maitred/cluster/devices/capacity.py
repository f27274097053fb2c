"""What a request takes of a device that several share, rounded as the driver's policy says."""

from collections.abc import Mapping

from maitred.cluster.devices.pools import PooledCapacity
from maitred.model.devices.slices import CapacityRange, CapacityRequestPolicy
from maitred.model.quantity import QuantityError, parse_nano

WHOLE, MILLI = 10**9, 10**6
UNLIMITED = 2**31
Amounts = dict[str, int]
"""By name, in billionths."""


def consumption(
    wanted: Mapping[str, int], capacity: Mapping[str, PooledCapacity], consumed: Mapping[str, int]
) -> Amounts | None:
    """What an allocation takes of a device of which so much is taken; None if there is not enough left, or
    the device does not give out so much."""
    if any(name not in capacity for name in wanted):
        return None
    taken = Amounts()
    for name, has in capacity.items():
        try:
            amount = _rounded(wanted.get(name), has)
            if amount < 0 or _violates(amount, has.policy):
                return None
        except QuantityError:
            return None
        if consumed.get(name, 0) + amount > has.value:
            return None
        taken[name] = amount
    return taken


def shares_of(wanted: Mapping[str, int], capacity: Mapping[str, PooledCapacity]) -> int:
    """How often an allocation fits into a device that nobody has a share of."""
    taken = consumption(wanted, capacity, {})
    if taken is None:
        return 0
    return min(
        (capacity[name].value // amount for name, amount in taken.items() if amount), default=UNLIMITED
    )


def _rounded(wanted: int | None, has: PooledCapacity) -> int:
    policy = has.policy
    if wanted is None:
        default = None if policy is None else policy.default
        return has.value if default is None else parse_nano(default)
    if policy is None:
        return wanted
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _up_to_step(wanted, policy.valid_range)
    for value in policy.valid_values:
        if wanted <= parse_nano(value):
            return parse_nano(value)
    return wanted


def _up_to_step(wanted: int, valid: CapacityRange) -> int:
    least = parse_nano(valid.min or 0)
    if wanted < least:
        return least
    if valid.step is None:
        return wanted
    unit = _unit(valid)
    step, least, wanted = (-(-one // unit) for one in (parse_nano(valid.step), least, wanted))
    return (least + -(-(wanted - least) // step) * step) * unit if step else wanted * unit


def _unit(valid: CapacityRange) -> int:
    """Ranges are counted in thousandths where all of them are such, else in whole units."""
    given = [parse_nano(one) for one in (valid.min, valid.max, valid.step) if one is not None]
    fine = all(one % MILLI == 0 for one in given)
    return MILLI if fine and (valid.step is None or parse_nano(valid.step) >= MILLI) else WHOLE


def _violates(amount: int, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == parse_nano(policy.default)):
        return False
    if policy.valid_range is not None:
        valid = policy.valid_range
        if valid.max is not None and amount > parse_nano(valid.max):
            return True
        if valid.step is None:
            return False
        unit = _unit(valid)
        step, least = (-(-parse_nano(one or 0) // unit) for one in (valid.step, valid.min))
        return bool(step) and (amount // unit - least) % step != 0
    values = [parse_nano(value) for value in policy.valid_values]
    return bool(values) and amount not in values
