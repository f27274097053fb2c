"""What is taken of the devices of an offer, from what claims have of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from maitred.cluster.devices.allocated import DeviceUse
from maitred.cluster.devices.allocator import DeviceUsage
from maitred.cluster.devices.pools import PooledDevice


def places(
    devices: Sequence[PooledDevice], start: int, uses: Sequence[DeviceUse], gone: Collection[str]
) -> Iterator[tuple[int, DeviceUse]]:
    if uses:
        numbers = {device.id.device: start + number for number, device in enumerate(devices)}
        for use in uses:
            if use.claim not in gone and use.device in numbers:
                yield numbers[use.device], use


def usage_of(uses: Iterable[tuple[int, DeviceUse]]) -> DeviceUsage:
    taken, shares = set[int](), dict[int, Counter[str]]()
    for number, use in uses:
        if use.consumed is None:
            taken.add(number)
        else:
            share = shares.setdefault(number, Counter())
            for name, amount in use.consumed:
                share[name] += amount
    return DeviceUsage(
        frozenset(taken),
        tuple((number, tuple(sorted(share.items()))) for number, share in sorted(shares.items())),
    )


def joined(usages: Sequence[DeviceUsage], starts: Sequence[int]) -> DeviceUsage:
    taken = frozenset(start + one for usage, start in zip(usages, starts, strict=True) for one in usage.taken)
    shares = tuple(
        (start + number, share)
        for usage, start in zip(usages, starts, strict=True)
        for number, share in usage.shares
    )
    return DeviceUsage(taken, shares)
