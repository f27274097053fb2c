"""What may be written for a time or a number: one value, or how it is spread over the jobs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest.errors import field_error
from maitred.model.setting import Setting
from maitred.simulate.clock import LONGEST, SECOND
from maitred.simulate.scenario.streams import Generator

MOST_VALUES = 10_000

MILLISECOND = SECOND // 1000

Ints: TypeAlias = NDArray[np.int64]


class ScenarioDuration(int):
    """Microseconds; a whole number of milliseconds."""


class Median(Setting, frozen=True):
    """Log-normal."""

    median: ScenarioDuration
    sigma: Annotated[float, msgspec.Meta(ge=0, le=10)]

    def draw(self, chance: Generator, count: int) -> Ints:
        return whole(chance.lognormal(math.log(self.median), self.sigma, count))


class Mean(Setting, frozen=True):
    """Exponential."""

    mean: ScenarioDuration

    def draw(self, chance: Generator, count: int) -> Ints:
        return whole(chance.exponential(self.mean, count))


class Between(Setting, frozen=True):
    """Uniform."""

    start: ScenarioDuration = msgspec.field(name="from")
    until: ScenarioDuration

    def draw(self, chance: Generator, count: int) -> Ints:
        return chance.integers(self.start, self.until, count, endpoint=True)


@dataclass(frozen=True, slots=True)
class OneOf:
    values: tuple[int, ...]
    weights: tuple[float, ...]

    def draw(self, chance: Generator, count: int) -> Ints:
        shares = np.array(self.weights) / sum(self.weights)
        return np.array(self.values, dtype=np.int64)[chance.choice(len(self.values), count, p=shares)]


class DrawnTime:
    """How long something takes."""

    def __init__(self, spread: OneOf | Median | Mean | Between) -> None:
        self.spread = spread

    def draw(self, chance: Generator, count: int) -> Ints:
        return self.spread.draw(chance, count)


class DrawnCount:
    """How many there are of something."""

    def __init__(self, spread: OneOf) -> None:
        self.spread = spread

    def draw(self, chance: Generator, count: int) -> Ints:
        return self.spread.draw(chance, count)


Weights = tuple[Annotated[float, msgspec.Meta(gt=0, le=1e9)], ...]


class WrittenTimes(Setting, frozen=True):
    values: tuple[ScenarioDuration, ...] | None = None
    weights: Weights | None = None
    log_normal: Median | None = None
    exponential: Mean | None = None
    uniform: Between | None = None


class WrittenAmounts(Setting, frozen=True):
    values: tuple[Annotated[int, msgspec.Meta(ge=0, le=1_000_000)], ...]
    weights: Weights | None = None


def read_value(wanted: type, given: Any) -> Any:
    """For msgspec: the values above, from what was written. ValueError says what is wrong with it."""
    return _READERS[wanted](given)


def duration(given: Any) -> ScenarioDuration:
    shown, time = str(given)[:40], None
    if isinstance(given, str):
        time = milliseconds(given)
    elif isinstance(given, int | float) and not isinstance(given, bool) and abs(given) * SECOND <= LONGEST:
        time = round(given * 1000)
    if shown.startswith("-"):
        raise ValueError(f"{shown} is a negative time")
    if time is None:
        raise ValueError(f"{shown!r} is not {FORM}")
    return ScenarioDuration(time * MILLISECOND)


def times(given: Any) -> DrawnTime:
    if not isinstance(given, dict):
        return DrawnTime(OneOf((duration(given),), (1.0,)))
    written = convert(given, WrittenTimes)
    spreads = [written.log_normal, written.exponential, written.uniform]
    chosen = [spread for spread in spreads if spread is not None]
    if written.values is not None:
        chosen.append(one_of(written.values, written.weights))
    elif written.weights is not None:
        raise ValueError("weights: need values; add values")
    if len(chosen) != 1:
        raise ValueError("give one of values, logNormal, exponential and uniform")
    check_spread(chosen[0])
    return DrawnTime(chosen[0])


def check_spread(spread: object) -> None:
    match spread:
        case Median(median=0):
            raise ValueError("logNormal.median: must be more than 0")
        case Mean(mean=0):
            raise ValueError("exponential.mean: must be more than 0")
        case Between(start=start, until=until) if until < start:
            raise ValueError("uniform.until: is before from")


def amounts(given: Any) -> DrawnCount:
    if isinstance(given, dict):
        written = convert(given, WrittenAmounts)
        return DrawnCount(one_of(written.values, written.weights))
    (value,) = convert({"values": [given]}, WrittenAmounts, "values[0]").values
    return DrawnCount(one_of((value,), None))


def one_of(values: tuple[int, ...], weights: Weights | None) -> OneOf:
    if not values:
        raise ValueError("values: is empty")
    if len(values) > MOST_VALUES:
        raise ValueError(f"values: more than {MOST_VALUES}")
    if weights is not None and len(weights) != len(values):
        raise ValueError(f"weights: there are {len(weights)}, and {len(values)} values")
    return OneOf(values, weights or (1.0,) * len(values))


def convert(given: dict[str, Any], into: type[Any], hidden: str = "") -> Any:
    """Errors name the field within; `hidden` is one that nobody wrote."""
    try:
        return msgspec.convert(given, into, dec_hook=read_value)
    except msgspec.ValidationError as error:
        problem = field_error(error, given, into)
        place = problem.field.removeprefix(hidden)
        raise ValueError(f"{place}: {problem.what}" if place else problem.what) from None


def whole(drawn: NDArray[np.float64]) -> Ints:
    """Lengths of time are whole microseconds, at least one, and end some day."""
    return np.clip(np.rint(drawn), 1, LONGEST).astype(np.int64)


_READERS: dict[type, Callable[[Any], Any]] = {
    ScenarioDuration: duration,
    DrawnTime: times,
    DrawnCount: amounts,
}
