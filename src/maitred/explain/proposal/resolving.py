"""Wishes in the user's words, resolved to what this cluster has: a level, a resource of devices, a model."""

from dataclasses import replace

import msgspec
import numpy as np

from maitred.cluster.nodes import Mask, NodeView
from maitred.cluster.snapshot import GroupView, Shape, Snapshot
from maitred.decide.levels import known_levels
from maitred.explain.proposal.claiming import check_device_classes, claims_devices, with_device_model
from maitred.explain.proposal.nearest import MOST_NAMED, nearest
from maitred.explain.proposal.supposition import DEVICES, ProposedGroup, Supposition
from maitred.explain.remedies.changes import with_group, with_members_like
from maitred.explain.situation import Situation
from maitred.model.group import stated_priority
from maitred.model.manifest import InputError
from maitred.model.needs import Needs, NodeRequirements
from maitred.model.node import HOSTNAME
from maitred.model.pod import Toleration
from maitred.model.policy import is_device
from maitred.model.priority import BUILT_IN
from maitred.model.selector import Requirement, canonical
from maitred.model.words import counted

USUAL_DEVICES = "nvidia.com/gpu"
"""For clusters that have none."""
MODEL_LABEL = "product"
"""In the keys under which most device plugins tell the model."""


def grounded(situation: Situation, supposition: Supposition) -> Situation:
    """The situation with the supposed groups as they were meant. Raises InputError for what there is not."""
    snapshot = situation.snapshot
    proposed_groups = {
        group: proposed
        for proposed in supposition.proposed_groups(situation.policy.workloads)
        for group in proposed.groups
    }
    numbers = [number for number, view in enumerate(snapshot.groups) if view.group.key in proposed_groups]
    for view in (snapshot.groups[number] for number in numbers):
        _check_classes(snapshot, view, proposed_groups[view.group.key], supposition.by_options)
    if supposition.by_options:
        check_device_classes(snapshot, numbers)
        changed = _with_devices(situation, supposition.model, numbers)
        changed = _with_level(situation, changed, supposition.within, numbers)
        return situation.on(changed)
    return situation


def _check_classes(snapshot: Snapshot, view: GroupView, proposed: ProposedGroup, by_options: bool) -> None:
    known = {*snapshot.priority_classes, *BUILT_IN}
    stated = stated_priority(view.group, snapshot.priority_classes)
    for name in ("" if stated is None else stated[1], *(rank.class_name for rank in view.ranks)):
        if name and name not in known:
            what = f"no PriorityClass is called {name!r}; {nearest(name, known)}"
            if by_options:
                raise InputError("--priority", "", "", what)
            raise InputError("", proposed.title, "priorityClassName", what)


# -- levels ------------------------------------------------------------------------------------------------


def _with_level(situation: Situation, snapshot: Snapshot, wanted: str, numbers: list[int]) -> Snapshot:
    if not wanted:
        return snapshot
    level = _level(situation, wanted)
    for number in numbers:
        view = snapshot.groups[number]
        topology = msgspec.structs.replace(view.group.topology, required=level)
        group = msgspec.structs.replace(view.group, topology=topology)
        snapshot = with_group(snapshot, number, replace(view, group=group))
    return snapshot


def _level(situation: Situation, wanted: str) -> str:
    """A level's name, a label's key, or the last part of a key that only one label ends in."""
    levels = known_levels(situation.policy, situation.snapshot)
    names = {level.name for level in levels} | {level.key for level in levels}
    keys = {key for labels in situation.snapshot.nodes.labels for key in labels}
    if wanted in names or wanted in keys:
        return wanted
    ends = sorted(key for key in keys if key.rpartition("/")[2].lower() == wanted.lower())
    if len(ends) == 1:
        return ends[0]
    hint = f"it may be {' or '.join(ends)}" if ends else nearest(wanted, names | keys)
    raise InputError(
        "--within", "", "", f"no topology level and no node label has the name {wanted!r}; {hint}"
    )


