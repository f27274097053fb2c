"""Which words of strangers may be told.

Tenants write free text into many fields: keys and values of selectors, resources, classes, schedulers. Such
a word is told if it is a word of the cluster itself (on a node, in the policy, the name of a class), or one
that the reader has used too. Every other word gets an alias. Equal words get equal aliases and different
ones different aliases, so what matches what stays the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.nodes import NodeView
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.volumes import StorageView
from maitred.explain.redaction.aliases import Aliases
from maitred.model.migration import IN_TREE
from maitred.model.node import HOSTNAME, Taint
from maitred.model.pod import DEFAULT_SCHEDULER, NodeSelector, NodeSelectorTerm, Toleration
from maitred.model.policy import Policy, health_taints
from maitred.model.priority import BUILT_IN
from maitred.model.queues import DEFAULT_QUEUE
from maitred.model.selector import Requirement, integer
from maitred.model.storage import PLACE_LABELS

NODE_FIELD = "metadata.name"
COMPARING = ("Gt", "Lt")


class Vocabulary:
    def __init__(
        self, snapshot: Snapshot, policy: Policy, scheduler: str | None, names: Aliases, said: Iterable[str]
    ) -> None:
        """`said`: words that the reader has used."""
        self._nodes, self._names = snapshot.nodes, names
        self._known = frozenset(
            (
                *said,
                *words_of_cluster(snapshot),
                *words_of_policy(policy),
                DEFAULT_SCHEDULER,
                DEFAULT_QUEUE,
                scheduler or "",
            )
        )
        self._values: dict[tuple[str, str], str] = {}

    def told(self, text: str) -> str:
        """Any word but those that are names of objects in namespaces."""
        return text if text in self._known else self._names.other(text)

    def is_known(self, text: str) -> bool:
        return text in self._known

    def node(self, name: str) -> str:
        return name if name in self._nodes.rows else self._names.other(name)

    # -- what is asked of nodes --------------------------------------------------------------------------

    def key(self, key: str) -> str:
        """Of a label of nodes."""
        return key if self._nodes.column(key).values else self.told(key)

    def requirement(self, one: Requirement) -> Requirement:
        values = tuple(self._value(one, value) for value in one.values)
        return Requirement(self.key(one.key), one.operator, values)

    def _value(self, one: Requirement, value: str) -> str:
        """A number tells nothing, and is compared with the numbers that nodes have."""
        if one.operator in COMPARING and integer(value) is not None:
            return value
        found = self._values.get((one.key, value))
        if found is None:
            known = value in self._known or value in self._nodes.column(one.key).values
            found = self._values[one.key, value] = value if known else self._names.other(value)
        return found

    def term(self, term: NodeSelectorTerm) -> NodeSelectorTerm:
        return NodeSelectorTerm(
            tuple(map(self.requirement, term.match_expressions)), tuple(map(self._field, term.match_fields))
        )

    def _field(self, one: Requirement) -> Requirement:
        key = one.key if one.key == NODE_FIELD else self.told(one.key)
        return Requirement(key, one.operator, tuple(map(self.node, one.values)))

    def selector(self, selector: NodeSelector | None) -> NodeSelector | None:
        return None if selector is None else NodeSelector(tuple(map(self.term, selector.node_selector_terms)))

    def toleration(self, one: Toleration) -> Toleration:
        number = one.operator in COMPARING and integer(one.value) is not None
        value = one.value if number else self.told(one.value)
        return Toleration(self.told(one.key), one.operator, value, one.effect)


def words_of_cluster(snapshot: Snapshot) -> Iterator[str]:
    """But for the labels of nodes, of which there are many: those are looked up."""
    nodes = snapshot.nodes
    yield from (*BUILT_IN, *snapshot.priority_classes, *snapshot.storage.classes, *snapshot.device_classes)
    yield from (*PLACE_LABELS, *PLACE_LABELS.values(), HOSTNAME)
    for taints in nodes.taint_sets:
        yield from words_of_taints(taints)
    yield from resources_of(nodes)
    yield from drivers_of(snapshot.storage)
    yield from words_of_devices(snapshot.inventory)


def resources_of(nodes: NodeView) -> Iterator[str]:
    """Those that some node has; others are here because some pod asks for them."""
    unwell = {name for devices in nodes.unwell.values() for name in devices}
    for resource, offered in zip(nodes.resources, np.any(nodes.allocatable, axis=1).tolist(), strict=True):
        if offered or resource in unwell:
            yield resource


def drivers_of(storage: StorageView) -> Iterator[str]:
    yield from (*storage.drivers, *IN_TREE, *IN_TREE.values())
    yield from (one.provisioner for one in storage.classes.values())
    yield from (driver.name for node in storage.csi_nodes.values() for driver in node.spec.drivers)


def words_of_devices(inventory: Inventory) -> Iterator[str]:
    """Those of drivers and of the classes, which tenants repeat in their claims. Each is looked at once for
    all devices that are alike in names."""
    yield from inventory.classes
    seen = set[tuple[str, ...]]()
    for device in (device for pool in inventory.pools.values() for device in pool.devices):
        names = (device.id.driver, *device.source.attributes, *device.source.capacity)
        for taint in device.taints:
            yield from (taint.key, taint.value)
        if names not in seen:
            seen.add(names)
            yield from names
            yield from (f"{device.id.driver}/{name}" for name in device.source.attributes)


def words_of_policy(policy: Policy) -> Iterator[str]:
    """Those about nodes, which everybody may know. What it says of namespaces is told to nobody."""
    for level in policy.topology.levels:
        yield from (level.name, level.key)
    yield from (*policy.devices.model_labels, *health_taints(policy))
    for template in policy.node_templates:
        yield from (template.name, *template.allocatable, *template.labels, *template.labels.values())
        yield from words_of_taints(template.taints)


def words_of_taints(taints: Iterable[Taint]) -> Iterator[str]:
    for taint in taints:
        yield from (taint.key, taint.value)


def words_in(value: Any) -> Iterator[str]:
    """Every string in something that the reader has written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from words_in(getattr(value, name))
    elif is_dataclass(value):
        for field in fields(value):
            yield from words_in(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from (*words_in(key), *words_in(inner))
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from words_in(inner)
