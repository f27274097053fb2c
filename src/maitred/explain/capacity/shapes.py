"""The shapes that people ask about: one device, a whole node, and what pods of the cluster ask for most."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.supply.columns import Requests
from maitred.explain.capacity.claims import (
    CLAIM,
    ClassOfKind,
    claimed_amounts,
    claimed_selectors,
    classes_of_kinds,
    own_claims,
)
from maitred.explain.capacity.document import ShapeOfPods
from maitred.explain.capacity.survey import CORE, Survey
from maitred.model.needs import Needs, NodeRequirements
from maitred.model.pod import Toleration
from maitred.model.quantity import CPU, PODS, text
from maitred.model.selector import Requirement
from maitred.model.words import counted

MOST_MODELS = 4
MOST_ASKED = 4

Asked = tuple[Requests, NodeRequirements, tuple[ClaimNeed, ...], tuple[Toleration, ...]]
"""What a member asks of its node, without what it asks of its neighbours."""


@dataclass(frozen=True, slots=True)
class CommonShape:
    shape: ShapeOfPods
    needs: Needs
    devices: tuple[ClaimNeed, ...] = ()
    """What it claims."""


def shapes(survey: Survey) -> list[CommonShape]:
    standard = list(_standard(survey))
    told = {(each.needs.requests, each.needs.node, each.devices) for each in standard}
    return [*standard, *_asked_for(survey, told)]


# -- standard shapes ---------------------------------------------------------------------------------------


def _standard(survey: Survey) -> Iterator[CommonShape]:
    if not survey.has_devices:
        yield _cores(survey, "one", CORE)
        for size in _node_sizes(survey):
            yield _cores(survey, "node", size)
        return
    for resource, model, per_node in _kinds_of_devices(survey):
        yield _devices(survey, "one", resource, model, 1)
        yield _devices(survey, "node", resource, model, per_node)
    for known in _classes_of_kinds(survey):
        yield _claimed(known, "one", 1)
        yield _claimed(known, "node", known.per_node)


def _kinds_of_devices(survey: Survey) -> list[tuple[str, int, int]]:
    """Resources, models and how many of them a node mostly has; the most numerous of all."""
    nodes, codes, found = survey.snapshot.nodes, survey.models.codes, list[tuple[int, str, int, int]]()
    for resource in survey.resources:
        have = nodes.whole().allocatable[nodes.resources.index(resource)] * nodes.alive
        for model in np.unique(codes[have > 0]).tolist():
            sizes, counts = np.unique(have[(codes == model) & (have > 0)], return_counts=True)
            found.append((int((sizes * counts).sum()), resource, model, int(sizes[counts.argmax()])))
    found.sort(key=lambda kind: (-kind[0], kind[1:]))
    if len(found) > MOST_MODELS:
        less = counted(len(found) - MOST_MODELS, "less common kind")
        survey.notes.append(f"the largest gang is not shown for {less} of devices")
    return [(resource, model, size) for _, resource, model, size in found[:MOST_MODELS]]


def _devices(survey: Survey, kind: str, resource: str, model: int, count: int) -> CommonShape:
    """As the API server admits such a pod, which tolerates a taint that is called like the resource."""
    name, key = survey.models.names[model], survey.models.keys[model]
    selector = (Requirement(key, "In", (name,)),) if name else ()
    needs = Needs(
        namespace="default",
        requests=tuple(sorted(((resource, count), (PODS, 1)))),
        node=NodeRequirements(selector),
        tolerations=(Toleration(key=resource, operator="Exists"),),
    )
    shape = ShapeOfPods(
        "one" if kind == "one" else "node",
        {resource: str(count)},
        name,
        {key: name} if name else {},
        tolerates=_tolerated(needs.tolerations),
    )
    return CommonShape(shape, needs)


def _classes_of_kinds(survey: Survey) -> list[ClassOfKind]:
    """The most numerous kinds of devices that claims are for."""
    found = sorted(
        classes_of_kinds(survey.claimable, survey.snapshot.inventory), key=lambda one: (-one.total, one.kind)
    )
    if len(found) > MOST_MODELS:
        less = counted(len(found) - MOST_MODELS, "less common kind")
        survey.notes.append(f"the largest gang is not shown for {less} of devices that claims are for")
    return found[:MOST_MODELS]


def _claimed(known: ClassOfKind, kind: str, count: int) -> CommonShape:
    needs = Needs("default", ((PODS, 1),), NodeRequirements(), device_claims=(CLAIM,))
    amounts = {known.device_class: str(count)}
    shape = ShapeOfPods("one" if kind == "one" else "node", {}, known.kind.model, claims=amounts)
    return CommonShape(shape, needs, (known.claim(count),))


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


def _cores(survey: Survey, kind: str, amount: int) -> CommonShape:
    needs = Needs("default", ((CPU, amount), (PODS, 1)), NodeRequirements())
    return CommonShape(ShapeOfPods("one" if kind == "one" else "node", {CPU: text(CPU, amount)}), needs)


# -- as pods ask -------------------------------------------------------------------------------------------


def _asked_for(
    survey: Survey, told: set[tuple[Requests, NodeRequirements, tuple[ClaimNeed, ...]]]
) -> list[CommonShape]:
    """What groups that wait ask for most often, then what runs most often, if it is not told already."""
    waiting, running = _waiting(survey), _running(survey)
    everything = {asked for asked in waiting.keys() | running.keys() if asked[:3] not in told}
    ordered = sorted(everything, key=lambda asked: (-waiting[asked], -running[asked], repr(asked)))
    if len(ordered) > MOST_ASKED:
        survey.notes.append(f"{len(ordered) - MOST_ASKED} less common shapes of pods are not shown")
    inventory = survey.snapshot.inventory
    return [_candidate(asked, waiting[asked], running[asked], inventory) for asked in ordered[:MOST_ASKED]]


def _waiting(survey: Survey) -> Counter[Asked]:
    found, snapshot = Counter[Asked](), survey.snapshot
    for ranked in survey.waiting:
        for shape, count in zip(*np.unique(ranked.view.shapes, return_counts=True), strict=True):
            number, claims = snapshot.shapes[shape].needs, own_claims(snapshot.shapes[shape].devices)
            if claims is not None and (survey.counted_by_needs[number] or claims):
                found[_asked(snapshot.needs[number], claims)] += int(count)
    return found


def _running(survey: Survey) -> Counter[Asked]:
    found, bound = Counter[Asked](), survey.snapshot.bound
    alive = ~(bound.fixed | bound.terminating)
    for number, count in zip(*np.unique(bound.needs[alive], return_counts=True), strict=True):
        needs = survey.snapshot.needs[number]
        if survey.counted_by_needs[number] and not needs.device_claims:
            found[_asked(needs, ())] += int(count)
    return found


def _asked(needs: Needs, claims: tuple[ClaimNeed, ...]) -> Asked:
    return needs.requests, needs.node, claims, tuple(sorted(set(needs.tolerations), key=repr))


def _candidate(asked: Asked, waiting: int, running: int, inventory: Inventory) -> CommonShape:
    requests, node, claims, tolerations = asked
    shown = {name: text(name, amount) for name, amount in requests if name != PODS}
    exact = {r.key: r.values[0] for r in node.selector if _is_exact(r)}
    requires, tolerates = _required(node), _tolerated(tolerations)
    shape = ShapeOfPods(
        "asked",
        shown,
        "",
        exact,
        requires,
        tolerates,
        claimed_amounts(claims),
        claimed_selectors(claims, inventory),
        waiting,
        running,
    )
    names = tuple(f"{CLAIM}-{place}" for place in range(len(claims)))
    needs = Needs("default", requests, node, tolerations=tolerations, device_claims=names)
    return CommonShape(shape, needs, claims)


# -- in words ----------------------------------------------------------------------------------------------


def _is_exact(requirement: Requirement) -> bool:
    return requirement.operator == "In" and len(requirement.values) == 1


def _required(node: NodeRequirements) -> tuple[str, ...]:
    """All of these, but for exact labels; of terms, one is enough."""
    more = [_condition(requirement) for requirement in node.selector if not _is_exact(requirement)]
    if node.terms is not None:
        terms = (map(_condition, (*term.match_expressions, *term.match_fields)) for term in node.terms)
        more.append(" or ".join(sorted({" and ".join(sorted(term)) for term in terms})))
    return tuple(more)


def _condition(requirement: Requirement) -> str:
    if _is_exact(requirement):
        return f"{requirement.key}={requirement.values[0]}"
    return f"{requirement.key} {requirement.operator} {', '.join(requirement.values)}".rstrip()


def _tolerated(tolerations: tuple[Toleration, ...]) -> tuple[str, ...]:
    return tuple(sorted({_taints(toleration) for toleration in tolerations}))


def _taints(toleration: Toleration) -> str:
    sign = {"Exists": "", "Lt": "<", "Gt": ">"}.get(toleration.operator, "=")
    value = f"{sign}{toleration.value}" if sign else ""
    effect = f":{toleration.effect}" if toleration.effect else ""
    return f"{toleration.key or 'everything'}{value}{effect}"
