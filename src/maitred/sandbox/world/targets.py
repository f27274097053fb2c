"""Which nodes people mean: `b1-r3-n05`, `rack=r3`, `block=b2,nvidia.com/gpu.product!=NVIDIA-L40S`."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from maitred.explain.floorplan import first_called, natural
from maitred.model.manifest import InputError
from maitred.sandbox.world.objects import Json

Labels = dict[str, str]
Test = Callable[[Labels], bool]

MOST_SHOWN = 8
_PART = re.compile(
    r"(?P<key>[^=!\s]+)\s*(?P<operator>==?|!=)\s*(?P<value>[^=!\s]*)|(?P<absent>!?)(?P<named>[^=!\s]+)"
)


def name_of(node: Json) -> str:
    return str(node["metadata"]["name"])


def labels_of(node: Json) -> Labels:
    return node["metadata"].get("labels") or {}


def chosen(targets: Iterable[str], nodes: Sequence[Json]) -> list[Json]:
    """The nodes that the targets mean, each once and in order. Raises InputError if one means none."""
    found = {name_of(node): node for target in targets for node in meant_by(target, nodes)}
    return [found[name] for name in sorted(found, key=natural)]


def meant_by(target: str, nodes: Sequence[Json]) -> list[Json]:
    if not target.strip():
        raise InputError("TARGET", "", "", "is empty; name a node, or labels such as rack=r1")
    by_name = [node for node in nodes if name_of(node) == target]
    if by_name:
        return by_name
    refuse_what_means_all(target, nodes)
    tests = [test_of(part.strip(), target, nodes) for part in target.split(",")]
    found = [node for node in nodes if all(test(labels_of(node)) for test in tests)]
    if not found:
        raise InputError(target, "", "", f"matches no simulated node{hint(target, nodes)}")
    return found


def refuse_what_means_all(target: str, nodes: Sequence[Json]) -> None:
    """A value that was forgotten, or a key that was misspelt, must not cost the whole cluster."""
    matches = [_PART.fullmatch(part.strip()) for part in target.split(",")]
    for match in matches:
        if match is None or match["operator"] != "!=":
            continue
        key = full_key(match["key"], nodes)
        if not match["value"] or not values_of(key, nodes):
            raise InputError(target, "", "", f"would match every node{about(key, nodes)}")
    if all(match is not None and match["named"] and not match["absent"] for match in matches):
        key = full_key(target.split(",")[0].strip(), nodes)
        if values_of(key, nodes):
            raise InputError(target, "", "", f"is a label without a value{about(key, nodes)}")


def test_of(part: str, target: str, nodes: Sequence[Json]) -> Test:
    match = _PART.fullmatch(part)
    if match is None:
        raise InputError(target, "", "", "is neither the name of a node nor labels such as rack=r1")
    if match["named"]:
        key, present = full_key(match["named"], nodes), not match["absent"]
        return lambda labels: (key in labels) == present
    key, value, equal = full_key(match["key"], nodes), match["value"], match["operator"] != "!="
    return lambda labels: (labels.get(key) == value) == equal


def full_key(key: str, nodes: Sequence[Json]) -> str:
    """`rack` means the label of that name with any prefix, unless a label has just this name."""
    keys = sorted({known for node in nodes for known in labels_of(node)})
    if key in keys or "/" in key:
        return key
    return first_called([key], keys) or key


def hint(target: str, nodes: Sequence[Json]) -> str:
    """What there is that looks like it."""
    key, operator, _ = target.partition("=")
    if not operator or "," in target:
        near = get_close_matches(target, map(name_of, nodes), n=1)
        return (
            f"; did you mean {near[0]}?"
            if near
            else "; `kubectl get nodes --show-labels` shows what there is"
        )
    return about(full_key(key, nodes), nodes)


def about(key: str, nodes: Sequence[Json]) -> str:
    """The values that a label has."""
    values = values_of(key, nodes)
    if not values:
        return f"; no node has a label {key}"
    more = " ..." if len(values) > MOST_SHOWN else ""
    return f"; {key} is one of {', '.join(values[:MOST_SHOWN])}{more}"


def values_of(key: str, nodes: Sequence[Json]) -> list[str]:
    return sorted({labels_of(node)[key] for node in nodes if key in labels_of(node)}, key=natural)
