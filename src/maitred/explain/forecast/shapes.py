"""Shapes for all who may have to be seated: those who wait, who run, and who are yet to come."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.nodes import Codes
from maitred.cluster.snapshot import LabelClass, Shape, Snapshot
from maitred.model.history import PastGroup
from maitred.model.needs import Needs, NodeRequirements

Requests = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class KnownShapes:
    snapshot: Snapshot
    """As it was, with more shapes."""
    of_pods: Codes
    """The shape of every pod on a node, without its volumes."""
    by_requests: dict[Requests, int]
    """Shapes for those of whom nothing is known but what they request."""


def shapes_of(snapshot: Snapshot, past: Sequence[PastGroup]) -> KnownShapes:
    """Who will come is taken to be like those who are here and request the same, selectors and all: like most
    of them, where they differ."""
    shapes, needs = list(snapshot.shapes), list(snapshot.needs)
    classes = list(snapshot.classes) or [LabelClass("", {})]
    of_pods = _shapes_of_pods(snapshot, shapes)
    present = np.concatenate([*(view.shapes for view in snapshot.groups), of_pods])
    wanted = {group.requests for group in past}
    by_requests = _most_common(present, shapes, needs, classes, wanted) if wanted else {}
    for group in past:
        if group.requests not in by_requests:
            by_requests[group.requests] = len(shapes)
            shapes.append(Shape(len(needs), 0))
            needs.append(Needs("", group.requests, NodeRequirements()))
    wider = replace(snapshot, shapes=tuple(shapes), needs=tuple(needs), classes=tuple(classes))
    return KnownShapes(wider, of_pods, by_requests)


def _most_common(
    present: Codes,
    shapes: Sequence[Shape],
    needs: Sequence[Needs],
    classes: Sequence[LabelClass],
    wanted: Set[Requests],
) -> dict[Requests, int]:
    """For all that is wanted, the shape of most of those who do; of several, the first by its contents:
    numbers only say which became known first."""

    def contents(number: int) -> str:
        shape = shapes[number]
        return repr((needs[shape.needs], classes[shape.labels], shape.volumes))

    numbers, pods = np.unique(present, return_counts=True)
    most: dict[Requests, tuple[int, list[int]]] = {}
    for number, count in zip(numbers.tolist(), pods.tolist(), strict=True):
        requests = needs[shapes[number].needs].requests
        if requests in wanted:
            record, alike = most.get(requests, (0, []))
            if count > record:
                most[requests] = (count, [number])
            elif count == record:
                alike.append(number)
    return {
        requests: alike[0] if len(alike) == 1 else min(alike, key=contents)
        for requests, (_, alike) in most.items()
    }


def _shapes_of_pods(snapshot: Snapshot, shapes: list[Shape]) -> Codes:
    """Adds those that are not there yet."""
    bound, known = snapshot.bound, {shape: number for number, shape in enumerate(shapes)}
    pairs = bound.needs.astype(np.int64) * max(1, len(snapshot.classes)) + bound.labels
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    numbers = []
    for pod in first.tolist():
        shape = Shape(int(bound.needs[pod]), int(bound.labels[pod]))
        number = known.setdefault(shape, len(shapes))
        if number == len(shapes):
            shapes.append(shape)
        numbers.append(number)
    return np.array(numbers, dtype=np.int32)[inverse]