# -- devices -----------------------------------------------------------------------------------------------


def _with_devices(situation: Situation, model: str, numbers: list[int]) -> Snapshot:
    """Pods that ask for devices ask for those of this cluster, and are let onto the nodes that have them."""
    snapshot = situation.snapshot
    if not any(DEVICES in dict(needs.requests) for needs in _needs(snapshot, numbers)):
        if model and not claims_devices(snapshot, numbers):
            raise InputError("--model", "", "", "needs --gpus or --device-class: the devices of each member")
        return with_device_model(snapshot, model, numbers) if model else snapshot
    resource, selector = _devices(situation, model)

    def on_devices(shape: Shape, needs: Needs) -> tuple[Shape, Needs]:
        requests = {resource if name == DEVICES else name: amount for name, amount in needs.requests}
        return shape, replace(
            needs,
            requests=tuple(sorted(requests.items())),
            node=NodeRequirements(
                canonical((*needs.node.selector, *selector)), needs.node.terms, needs.node.features
            ),
            tolerations=(*needs.tolerations, Toleration(key=resource, operator="Exists")),
        )

    for number in numbers:
        snapshot = with_members_like(snapshot, number, on_devices)
    return snapshot


def _needs(snapshot: Snapshot, numbers: list[int]) -> list[Needs]:
    shapes = {shape for number in numbers for shape in snapshot.groups[number].shapes.tolist()}
    return [snapshot.needs[snapshot.shapes[shape].needs] for shape in sorted(shapes)]


def _devices(situation: Situation, model: str) -> tuple[str, tuple[Requirement, ...]]:
    """The resource that the cluster has devices as, and the label of those of a model."""
    nodes = situation.snapshot.nodes
    having = {
        resource: have > 0
        for resource, have in zip(nodes.resources, nodes.allocatable, strict=True)
        if have.any() and is_device(situation.policy, resource)
    }
    if model:
        return _model(nodes, having, model)
    plain = [resource for resource in having if resource.endswith("/gpu")] or list(having)
    if len(plain) > 1:
        several = " and ".join(sorted(plain))
        raise InputError("--gpus", "", "", f"nodes have {several}; say which model with --model")
    return (plain[0] if plain else USUAL_DEVICES), ()


def _model(nodes: NodeView, having: dict[str, Mask], model: str) -> tuple[str, tuple[Requirement, ...]]:
    """By any label that has the model in its value; labels of whoever names the devices count first."""
    labels = {(resource, *pair) for resource, able in having.items() for pair in _labels_of(nodes, able)}
    found = sorted(label for label in labels if model.lower() in label[2].lower())
    own = [label for label in found if label[0].partition("/")[0] == label[1].partition("/")[0]]
    exact = [label for label in own or found if label[2].lower() == model.lower()]
    chosen = exact or own or found
    if not chosen:
        hint = nearest(model, (value for _, key, value in labels if MODEL_LABEL in key))
        raise InputError("--model", "", "", f"no node with devices has {model!r} in a label; {hint}")
    with_label = [having[resource] & _having_label(nodes, key, value) for resource, key, value in chosen]
    if len({mask.tobytes() for mask in with_label}) > 1:
        counts = [counted(int(mask.sum()), "node") for mask in with_label]
        several = [f"{value} ({count})" for (_, _, value), count in zip(chosen, counts, strict=True)]
        which = ", ".join(several[:MOST_NAMED])
        raise InputError(
            "--model", "", "", f"{model!r} matches several models: {which}; give more of the name"
        )
    resource, key, value = chosen[0]
    return resource, (Requirement(key, "In", (value,)),)


def _labels_of(nodes: NodeView, able: Mask) -> set[tuple[str, str]]:
    rows = np.flatnonzero(able & nodes.alive)
    return {pair for row in rows for pair in nodes.labels[row].items() if pair[0] != HOSTNAME}


def _having_label(nodes: NodeView, key: str, value: str) -> Mask:
    return nodes.column(key).select(lambda found: found == value, missing=False)
