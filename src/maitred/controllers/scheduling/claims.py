"""Claims that wait for their first consumer: they get their volumes before the pods get their nodes.

The decision has made sure that each node can reach a volume for each claim. Here the claims are told: one
is kept for it where it exists already, otherwise the provisioner is asked to make one for that node. The
volume controller and the provisioner do the rest, and the pods are bound when all volumes are there.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence

from maitred.cluster.nodes import NodeView
from maitred.cluster.selection import reachable_nodes
from maitred.cluster.volumes import claim_names, ephemeral_specs, resolve
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done
from maitred.kube.writes import Writer
from maitred.model.plan import Bind

WAIT_SECONDS = 600.0
"""As long as kube-scheduler waits: disks can be slow to make."""
SECONDS_BETWEEN_LOOKS = 0.1


class Claims:
    def __init__(self, mirror: Mirror, writer: Writer) -> None:
        self._mirror = mirror
        self._writer = writer
        self._kept: dict[str, str] = {}
        """Volume -> the claim that it is being kept for."""

    def unbound(self, binds: Sequence[Bind]) -> dict[str, str]:
        """Claim -> the node that its volume is wanted on."""
        found = dict[str, str]()
        for bind in binds:
            pod = self._mirror.waiting.get(bind.pod)
            for claim in claim_names(pod) if pod is not None and pod.spec.volumes else ():
                if self._is_unbound(claim):
                    found[claim] = bind.node
        return found

    def _is_unbound(self, key: str) -> bool:
        claim = self._mirror.state.storage.claims.get(key)
        return claim is None or not claim.spec.volume_name

    async def prepare(self, binds: Sequence[Bind]) -> str:
        """Get a volume for every claim of these pods. What went wrong, or nothing."""
        wanted = self.unbound(binds)
        volumes = self._choose(wanted, binds)
        self._kept.update({volume: claim for claim, volume in volumes.items()})
        try:
            return await self._until_bound(wanted, volumes)
        finally:
            for volume in volumes.values():
                self._kept.pop(volume, None)

    async def _until_bound(self, wanted: Mapping[str, str], volumes: Mapping[str, str]) -> str:
        asked, deadline = set[str](), time.monotonic() + WAIT_SECONDS
        while True:
            claims = self._mirror.state.storage.claims
            open_claims = [key for key in wanted if self._is_unbound(key)]
            if not open_claims:
                return ""
            for key in open_claims:
                # A claim that a pod brings along is made by its own controller, a moment after the pod.
                if key in claims and key not in asked:
                    asked.add(key)
                    if problem := await self._ask(key, wanted[key], volumes.get(key)):
                        return problem
            if time.monotonic() > deadline:
                return f"claim {open_claims[0]} was not bound to a volume within {WAIT_SECONDS:g} s"
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async def _ask(self, key: str, node: str, volume: str | None) -> str:
        uid = self._mirror.state.storage.claims[key].metadata.uid
        namespace, _, name = key.partition("/")
        if volume is None:
            outcome = await self._writer.select_node(namespace, name, uid, node)
        else:
            outcome = await self._writer.keep_volume(volume, namespace, name, uid)
        return "" if isinstance(outcome, Done) else f"claim {key}: {outcome.message}"

    # -- which volume for which claim ------------------------------------------------------------------

    def _choose(self, wanted: Mapping[str, str], binds: Sequence[Bind]) -> dict[str, str]:
        """Claim -> an existing volume, for as many claims as can have one."""
        state = self._mirror.state
        nodes, brought = state.nodes, {}
        for bind in binds:
            if (pod := self._mirror.waiting.get(bind.pod)) is not None:
                brought.update(ephemeral_specs(pod))
        reach = {
            claim: [
                volume
                for volume in resolve(claim, False, brought, state.storage).candidates
                if self._kept.get(volume, claim) == claim and self._reaches(volume, node, nodes)
            ]
            for claim, node in wanted.items()
        }
        return matched(reach)

    def _reaches(self, volume: str, node: str, nodes: NodeView) -> bool:
        row = nodes.rows.get(node)
        affinity = self._mirror.state.storage.volumes[volume].spec.node_affinity.required
        return row is not None and bool(reachable_nodes(nodes, affinity)[row])


def matched(reach: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """One volume for each claim, for as many claims as possible: augmenting paths over who reaches what."""
    holder: dict[str, str] = {}

    def find(claim: str, tried: set[str]) -> bool:
        for volume in reach[claim]:
            if volume not in tried:
                tried.add(volume)
                if volume not in holder or find(holder[volume], tried):
                    holder[volume] = claim
                    return True
        return False

    for claim in reach:
        find(claim, set())
    return {claim: volume for volume, claim in holder.items()}
