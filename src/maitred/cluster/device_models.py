"""The models of the devices of nodes: by their labels, or by what drivers publish."""

import numpy as np

from maitred.cluster.devices.hardware import kind_of
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.pools import DevicePool
from maitred.cluster.nodes import Codes, NodeView
from maitred.model.policy import Policy, is_device_driver

Models = tuple[tuple[str, ...], Codes]
"""All models, and which of them the devices of each node are; the first is none."""


def models_of(nodes: NodeView, labels: tuple[str, ...]) -> Models:
    """`labels` say which model it is; the first that a node has counts."""
    return nodes.derived(("models", labels), lambda: _models(nodes, labels))


def _models(nodes: NodeView, labels: tuple[str, ...]) -> Models:
    found, code_of = {"": 0}, np.zeros(len(nodes.names), dtype=np.int32)
    for key in labels:
        column = nodes.column(key)
        codes = np.array([found.setdefault(value, len(found)) for value in column.values] + [0])
        code_of = np.where(code_of == 0, codes[column.codes], code_of)
    return tuple(found), code_of


def models_told(nodes: NodeView, policy: Policy, inventory: Inventory) -> Models:
    """The same; a node without such a label has the model that the drivers of its devices tell, if it is the
    same for all of them."""
    labels = policy.devices.model_labels
    if not inventory.on_node:
        return models_of(nodes, labels)
    key = ("models", labels, policy.devices.resources)
    return nodes.derived_with(inventory, key, lambda: _told(nodes, policy, inventory))


def _told(nodes: NodeView, policy: Policy, inventory: Inventory) -> Models:
    names, codes = models_of(nodes, policy.devices.model_labels)
    told = dict[int, str]()
    for node, pools in inventory.on_node.items():
        row = nodes.rows.get(node)
        if row is not None and not codes[row]:
            devices = (pool for pool in pools if is_device_driver(policy, pool.id.driver))
            models = frozenset[str]().union(*map(_models_in, devices))
            if len(models) == 1:
                told[row] = min(models)
    if not any(told.values()):
        return names, codes
    code_of = {name: code for code, name in enumerate(names)}
    for name in sorted({*told.values()}):
        code_of.setdefault(name, len(code_of))
    codes = codes.copy()
    codes[list(told)] = [code_of[name] for name in told.values()]
    return tuple(code_of), codes


def _models_in(pool: DevicePool) -> frozenset[str]:
    """Worked out once for each pool. Written as in labels, which have no spaces."""
    if "models" not in pool.derived:
        models = (kind_of(device).model for device in pool.devices)
        pool.derived["models"] = frozenset("-".join(model.split()) for model in models)
    found: frozenset[str] = pool.derived["models"]
    return found
