"""The rules for labels, annotations, and what selects by labels."""

from collections.abc import Iterator, Mapping, Sequence

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


def selects(selector: Body | None, labels: Mapping[str, str]) -> bool:
    """Whether these labels are meant. An empty selector means everything, none means nothing."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        _holds(requirement, labels) for requirement in selector.get("matchExpressions", ())
    )


def _holds(requirement: Body, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.get("key", ""))
    match requirement.get("operator"):
        case "In":
            return value in requirement.get("values", ())
        case "NotIn":
            return value not in requirement.get("values", ())
        case "Exists":
            return value is not None
        case _:
            return value is None


def check_label_selector(selector: Body, path: str) -> Iterator[FieldError]:
    """But for `matchLabels`, which are labels like any others."""
    yield from check_expressions(selector.get("matchExpressions", ()), path, of_nodes=False)
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        yield from check_values(requirement, f"{path}.matchExpressions[{index}]", label_value)


def check_node_selector(selector: Body, path: str) -> Iterator[FieldError]:
    """Values of what is required are such as labels can have; those of preferences need not be."""
    for number, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        for index, requirement in enumerate(term.get("matchExpressions", ())):
            here = f"{path}.nodeSelectorTerms[{number}].matchExpressions[{index}]"
            yield from check_values(requirement, here, label_value)


def check_expressions(expressions: Sequence[Body], path: str, *, of_nodes: bool) -> Iterator[FieldError]:
    for index, requirement in enumerate(expressions):
        here = f"{path}.matchExpressions[{index}]"
        yield from _check_operator(requirement, here, operators=COMPARES if of_nodes else ())
        yield from check_name(f"{here}.key", requirement.get("key", ""), label_key)


def check_field_expressions(expressions: Sequence[Body], path: str) -> Iterator[FieldError]:
    for index, requirement in enumerate(expressions):
        here, values = f"{path}.matchFields[{index}]", requirement.get("values", [])
        if requirement.get("operator") not in NAMES_VALUES:
            yield invalid(f"{here}.operator", requirement.get("operator", ""), BAD_OPERATOR)
        elif len(values) != 1:
            why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required(f"{here}.values", why)
        if requirement.get("key") == "metadata.name":
            yield from check_values(requirement, here, subdomain)
        else:
            yield invalid(f"{here}.key", requirement.get("key", ""), "not a valid field selector key")


def check_values(requirement: Body, path: str, rule: NameRule) -> Iterator[FieldError]:
    for index, value in enumerate(requirement.get("values", ())):
        yield from check_name(f"{path}.values[{index}]", value, rule)


def _check_operator(requirement: Body, path: str, *, operators: tuple[str, ...]) -> Iterator[FieldError]:
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
