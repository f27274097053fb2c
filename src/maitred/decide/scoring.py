"""Which nodes come first when several would do. `docs/design/scoring.md` has the reasons.

The order is one integer per node, compared as a whole: small comes first. From the highest bits down it says:
devices that are preferred; pack devices, or lose least of what shares of devices are worth, and keep pods
without devices off nodes that have some; then the preferences that users state;
then, for pods without devices, break no idle node while a used one will do; the tightest fit; how often the
node has failed; the name.
"""

import numpy as np

from maitred.cluster.journal import Rows, Selection
from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.selection import in_term
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.trial import Trial
from maitred.decide.compile import occupied_domains
from maitred.decide.rules import Rules
from maitred.decide.shares.placing import share_loss
from maitred.decide.wear import tie_rank
from maitred.model.needs import Needs
from maitred.model.node import tolerates_all
from maitred.model.policy import Policy, is_device
from maitred.model.quantity import PODS

NAME_BITS, FIT_BITS, PREFERENCE_BITS, PACK_BITS, CHOICE_BITS = 20, 12, 16, 12, 2
WISH_BITS = PACK_BITS // 2
"""What is left for packing where it is said which nodes to take first, and what that may take."""
PREFERENCE_RANGE = 1 << (PREFERENCE_BITS - 1)

TAINT_PENALTY = 50
SPREAD_PENALTY = 10
IMAGES_FULL_SCORE = 100


def seating_order(trial: Trial, shape: int, copies: Ints, rows: Rows, policy: Policy) -> Ints:
    """The order in which a shape takes these nodes: one comparable integer per row."""
    needs, nodes = trial.needs(shape), trial.nodes
    devices = device_columns(nodes, policy)
    wanted = [column for column in devices if dict(needs.requests).get(nodes.resources[column])]
    fit = within(copies[rows], 0, (1 << FIT_BITS) - 1)
    if wanted:
        free = trial.columns.free[wanted[0]][rows]
        for column in wanted[1:]:
            free += trial.columns.free[column][rows]
        pack = within(free, 0, (1 << PACK_BITS) - 1)
    elif (loss := share_loss(trial, shape, rows, policy)) is not None:
        pack = within(np.unique(loss, return_inverse=True)[1], 0, (1 << PACK_BITS) - 1)
    else:
        pack = device_nodes(nodes, policy)[rows].astype(np.int64)
        fit |= idle_nodes(trial)[rows].astype(np.int64) << FIT_BITS
    if trial.wish is not None:
        pack = trial.wish[rows] << WISH_BITS | within(pack, 0, (1 << WISH_BITS) - 1)
    choice = trial.supply(DeviceSupply).choice_ranks(shape)
    if choice is not None:
        pack |= within(choice[rows], 0, (1 << CHOICE_BITS) - 1) << PACK_BITS
    preference = within(preferences(trial, shape)[rows], -PREFERENCE_RANGE, PREFERENCE_RANGE - 1)
    order = pack << PREFERENCE_BITS | (PREFERENCE_RANGE - 1 - preference)
    order = order << (FIT_BITS + 1) | fit
    ordered: Ints = order << NAME_BITS | tie_rank(trial, policy)[rows]
    return ordered


def within(values: Ints, least: int, most: int) -> Ints:
    """What is less or more is taken for the least or the most. On few nodes `np.clip` takes far longer."""
    bounded: Ints = np.minimum(np.maximum(values, least), most)
    return bounded


def packing(order: Ints) -> Ints:
    """The first part of the order: how well a node is packed with devices, or fit for pods without."""
    packed: Ints = order >> (PREFERENCE_BITS + FIT_BITS + 1 + NAME_BITS)
    return packed


def without_name(order: Ints) -> Ints:
    """All of the order but how worn a node is, and its name: where this is the same, nodes are equally
    good."""
    score: Ints = order >> NAME_BITS
    return score


def needs_no_device(rules: Rules, policy: Policy) -> bool:
    requests = [resource for shape in rules.shapes for resource, _ in rules.trial.needs(shape).requests]
    return not any(is_device(policy, resource) for resource in set(requests))


