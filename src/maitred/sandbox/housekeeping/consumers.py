"""Claims that wait for their first consumer get a volume on its node before the pod gets there."""

import asyncio
import time

from maitred.cluster.selection import reachable_nodes
from maitred.cluster.state import ClusterState
from maitred.cluster.volumes import resolve
from maitred.kube.outcomes import Done
from maitred.kube.writes import Writer
from maitred.sandbox.housekeeping.objects import Pod
from maitred.sandbox.housekeeping.volumes import claims_of

WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.05


class Consumers:
    def __init__(self, state: ClusterState, writer: Writer) -> None:
        self._state = state
        self._writer = writer

    async def prepare(self, pod: Pod, node: str) -> bool:
        """Whether all claims of the pod have their volumes; it may take a while."""
        claims = [f"{pod.metadata.namespace}/{name}" for name in claims_of(pod)]
        for claim in claims:
            if self._is_unbound(claim) and not await self._ask(claim, node):
                return False
        deadline = time.monotonic() + WAIT_SECONDS
        while any(map(self._is_unbound, claims)):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True

    def _is_unbound(self, key: str) -> bool:
        claim = self._state.storage.claims.get(key)
        return claim is None or not claim.spec.volume_name

    async def _ask(self, key: str, node: str) -> bool:
        """Have a volume that reaches the node kept for the claim; where there is none, have one made."""
        claim = self._state.storage.claims.get(key)
        if claim is None:
            return False
        namespace, _, name = key.partition("/")
        candidates = resolve(key, False, {}, self._state.storage).candidates
        volume = next((volume for volume in candidates if self._reaches(volume, node)), None)
        if volume is None:
            outcome = await self._writer.select_node(namespace, name, claim.metadata.uid, node)
        else:
            outcome = await self._writer.keep_volume(volume, namespace, name, claim.metadata.uid)
        return isinstance(outcome, Done)

    def _reaches(self, volume: str, node: str) -> bool:
        nodes = self._state.nodes
        row = nodes.rows.get(node)
        affinity = self._state.storage.volumes[volume].spec.node_affinity.required
        return row is not None and bool(reachable_nodes(nodes, affinity)[row])
