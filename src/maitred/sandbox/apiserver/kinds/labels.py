"""Labels, annotations, and what selects by labels: the rules that the types do not state."""

from collections.abc import Iterator, Mapping

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required, too_long
from maitred.sandbox.apiserver.kinds.names import check_name, label_key, label_value
from maitred.sandbox.apiserver.schema.types import Body

LARGEST_ANNOTATIONS = 256 * 2**10


def check_labels(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key, value in labels.items():
        yield from check_name(path, key, label_key)
        yield from check_name(path, value, label_value)


def check_annotations(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key in annotations:
        yield from check_name(path, key.lower(), label_key)
    if sum(len(f"{key}{text}".encode()) for key, text in annotations.items()) > LARGEST_ANNOTATIONS:
        yield too_long(path, LARGEST_ANNOTATIONS)


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


def check_requirement(requirement: Body, path: str) -> Iterator[FieldError]:
    """Operators and values that go together, in selectors of labels and of nodes."""
    operator, values = requirement.get("operator", ""), requirement.get("values", [])
    if operator in ("In", "NotIn") and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden(
            f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")


def check_node_term(term: Body, path: str) -> Iterator[FieldError]:
    """Of the fields of a node, only its name can be asked for."""
    for index, requirement in enumerate(term.get("matchFields", ())):
        if requirement.get("key") != "metadata.name":
            here = f"{path}.matchFields[{index}].key"
            yield invalid(here, requirement.get("key", ""), "not a valid field selector key")
