"""What is unwell, as someone is told who may look into some namespaces only.

Nodes and devices belong to the cluster, and their names are no secret. Of groups in other namespaces it is
told how many are hurt. Texts that programs wrote into conditions may name what runs on a node, so they are
left out; what was read from them, such as an XID, is told.
"""

from collections.abc import Collection

from maitred.explain.health.answer import (
    FleetHealth,
    GroupHealth,
    Ignored,
    LemonNode,
    NodeHealth,
    UnknownCondition,
)
from maitred.model.health.signals import Signal

TOLD_OF_NODES = (
    *(
        "condition",
        "status",
        "reason",
        "by",
        "xid",
        "helps",
        "taint",
        "effect",
        "label",
        "value",
        "unschedulable",
    ),
    *("resource", "cause", "unwell", "of", "driver", "pool", "device", "id", "health"),
    *("groups", "namespaces", "running", "exists"),
)
"""Evidence about nodes and devices that everybody may know."""


def health_as_seen_by(health: FleetHealth, namespaces: Collection[str] | None) -> FleetHealth:
    """None for who may see all."""
    if namespaces is None:
        return health
    hurt = tuple(_group(one) for one in health.hurt if _is_in(one.group, namespaces))
    return FleetHealth(
        api_version=health.api_version,
        kind=health.kind,
        at=health.at,
        nodes=health.nodes,
        pods=health.pods,
        about=health.about,
        unwell=tuple(_node(one, namespaces) for one in health.unwell),
        hurt=hurt,
        elsewhere=len(health.hurt) - len(hurt),
        lemons=tuple(LemonNode(node=one.node, since=one.since, tainted=one.tainted) for one in health.lemons),
        unknown=tuple(
            UnknownCondition(condition=one.condition, status=one.status, nodes=one.nodes, node=one.node)
            for one in health.unknown
        ),
        ignored=tuple(
            Ignored(name=one.name, words=one.words)
            for one in health.ignored
            if "/" not in one.name or _is_in(one.name, namespaces)
        ),
        notes=health.notes,
    )


def _is_in(key: str, namespaces: Collection[str]) -> bool:
    return key.partition("/")[0] in namespaces


def _node(node: NodeHealth, namespaces: Collection[str]) -> NodeHealth:
    own = tuple(group for group in node.groups if _is_in(group, namespaces))
    return NodeHealth(
        node=node.node,
        state=node.state,
        family=node.family,
        certainty=node.certainty,
        since=node.since,
        words=node.words,
        more=node.more,
        signals=tuple(map(_of_node, node.signals)),
        groups=own,
        elsewhere=len(node.groups) - len(own),
    )


def _of_node(signal: Signal) -> Signal:
    """Signals about nodes name no pod."""
    return Signal(
        kind=signal.kind,
        family=signal.family,
        certainty=signal.certainty,
        about=signal.about,
        words=signal.words,
        node=signal.node,
        device=signal.device,
        since=signal.since,
        evidence={name: signal.evidence[name] for name in TOLD_OF_NODES if name in signal.evidence},
    )


def _group(group: GroupHealth) -> GroupHealth:
    """An own one. What is said of its members is its own; what is said of nodes is as for everybody."""
    return GroupHealth(
        group=group.group,
        members=group.members,
        working=group.working,
        quorum=group.quorum,
        below=group.below,
        family=group.family,
        certainty=group.certainty,
        since=group.since,
        words=group.words,
        more=group.more,
        signals=tuple(one if one.pod else _of_node(one) for one in group.signals),
        all_signals=group.all_signals,
        healing=group.healing,
    )
