"""What kubelets, controllers and agents report of nodes and pods, as far as it may tell of trouble.

Most events of nodes and pods say that all is well, and nothing is kept of those. So this costs in
proportion to what is amiss, and nothing where nothing is.
"""

import msgspec

from maitred.cluster.members import Member
from maitred.cluster.snapshot import ReportedPod, Reports
from maitred.model.health.nodes import CONDITION_OF_TAINT, node_signals
from maitred.model.health.nodes import tells_of_trouble as node_tells_of_trouble
from maitred.model.health.pods import tells_of_trouble as pod_tells_of_trouble
from maitred.model.health.tables import HURTING
from maitred.model.membership import GroupId
from maitred.model.meta import ObjectMeta
from maitred.model.node import Node
from maitred.model.pod import Pod, PodSpec


class ReportTable:
    def __init__(self) -> None:
        self.version = 0
        """Grows with every change."""
        self.hurting: set[str] = set()
        """Nodes that are lost or about to go, which concerns every group with members there."""
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, tuple[GroupId, ReportedPod]] = {}
        self._groups: dict[GroupId, dict[str, ReportedPod]] = {}
        self._view: Reports | None = None

    # -- nodes -----------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> bool:
        """Whether that is news."""
        name = node.metadata.name
        # Most taints say what a node is for: they are on thousands of nodes, and nothing is amiss there.
        found = node_signals(node, CONDITION_OF_TAINT).signals if node_tells_of_trouble(node) else ()
        if not found:
            return self.delete_node(name)
        known, self._nodes[name] = self._nodes.get(name), node
        hurts = any(one.kind in HURTING for one in found)
        (self.hurting.add if hurts else self.hurting.discard)(name)
        return self._note(known != node)

    def delete_node(self, name: str) -> bool:
        self.hurting.discard(name)
        return self._note(self._nodes.pop(name, None) is not None)

    # -- pods ------------------------------------------------------------------------------------------

    def put_pod(self, pod: Pod, member: Member) -> bool:
        id = member.settled.id
        if id is None or not pod_tells_of_trouble(pod):
            return self.delete_pod(member.key)
        found = ReportedPod(_only_reports(pod), member.order[0], bool(member.occupant.owner[0]))
        if self._pods.get(member.key) == (id, found):
            return False
        self.delete_pod(member.key)
        self._pods[member.key] = (id, found)
        self._groups.setdefault(id, {})[member.key] = found
        return self._note(True)

    def move_pod(self, member: Member) -> None:
        """It is in another group now."""
        known = self._pods.get(member.key)
        if known is not None and known[0] != member.settled.id:
            self.delete_pod(member.key)
            if member.settled.id is not None:
                self._pods[member.key] = (member.settled.id, known[1])
                self._groups.setdefault(member.settled.id, {})[member.key] = known[1]

    def delete_pod(self, key: str) -> bool:
        id, _ = self._pods.pop(key, (None, None))
        if id is None:
            return False
        del self._groups[id][key]
        if not self._groups[id]:
            del self._groups[id]
        return self._note(True)

    def _note(self, changed: bool) -> bool:
        if changed:
            self.version += 1
            self._view = None
        return changed

    def view(self) -> Reports:
        if self._view is None:
            pods = {id: tuple(found.values()) for id, found in self._groups.items()}
            self._view = Reports(dict(self._nodes), pods)
        return self._view


def _only_reports(pod: Pod) -> Pod:
    meta = pod.metadata
    about = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        creation_timestamp=meta.creation_timestamp,
        deletion_timestamp=meta.deletion_timestamp,
        deletion_grace_period_seconds=meta.deletion_grace_period_seconds,
    )
    return Pod(about, PodSpec(node_name=pod.spec.node_name), msgspec.structs.replace(pod.status))
