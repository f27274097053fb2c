"""The rules for labels, annotations, and what selects by labels."""

from collections.abc import Iterator, Mapping
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required, too_long
from maitred.sandbox.apiserver.kinds.names import NameRule, check_name, label_key, label_value, subdomain
from maitred.sandbox.apiserver.schema.types import Body

LARGEST_ANNOTATIONS = 256 * 2**10

BAD_OPERATOR = "not a valid selector operator"
NAMES_VALUES = ("In", "NotIn")
NAMES_NO_VALUES = ("Exists", "DoesNotExist")
COMPARES = ("Gt", "Lt")


def check_labels(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key, value in labels.items():
        yield from check_name(path, key, label_key)
        yield from check_name(path, value, label_value)


def check_annotations(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key in annotations:
        for message in label_key(key.lower()):
            yield invalid(path, key, message)
    if are_too_large(annotations):
        yield too_long(path, LARGEST_ANNOTATIONS)


def are_too_large(annotations: Mapping[str, str]) -> bool:
    return sum(len(f"{key}{text}".encode()) for key, text in annotations.items()) > LARGEST_ANNOTATIONS


def check_label_selector(selector: Body | None, path: str) -> Iterator[FieldError]:
    if selector is None:
        return
    yield from check_labels(selector.get("matchLabels", {}), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        yield from _check_requirement(requirement, f"{path}.matchExpressions[{index}]", operators=())


def check_node_selector(selector: Body, path: str) -> Iterator[FieldError]:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from check_node_selector_term(term, f"{path}.nodeSelectorTerms[{index}]")


def check_node_selector_term(term: Body, path: str, *, any_values: bool = False) -> Iterator[FieldError]:
    """`any_values`: values of preferences need not be such as labels can have."""
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        here = f"{path}.matchExpressions[{index}]"
        yield from _check_requirement(requirement, here, operators=COMPARES, any_values=any_values)
    for index, requirement in enumerate(term.get("matchFields", ())):
        yield from _check_field_requirement(requirement, f"{path}.matchFields[{index}]")


def _check_requirement(
    requirement: Body, path: str, *, operators: tuple[str, ...], any_values: bool = False
) -> Iterator[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values", [])
    if operator in NAMES_VALUES:
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in NAMES_NO_VALUES:
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", why)
    elif operator in operators:
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{path}.operator", operator, BAD_OPERATOR)
    yield from check_name(f"{path}.key", requirement.get("key", ""), label_key)
    if not any_values:
        yield from _check_values(values, path, label_value)


def _check_field_requirement(requirement: Body, path: str) -> Iterator[FieldError]:
    values: list[Any] = requirement.get("values", [])
    if requirement.get("operator") not in NAMES_VALUES:
        yield invalid(f"{path}.operator", requirement.get("operator", ""), BAD_OPERATOR)
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", why)
    if requirement.get("key") == "metadata.name":
        yield from _check_values(values, path, subdomain)
    else:
        yield invalid(f"{path}.key", requirement.get("key", ""), "not a valid field selector key")


def _check_values(values: list[str], path: str, rule: NameRule) -> Iterator[FieldError]:
    for index, value in enumerate(values):
        yield from check_name(f"{path}.values[{index}]", value, rule)