def device_columns(nodes: NodeView, policy: Policy) -> tuple[int, ...]:
    key = ("device_columns", policy.devices.resources)
    return nodes.derived(
        key, lambda: tuple(c for c, name in enumerate(nodes.resources) if is_device(policy, name))
    )


def device_nodes(nodes: NodeView, policy: Policy) -> Mask:
    columns = list(device_columns(nodes, policy))
    key = ("device_nodes", policy.devices.resources)
    return nodes.derived(key, lambda: np.any(nodes.hoped().allocatable[columns] > 0, axis=0))


def idle_nodes(trial: Trial) -> Mask:
    """Nodes that run nothing but what belongs to them."""
    column = trial.nodes.resource_column(PODS)
    snapshot = trial.snapshot
    idle = trial.nodes.allocatable[column].copy()
    idle[: snapshot.fixed.shape[1]] -= snapshot.fixed[column]
    mask: Mask = trial.columns.free[column] >= idle
    return mask


def preferences(trial: Trial, shape: int) -> Ints:
    """What the pods say they would like, added up; more is better."""
    needs, nodes = trial.needs(shape), trial.nodes
    key = ("preferences", needs.preferred_nodes, needs.tolerations, needs.images)
    score: Ints = nodes.derived(key, lambda: _lasting_preferences(nodes, needs))
    if not (needs.preferred_pods or needs.preferred_spread):
        return score
    score = score.copy()
    for weight, term in needs.preferred_pods:
        pods = trial.neighbours.matching(Selection((term,), True))
        score += (
            weight * occupied_domains(nodes, term.topology_key, pods)[nodes.column(term.topology_key).codes]
        )
    for constraint in needs.preferred_spread:
        column = nodes.column(constraint.pods.topology_key)
        pods = trial.neighbours.matching(Selection((constraint.pods,), False))
        crowd = np.bincount(column.codes + 1, weights=pods, minlength=len(column.values) + 1).astype(np.int64)
        score -= SPREAD_PENALTY * crowd[column.codes + 1]
    return score


def has_soft_company(needs: Needs) -> bool:
    """Whether members would rather be near to, or far from, other pods: then they are placed one by one."""
    return bool(needs.preferred_pods or needs.preferred_spread)


def _lasting_preferences(nodes: NodeView, needs: Needs) -> Ints:
    """Those that no placement changes."""
    score = np.zeros(len(nodes.names), dtype=np.int64)
    for preferred in needs.preferred_nodes:
        score += preferred.weight * in_term(nodes, preferred.preference)
    disliked = [
        sum(not tolerates_all(needs.tolerations, (taint,), ("PreferNoSchedule",)) for taint in taints)
        for taints in nodes.taint_sets
    ]
    score -= TAINT_PENALTY * np.array(disliked, dtype=np.int64)[nodes.taint_ids]
    return score + _images_present(nodes, needs.images)


def _images_present(nodes: NodeView, images: tuple[str, ...]) -> Ints:
    """The share of the pod's images, by size, that a node has already: model images run to tens of GB."""
    score = np.zeros(len(nodes.names), dtype=np.int64)
    sizes = _image_sizes(nodes, images)
    total = sum(max(present.values()) for present in sizes.values())
    for present in sizes.values():
        rows = np.fromiter(present, dtype=np.intp, count=len(present))
        score[rows] += IMAGES_FULL_SCORE * max(present.values()) // max(total, 1)
    return score


def _image_sizes(nodes: NodeView, images: tuple[str, ...]) -> dict[str, dict[int, int]]:
    """Image -> rows of nodes that have it -> its size there."""
    index = nodes.derived("images", lambda: _index_images(nodes))
    found = {image: index.get(with_tag(image), {}) for image in images}
    return {image: present for image, present in found.items() if present}


def _index_images(nodes: NodeView) -> dict[str, dict[int, int]]:
    index: dict[str, dict[int, int]] = {}
    for row, images in enumerate(nodes.images):
        for image in images:
            for name in image.names:
                index.setdefault(name, {})[row] = image.size_bytes
    return index


def with_tag(image: str) -> str:
    """Nodes list images with a tag or digest; without one, `latest` is meant."""
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:latest"
