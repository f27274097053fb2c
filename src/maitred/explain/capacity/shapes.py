"""The shapes that people ask about: one device, a whole node, and what pods of the cluster ask for most."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maitred.explain.capacity.document import ShapeOfPods
from maitred.explain.capacity.survey import CORE, Survey
from maitred.model.needs import Needs, NodeRequirements
from maitred.model.pod import Toleration
from maitred.model.quantity import CPU, PODS, text
from maitred.model.selector import Requirement

MOST_MODELS = 4
MOST_ASKED = 4

Asked = tuple[tuple[tuple[str, int], ...], NodeRequirements, tuple[Toleration, ...]]
"""What a member asks of its node, without what it asks of its neighbours."""


@dataclass(frozen=True, slots=True)
class Candidate:
    shape: ShapeOfPods
    needs: Needs


def shapes(survey: Survey) -> list[Candidate]:
    return [*_standard(survey), *_asked_for(survey)]


# -- standard shapes ---------------------------------------------------------------------------------------


def _standard(survey: Survey) -> Iterator[Candidate]:
    if not survey.has_devices:
        yield _cores(survey, "one", CORE)
        for size in _node_sizes(survey):
            yield _cores(survey, "node", size)
        return
    for resource, model, per_node in _kinds_of_devices(survey):
        yield _devices(survey, "one", resource, model, 1)
        yield _devices(survey, "node", resource, model, per_node)


def _kinds_of_devices(survey: Survey) -> list[tuple[str, int, int]]:
    """Resources, models and how many of them a node mostly has; the most numerous of all."""
    nodes, codes, found = survey.snapshot.nodes, survey.models.codes, list[tuple[int, str, int, int]]()
    for resource in survey.resources:
        have = nodes.allocatable[nodes.resources.index(resource)] * nodes.alive
        for model in np.unique(codes[have > 0]).tolist():
            sizes, counts = np.unique(have[(codes == model) & (have > 0)], return_counts=True)
            found.append((int((sizes * counts).sum()), resource, model, int(sizes[counts.argmax()])))
    found.sort(key=lambda kind: (-kind[0], kind[1:]))
    if len(found) > MOST_MODELS:
        survey.notes.append(
            f"{len(found) - MOST_MODELS} kinds of devices of which there are fewer are left out"
        )
    return [(resource, model, size) for _, resource, model, size in found[:MOST_MODELS]]


def _devices(survey: Survey, kind: str, resource: str, model: int, count: int) -> Candidate:
    """As the API server admits such a pod, which tolerates a taint that is called like the resource."""
    name, key = survey.models.names[model], survey.models.keys[model]
    selector = (Requirement(key, "In", (name,)),) if name else ()
    needs = Needs(
        namespace="default",
        requests=((resource, count), (PODS, 1)),
        node=NodeRequirements(selector),
        tolerations=(Toleration(key=resource, operator="Exists"),),
    )
    shape = ShapeOfPods(
        "one" if kind == "one" else "node", {resource: str(count)}, name, {key: name} if name else {}
    )
    return Candidate(shape, needs)


def _node_sizes(survey: Survey) -> list[int]:
    """What the commonest kinds of nodes have of cpu beside what belongs to the nodes themselves."""
    snapshot = survey.snapshot
    column = snapshot.nodes.resources.index(CPU)
    have = snapshot.nodes.allocatable[column]
    open_to_all = snapshot.nodes.alive & (have > 0)
    sizes, counts = np.unique(have[open_to_all], return_counts=True)
    commonest = sizes[np.argsort(-counts, kind="stable")][:MOST_MODELS]
    left = have - snapshot.fixed[column]
    return [size for each in commonest if (size := int(left[open_to_all & (have == each)].min())) > 0]


def _cores(survey: Survey, kind: str, amount: int) -> Candidate:
    needs = Needs("default", ((CPU, amount), (PODS, 1)), NodeRequirements())
    return Candidate(ShapeOfPods("one" if kind == "one" else "node", {CPU: text(CPU, amount)}), needs)


# -- as pods ask -------------------------------------------------------------------------------------------


def _asked_for(survey: Survey) -> list[Candidate]:
    """What groups that wait ask for most often, then what runs most often."""
    waiting, running = _waiting(survey), _running(survey)
    everything = waiting.keys() | running.keys()
    ordered = sorted(everything, key=lambda asked: (-waiting[asked], -running[asked], repr(asked)))
    if len(ordered) > MOST_ASKED:
        survey.notes.append(f"{len(ordered) - MOST_ASKED} more shapes of pods are rarer and left out")
    return [_candidate(asked, waiting[asked], running[asked]) for asked in ordered[:MOST_ASKED]]


def _waiting(survey: Survey) -> Counter[Asked]:
    found, snapshot = Counter[Asked](), survey.snapshot
    for entry in survey.waiting:
        for shape, count in zip(*np.unique(entry.view.shapes, return_counts=True), strict=True):
            number = snapshot.shapes[shape].needs
            if survey.counted_by_needs[number]:
                found[_asked(snapshot.needs[number])] += int(count)
    return found


def _running(survey: Survey) -> Counter[Asked]:
    found, bound = Counter[Asked](), survey.snapshot.bound
    alive = ~(bound.fixed | bound.terminating)
    for number, count in zip(*np.unique(bound.needs[alive], return_counts=True), strict=True):
        if survey.counted_by_needs[number]:
            found[_asked(survey.snapshot.needs[number])] += int(count)
    return found


def _asked(needs: Needs) -> Asked:
    return needs.requests, needs.node, needs.tolerations


def _candidate(asked: Asked, waiting: int, running: int) -> Candidate:
    requests, node, tolerations = asked
    shown = {name: text(name, amount) for name, amount in requests if name != PODS}
    exact = {r.key: r.values[0] for r in node.selector if r.operator == "In" and len(r.values) == 1}
    shape = ShapeOfPods("asked", shown, "", exact, waiting, running)
    return Candidate(shape, Needs("default", requests, node, tolerations=tolerations))
