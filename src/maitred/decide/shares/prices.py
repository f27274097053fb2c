"""What shares of a device are worth when the demand for them is packed as well as it can be.

The price of a share is the dual of the cutting-stock problem: prices are as high as they can be while no set
of shares that fits one device together costs more than a device.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.devices.allocator import WHOLE as WHOLE
from maitred.cluster.nodes import Ints

Floats = NDArray[np.float64]
CLOSE = 1e-9
MOST_SIZES = 32
"""The commonest. Few demands have more, and it would take ever longer to set their prices."""


def worths(demand: Counter[int]) -> Floats:
    """By the thousandths that are free of a device: the price of the dearest set of shares that fits there.

    `demand` counts shares by size. Sets that would cost more than a device are found one after the other,
    and prices are set anew with each.
    """
    if not demand:
        return np.zeros(WHOLE + 1)
    sizes: Ints = np.array(sorted(dict(demand.most_common(MOST_SIZES)), reverse=True), dtype=np.int64)
    counts = np.array([demand[size] for size in sizes.tolist()], dtype=np.float64)
    sets = np.diag((WHOLE // sizes).astype(np.float64))
    while True:
        worth, dearest = dearest_sets(sizes, highest_prices(counts / counts.sum(), sets))
        if worth[WHOLE] <= 1 + CLOSE:
            return worth
        sets = np.vstack([sets, dearest])


def dearest_sets(sizes: Ints, prices: Floats) -> tuple[Floats, Floats]:
    """What the dearest set costs that fits each room, and how many of each size it has in the largest."""
    worth = np.zeros(WHOLE + 1)
    last: Ints = np.full(WHOLE + 1, -1)
    """The size that the set has beside the one for the rest of the room; -1: a smaller room would do."""
    for room in range(int(sizes.min()), WHOLE + 1):
        fits = sizes <= room
        costs = np.where(fits, worth[room - np.where(fits, sizes, 0)] + prices, 0.0)
        best = int(costs.argmax())
        if costs[best] > worth[room - 1] + CLOSE / WHOLE:
            worth[room], last[room] = costs[best], best
        else:
            worth[room] = worth[room - 1]
    chosen, room = np.zeros(len(sizes)), WHOLE
    while room > 0:
        if last[room] < 0:
            room -= 1
        else:
            chosen[last[room]] += 1
            room -= int(sizes[last[room]])
    return worth, chosen


def highest_prices(weights: Floats, sets: Floats) -> Floats:
    """The prices with the highest weighted sum at which no set costs more than 1: the simplex method, with
    Bland's rule, which never goes round in circles."""
    count, goods = sets.shape
    slack = np.eye(count)
    table = np.block([[sets, slack, np.ones((count, 1))], [-weights, np.zeros(count + 1)]])
    basis = np.arange(goods, goods + count)
    while len(falling := np.flatnonzero(table[-1, :-1] < -CLOSE)):
        enters = falling[0]
        column = table[:-1, enters]
        limits = np.full(count, np.inf)
        np.divide(table[:-1, -1], column, out=limits, where=column > CLOSE)
        leaves = np.lexsort((basis, limits))[0]
        table[leaves] /= table[leaves, enters]
        others = np.arange(count + 1) != leaves
        table[others] -= np.outer(table[others, enters], table[leaves])
        basis[leaves] = enters
    prices = np.zeros(goods + count)
    prices[basis] = table[:-1, -1]
    return prices[:goods]
