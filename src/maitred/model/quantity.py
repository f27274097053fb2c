"""Kubernetes quantities as exact integers.

Inside maitred an amount of a resource is an int: thousandths of a core for `cpu`, whole units for everything
else. Fractions are rounded up, as kube-scheduler does, so that a sum of requests is never too small.
"""

import re
from functools import lru_cache

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
STORAGE = "storage"
"""The size of a volume: compared, never added up."""
NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
"""Resources of every node, huge pages aside; all others have a domain in their names."""

LARGEST_AMOUNT = 2**60
"""The most that a node is taken to have of anything: 1Ei of memory. What a node has and what a pod takes from
it are exact up to here, and the difference of the two fits an int64 column with room to spare."""
TOO_MUCH = LARGEST_AMOUNT + 1
"""What a request counts as that is larger still: it fits no node."""
LARGEST_STORAGE = 2**63 - 1
"""Larger quantities are cut to this by Kubernetes itself."""

_LONGEST_TEXT = 64
_PATTERN = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE])?", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {suffix: 1024**power for power, suffix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}


class QuantityError(ValueError):
    """The text is no quantity."""


def is_whole(resource: str) -> bool:
    """Whether it is given out in whole units, to one pod alone: a device, or a huge page."""
    vendors = "/" in resource and "kubernetes.io/" not in resource
    return vendors or resource.startswith("hugepages-")


def amount(resource: str, quantity: str | int | float) -> int:
    """The quantity in the unit in which `resource` is counted, rounded up."""
    return rounded(resource, thousandths(quantity))


@lru_cache(maxsize=65536)
def thousandths(quantity: str | int | float) -> int:
    """What an object may have of something, finely enough to be added up before it is rounded.

    The API server rounds every quantity of a pod or node up to thousandths when it is created.
    """
    nano = parse_nano(quantity)
    if nano < 0:
        raise QuantityError(f"{quantity!r} is negative")
    return -(-nano // 10**6)


def rounded(resource: str, milli: int) -> int:
    """Thousandths in the unit in which `resource` is counted, rounded up. What is too much is cut, not
    refused."""
    result = milli if resource == CPU else -(-milli // 1000)
    return min(result, LARGEST_STORAGE if resource == STORAGE else TOO_MUCH)


def parse_nano(quantity: str | int | float) -> int:
    """The quantity in billionths, exact down to one billionth and rounded away from zero below it."""
    text = repr(quantity) if isinstance(quantity, float) else str(quantity)
    match = _PATTERN.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if not match or not (match[2] or match[3]):
        raise QuantityError(f"{quantity!r} is not a quantity, such as 500m, 4, 1.5Gi or 2e3")
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4] or ""
    digits, exponent = int(whole + fraction or "0"), 9 - len(fraction)
    multiplier = 1
    if suffix in _BINARY:
        multiplier = _BINARY[suffix]
    elif suffix in _DECIMAL:
        exponent += _DECIMAL[suffix]
    else:
        exponent += int(suffix[1:])
    scale: int = 10 ** abs(exponent)
    nano = digits * multiplier * scale if exponent >= 0 else -(-digits * multiplier // scale)
    return -nano if sign == "-" else nano


def text(resource: str, amount: int) -> str:
    """The amount as Kubernetes would write it: `1500m` of cpu, `64Gi` of memory, `8` of anything else."""
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-"):
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            if amount and amount % _BINARY[suffix] == 0:
                return f"{amount // _BINARY[suffix]}{suffix}"
    return str(amount)


def nano_text(nano: int) -> str:
    """Billionths as Kubernetes would write them, with the suffix that leaves the fewest digits."""
    if nano % 10**9:
        scale, suffix = next(
            (10**power, name) for power, name in ((6, "m"), (3, "u"), (0, "n")) if nano % 10**power == 0
        )
        return f"{nano // scale}{suffix}"
    whole = nano // 10**9
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if whole and whole % _BINARY[suffix] == 0:
            return f"{whole // _BINARY[suffix]}{suffix}"
    return str(whole)
