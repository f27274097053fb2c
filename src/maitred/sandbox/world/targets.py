"""Which nodes people mean: `b1-r3-n05`, `rack=r3`, `block=b2,nvidia.com/gpu.product!=NVIDIA-L40S`."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from maitred.explain.floorplan import natural
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
    by_name = [node for node in nodes if name_of(node) == target]
    if by_name:
        return by_name
    tests = [test_of(part.strip(), target, nodes) for part in target.split(",")]
    found = [node for node in nodes if all(test(labels_of(node)) for test in tests)]
    if not found:
        raise InputError(target, "", "", f"no simulated node is meant by this{hint(target, nodes)}")
    return found


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
    return next((known for known in keys if known.rpartition("/")[2] == key), key)


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
    key = full_key(key, nodes)
    values = sorted({labels_of(node)[key] for node in nodes if key in labels_of(node)}, key=natural)
    if not values:
        return f"; no node has a label {key}"
    more = " ..." if len(values) > MOST_SHOWN else ""
    return f"; {key} is one of {', '.join(values[:MOST_SHOWN])}{more}"
