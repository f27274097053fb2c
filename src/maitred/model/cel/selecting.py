"""Selectors: compiled once for each expression, then asked about devices.

Kubernetes refuses an expression that is longer than 10 KiB, which holds here too, and stops one that costs
more than a million for a device. Here the limit is a tenth of that: Python takes about two microseconds for
a unit, and a scheduler that waits seconds for one selector serves nobody else. Selectors of the usual kind
cost less than a hundred, and one that goes through all attributes of a device a few thousand.

The API server also estimates the worst case when it stores an expression. That is not repeated, since the
cost of each evaluation is counted.

Also refused, though Kubernetes takes them: nesting deeper than 32 (there 250), a macro variable named
`device`, `exists_one` with two variables (`existsOne` works), `has(device.driver)` within a larger
expression, time stamps and durations, `format`, URLs, named formats and protobuf messages. Each is an error
that names the reason.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Protocol

from maitred.model.cel.checking import checker
from maitred.model.cel.evaluating import CelScope, Compiler, TooExpensive
from maitred.model.cel.facts import DeviceFacts
from maitred.model.cel.reading import Reads, reads_of
from maitred.model.cel.tree import DoesNotCompile
from maitred.model.cel.values import Domains, EvaluationError, type_name

LONGEST_EXPRESSION = 10 * 1024
MOST_COST = 100_000
_KEPT = 4096


class SelectorError(ValueError):
    """The expression does not compile, or it fails or costs too much for a device."""


class Selector(Protocol):
    expression: str
    reads: Reads

    def matches(self, device: DeviceFacts) -> bool:
        """Whether the device is selected. Raises SelectorError where Kubernetes would fail."""

    def examine(self, device: DeviceFacts) -> tuple[bool | str, int]:
        """The same, or why it fails; and what that has cost."""


@lru_cache(maxsize=_KEPT)
def _compiled(expression: str) -> "_Compiled | SelectorError":
    try:
        return _Compiled(expression)
    except SelectorError as error:
        return error


def selector(expression: str) -> Selector:
    """Raises SelectorError if the expression does not compile."""
    found = _compiled(expression)
    if isinstance(found, SelectorError):
        raise SelectorError(str(found))
    return found


class _Compiled:
    def __init__(self, expression: str) -> None:
        self.expression = expression
        length = len(expression.encode())
        if length > LONGEST_EXPRESSION:
            raise SelectorError(
                f"the expression has {length} bytes, at most {LONGEST_EXPRESSION} are allowed"
            )
        try:
            checked, kind = checker().check(expression)
            self._run = Compiler(checked).compile(checked.root)
        except DoesNotCompile as error:
            raise SelectorError(f"the expression does not compile: {error}") from None
        if kind not in ("bool", "dyn"):
            raise SelectorError(f"the expression does not compile: it must evaluate to bool, not {kind}")
        self.reads = reads_of(checked)
        self._attributes = _split(self.reads.attributes)
        self._capacity = _split(self.reads.capacity)

    def matches(self, device: DeviceFacts) -> bool:
        found, _ = self.examine(device)
        if isinstance(found, str):
            raise SelectorError(found)
        return found

    def examine(self, device: DeviceFacts) -> tuple[bool | str, int]:
        names: dict[str, Any] = {
            "device.driver": device.driver,
            "device.allowMultipleAllocations": device.allow_multiple_allocations,
            "device.attributes": self._seen(device.attributes, self._attributes),
            "device.capacity": self._seen(device.capacity, self._capacity),
        }
        names["device"] = {name.removeprefix("device."): value for name, value in names.items()}
        frame = CelScope(names, MOST_COST)
        found: bool | str
        try:
            result = self._run(frame)
            wrong = f"the expression gives a value of type {type_name(result)} for this device, not a bool"
            found = result if type(result) is bool else wrong
        except EvaluationError as error:
            found = f"the expression fails for this device: {error}"
        except TooExpensive:
            found = f"the expression costs more than {MOST_COST} for this device"
        return found, MOST_COST - frame.left

    def _seen(self, values: Mapping[str, Any], named: list[tuple[str, str, str]]) -> Domains:
        """What the expression reads, by domain. The rest of a device, which may be large, is left out."""
        seen = Domains()
        if not self.reads.everything and not self.reads.domains:
            for name, domain, identifier in named:
                if name in values:
                    seen.setdefault(domain, {})[identifier] = values[name]
            return seen
        chosen = {name for name, _, _ in named}
        for name, value in values.items():
            domain, _, identifier = name.partition("/")
            if self.reads.everything or domain in self.reads.domains or name in chosen:
                seen.setdefault(domain, {})[identifier] = value
        return seen


def _split(names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Each name with its domain and its id."""
    return [(name, *name.split("/", 1)) for name in sorted(names)]  # type: ignore[misc]
