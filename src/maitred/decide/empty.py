"""The empty healthy cluster, on which it is proven that a group can never be seated."""

from maitred.cluster.meter import Meter
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.supply.interface import Lift
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask
from maitred.decide.context import Waiver
from maitred.model.meta import ObjectMeta
from maitred.model.node import HOSTNAME, Node, NodeSpec, NodeStatus
from maitred.model.policy import NodeTemplate, Policy, health_taints

TEMPLATE_NODES = 1000
"""How many nodes of a kind are taken as possible when the policy does not say."""


def empty_healthy_cluster(snapshot: Snapshot, policy: Policy, meter: Meter | None = None) -> Trial:
    """Only what belongs to the nodes runs; all nodes are open and well, and so are their devices; what could
    be added is there."""
    nodes = snapshot.nodes.hoped()
    members = max((view.members + view.coming for view in snapshot.groups), default=0)
    added = [
        template_node(template, number)
        for template in policy.node_templates
        for number in range(min(template.max or TEMPLATE_NODES, max(1, members)))
    ]
    if added:
        nodes = nodes.with_nodes(added)
    return Trial.empty(snapshot, nodes.without_taints(health_taints(policy)), meter)


def hopeful(empty: Trial, ask: Ask, lift: Lift = frozenset()) -> Waiver:
    """What is waived to prove that a group can never be seated: devices are well, pods that it needs near may
    come, and so may devices of which it is not known yet what there will be."""
    unknown = any(map(empty.supply(DeviceSupply).is_open, ask.distinct))
    proven: Lift = frozenset({"Health", "Devices"} if unknown else {"Health"})
    return Waiver(lift | proven, others_may_help=True)


def template_node(template: NodeTemplate, number: int) -> Node:
    name = f"{template.name}:{number}"  # no real node can be called so
    return Node(
        ObjectMeta(name=name, labels={**template.labels, HOSTNAME: name}),
        NodeSpec(template.taints),
        NodeStatus(template.allocatable, declared_features=template.declared_features),
    )
