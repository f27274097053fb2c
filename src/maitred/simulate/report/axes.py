"""From amounts to places between 0 and 1, and the marks beside them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from maitred.simulate.report.amounts import number

MOST_MARKS = 5
DAY_S, HOUR_S, MINUTE_S = 86_400.0, 3600.0, 60.0
TIME_UNITS = ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min"), (1.0, "s"))
TIME_STEPS = (
    *(1.0, 5.0, 15.0, 30.0),
    *(MINUTE_S * step for step in (1, 5, 15, 30)),
    *(HOUR_S * step for step in (1, 3, 6, 12)),
    *(DAY_S * step for step in (1, 2, 7, 14, 30, 90, 180, 365)),
)
TIME_MARKS = {
    1.0: "1 s",
    10.0: "10 s",
    MINUTE_S: "1 min",
    10 * MINUTE_S: "10 min",
    HOUR_S: "1 h",
    10 * HOUR_S: "10 h",
    4 * DAY_S: "4 d",
    40 * DAY_S: "40 d",
    400 * DAY_S: "400 d",
}
"""About ten times as long each."""
NO_DEVICES = 0.5
"""Where jobs without devices are on a scale that has no zero."""


@dataclass(frozen=True)
class Axis:
    place: Callable[[float], float]
    marks: tuple[tuple[float, str], ...]
    """Places, and what is written there."""


def time_axis(span: float) -> Axis:
    """From 0, in steps that people count in."""
    span = span or 1.0
    step = next((step for step in TIME_STEPS if span / step <= MOST_MARKS), nice_step(span / DAY_S) * DAY_S)
    length, unit = next((length, unit) for length, unit in TIME_UNITS if step >= length)
    times = [count * step for count in range(int(span / step) + 1)]
    marks = tuple((time / span, f"{time / length:g} {unit}" if time else "0") for time in times)
    return Axis(lambda time: time / span, marks)


def amount_axis(most: float, marks: int = MOST_MARKS) -> Axis:
    """From 0 to the most, which is marked too unless it is next to another mark; in whole steps."""
    most = most or 1.0
    step = max(nice_step(most, marks), 1.0)
    amounts = [count * step for count in range(int(most / step) + 1)]
    if most - amounts[-1] > most / (2 * marks):
        amounts.append(most)
    return Axis(lambda amount: amount / most, tuple((amount / most, number(amount)) for amount in amounts))


def share_axis() -> Axis:
    return Axis(lambda share: share, tuple((percent / 100, f"{percent} %") for percent in range(0, 101, 25)))


def nice_step(most: float, marks: int = MOST_MARKS) -> float:
    """1, 2 or 5 times a power of ten, for at most as many marks as there is room for."""
    magnitude = 10.0 ** math.floor(math.log10(most / marks))
    return next(step * magnitude for step in (1, 2, 5, 10) if most / (step * magnitude) <= marks)


def long_time_axis(shortest: float, longest: float) -> Axis:
    """Logarithmic, for times from a second to years. What is shorter than the first mark is put there."""
    low = max((time for time in TIME_MARKS if time <= shortest), default=1.0)
    high = max(longest, 10 * low)
    width = math.log(high / low)
    marks = [(time, name) for time, name in TIME_MARKS.items() if low <= time <= high]
    every = -(-len(marks) // (MOST_MARKS + 1))
    return Axis(
        lambda time: math.log(min(max(time, low), high) / low) / width,
        tuple((math.log(time / low) / width, name) for time, name in marks[::every]),
    )


def size_axis(least: int, most: int) -> Axis:
    """Logarithmic, for devices; half a step wider than the sizes at both ends."""
    low = math.log2(max(least, NO_DEVICES)) - 0.5
    width = math.log2(max(most, NO_DEVICES)) + 0.5 - low

    def place(devices: float) -> float:
        return (math.log2(max(devices, NO_DEVICES)) - low) / width

    exponents = range(max(math.ceil(low), 0), math.floor(low + width) + 1)
    every = max(-(-len(exponents) // (MOST_MARKS + 1)), 1)
    marks = [(place(2**exponent), f"{2**exponent:,}") for exponent in exponents[::every]]
    return Axis(place, ((place(0), "0"), *marks) if least == 0 else tuple(marks))
