"""Device selectors in CEL: what an expression says of one device, in the words of the DRA environment.

Quantities and versions travel through CEL as maps with one entry, in a form in which equal ones are the same.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import (  # type: ignore[import-untyped]
    ext_bindings,
    ext_math,
    ext_optional,
    ext_strings,
)

from . import quantity

QUANTITY, SEMVER = "quantity", "semver"
TAGGED = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)
Tagged = dict[str, str]
_NUMBER = r"(0|[1-9][0-9]*)"
_PART = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_PART}(?:\.{_PART})*))?(?:\+[0-9A-Za-z.-]+)?")
_INDEXED = re.compile(r"\b(attributes|capacity)\s*\[\s*(\"[^\"]*\"|'[^']*')\s*\]")
_UNKNOWN_WORDS = ("undeclared reference", "no matching overload", "unsupported")


def matches(expression: str, driver: str, device: dict[str, Any]) -> bool | None:
    """Whether a device passes a selector; one on which the expression fails does not.

    None where the expression is not known here, so that nothing is known of the device.
    """
    program = _compiled(expression)
    if not isinstance(program, cel.Expression):
        return program
    result = program.eval(data={"device": _variables(expression, driver, device)})
    return result.type() == cel.Type.BOOL and bool(result.value())


@lru_cache(maxsize=1000)
def _compiled(expression: str) -> cel.Expression | bool | None:
    """The program; False where the text is no expression, None where it has words that are not known."""
    try:
        return _environment().compile(expression)
    except RuntimeError as error:
        return None if any(word in str(error) for word in _UNKNOWN_WORDS) else False


def _variables(expression: str, driver: str, device: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": _by_domain(driver, {k: _plain(v) for k, v in (device.get("attributes") or {}).items()}),
        "capacity": _by_domain(
            driver, {k: _tagged_quantity(v["value"]) for k, v in (device.get("capacity") or {}).items()}
        ),
    }
    for field, domain in _INDEXED.findall(expression):
        found[field].setdefault(domain[1:-1], {})  # a domain that a device does not know is an empty map
    return found


def _by_domain(driver: str, named: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Names without a domain are in that of the driver."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in named.items():
        domain, _, identifier = name.rpartition("/")
        found.setdefault(domain or driver, {})[identifier] = value
    return found


def _plain(attribute: dict[str, Any]) -> Any:
    if attribute.get("versions") is not None:
        return [_tagged_version(text) for text in attribute["versions"]]
    if attribute.get("version") is not None:
        return _tagged_version(attribute["version"])
    kinds = ("ints", "bools", "strings", "int", "bool", "string")
    return next((attribute[kind] for kind in kinds if attribute.get(kind) is not None), None)


# -- quantities ----------------------------------------------------------------------------------------------


def _tagged_quantity(value: Any) -> Tagged:
    return {QUANTITY: str(quantity.parse(value))}


def _amount(value: Tagged) -> Fraction:
    if QUANTITY not in value:
        raise ValueError("is not a quantity")
    return Fraction(value[QUANTITY])


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _as_integer(value: Tagged) -> int:
    amount = _amount(value)
    if amount.denominator != 1 or not -(2**63) <= amount < 2**63:
        raise ValueError("cannot convert to an integer")
    return int(amount)


# -- versions ------------------------------------------------------------------------------------------------

Precedence = tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]


def _tagged_version(text: str, normalize: bool = False) -> Tagged:
    match = _VERSION.fullmatch(_normalized(text) if normalize else text)
    if match is None:
        raise ValueError(f"{text!r} is not a semantic version")
    core, before = ".".join(match.group(1, 2, 3)), match.group(4)
    return {SEMVER: f"{core}-{before}" if before else core}


def _normalized(text: str) -> str:
    """Without a leading v, with three numbers, and these without leading zeros."""
    core, mark, rest = re.match(r"v?([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    numbers = [number.lstrip("0") or "0" if number else "" for number in core.split(".")]
    return ".".join(numbers + ["0"] * (3 - len(numbers))) + mark + rest


def _precedence(value: Tagged) -> Precedence:
    """In the order of semver.org: what comes before a release is less than it, numbers less than words."""
    match = _VERSION.fullmatch(value.get(SEMVER, ""))
    if match is None:
        raise ValueError("is not a semantic version")
    major, minor, patch, before = match.group(1, 2, 3, 4)
    parts = before.split(".") if before else []
    ranked = tuple((not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts)
    return (int(major), int(minor), int(patch)), not parts, ranked


def _is_version(text: str, normalize: bool = False) -> bool:
    try:
        _tagged_version(text, normalize)
    except ValueError:
        return False
    return True


# -- the environment -----------------------------------------------------------------------------------------


def _rank(value: Tagged) -> Any:
    return _amount(value) if QUANTITY in value else _precedence(value)


def _compare(one: Tagged, other: Tagged) -> int:
    if one.keys() != other.keys():
        raise ValueError("cannot be compared")
    return int(_rank(one) > _rank(other)) - int(_rank(one) < _rank(other))


def _sum(one: Tagged, other: Tagged | int, sign: int = 1) -> Tagged:
    amount = Fraction(other) if isinstance(other, int) else _amount(other)
    return {QUANTITY: str(_amount(one) + sign * amount)}


def _includes(values: Any, value: Any) -> bool:
    """Of a list and, for those who do not know whether an attribute is one, of a lone value."""
    return value in values if isinstance(values, list) else bool(values == value)


def _number(index: int) -> Callable[[Tagged], int]:
    return lambda value: _precedence(value)[0][index]


def _sign(value: Tagged) -> int:
    return (_amount(value) > 0) - (_amount(value) < 0)


Overload = tuple[Callable[..., Any], cel.Type, tuple[cel.Type, ...]]
_T = cel.Type
FUNCTIONS: dict[str, tuple[Overload, ...]] = {
    "quantity": ((_tagged_quantity, TAGGED, (_T.STRING,)),),
    "isQuantity": ((_is_quantity, _T.BOOL, (_T.STRING,)),),
    "semver": ((_tagged_version, TAGGED, (_T.STRING,)), (_tagged_version, TAGGED, (_T.STRING, _T.BOOL))),
    "isSemver": ((_is_version, _T.BOOL, (_T.STRING,)), (_is_version, _T.BOOL, (_T.STRING, _T.BOOL))),
}
METHODS: dict[str, tuple[Overload, ...]] = {
    "compareTo": ((_compare, _T.INT, (TAGGED, TAGGED)),),
    "isGreaterThan": ((lambda a, b: _compare(a, b) > 0, _T.BOOL, (TAGGED, TAGGED)),),
    "isLessThan": ((lambda a, b: _compare(a, b) < 0, _T.BOOL, (TAGGED, TAGGED)),),
    "asInteger": ((_as_integer, _T.INT, (TAGGED,)),),
    "isInteger": ((lambda value: _amount(value).denominator == 1, _T.BOOL, (TAGGED,)),),
    "asApproximateFloat": ((lambda value: float(_amount(value)), _T.DOUBLE, (TAGGED,)),),
    "sign": ((_sign, _T.INT, (TAGGED,)),),
    "add": ((_sum, TAGGED, (TAGGED, TAGGED)), (_sum, TAGGED, (TAGGED, _T.INT))),
    "sub": (
        (lambda a, b: _sum(a, b, -1), TAGGED, (TAGGED, TAGGED)),
        (lambda a, b: _sum(a, b, -1), TAGGED, (TAGGED, _T.INT)),
    ),
    "major": ((_number(0), _T.INT, (TAGGED,)),),
    "minor": ((_number(1), _T.INT, (TAGGED,)),),
    "patch": ((_number(2), _T.INT, (TAGGED,)),),
    "includes": tuple(
        (_includes, _T.BOOL, (values, kind))
        for kind in (_T.STRING, _T.INT, _T.BOOL, TAGGED)
        for values in (_T.List(_T.DYN), kind)
    ),
}


@lru_cache(maxsize=1)
def _environment() -> cel.Env:
    return cel.NewEnv(
        variables={"device": _T.Map(_T.STRING, _T.DYN)},
        functions=[
            cel.FunctionDecl(name, [_overload(name, i, one, member) for i, one in enumerate(overloads)])
            for member, table in ((False, FUNCTIONS), (True, METHODS))
            for name, overloads in table.items()
        ],
        extensions=[
            ext_strings.ExtStrings(),
            ext_bindings.ExtBindings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
        ],
    )


def _overload(name: str, number: int, overload: Overload, member: bool) -> cel.Overload:
    impl, returned, parameters = overload
    return cel.Overload(
        f"{name}_{number}", return_type=returned, parameters=list(parameters), is_member=member, impl=impl
    )
