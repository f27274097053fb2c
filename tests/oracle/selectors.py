"""Label selectors, node selectors, tolerations and quantities, as Kubernetes defines them."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil

from tests.oracle.builders import Obj

_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {letter: 1000**power for power, letter in enumerate("kMGTPE", 1)}
_SMALL = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
_SUFFIXES: dict[str, Fraction | int] = {**_BINARY, **_DECIMAL, **_SMALL}


def quantity(text: str | int | float) -> Fraction:
    """The exact value of a Kubernetes quantity."""
    text = str(text)
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * factor
    return Fraction(text)


def amount(resource: str, text: str | int | float) -> int:
    """CPU in thousandths, everything else in whole units, rounded up."""
    return ceil(quantity(text) * 1000) if resource == "cpu" else ceil(quantity(text))


def requirement_holds(requirement: Obj, labels: Mapping[str, str]) -> bool:
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values", ())
    value = labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    if value is None or not value.lstrip("-").isdigit():
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def selector_matches(selector: Obj | None, labels: Mapping[str, str]) -> bool:
    """No selector matches nothing, the empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels", {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        requirement_holds(expr, labels) for expr in selector.get("matchExpressions", ())
    )


def node_terms_match(terms: Sequence[Obj], labels: Mapping[str, str], name: str) -> bool:
    """Whether one of the terms of a node selector holds; a term that says nothing never does."""
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(requirement_holds(expr, labels) for expr in term.get("matchExpressions", ()))
        and all(requirement_holds(expr, {"metadata.name": name}) for expr in term.get("matchFields", ()))
        for term in terms
    )


def tolerated(taint: Obj, tolerations: Iterable[Obj]) -> bool:
    return any(
        toleration.get("effect") in (None, "", taint["effect"])
        and toleration.get("key", "") in ("", taint["key"])
        and (toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", ""))
        for toleration in tolerations
    )
