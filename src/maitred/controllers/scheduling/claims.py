"""Claims that wait for their first consumer: they get their volumes before the pods get their nodes.

Which volume each claim gets is in the Plan. Here the claims are told: an existing volume is kept for its
claim, otherwise the provisioner is asked to make one for the node. The volume controller and the provisioner
do the rest, and the pods are bound when all volumes are there.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence

from maitred.cluster.volumes import claim_names
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done
from maitred.kube.writes import Writer
from maitred.model.plan import VolumeChoice
from maitred.model.pod import Pod

WAIT_SECONDS = 600.0
"""As long as kube-scheduler waits: disks can be slow to make."""
SECONDS_BETWEEN_LOOKS = 0.1


class ClaimPreparer:
    def __init__(self, mirror: Mirror, writer: Writer) -> None:
        self._mirror = mirror
        self._writer = writer

    def _is_unbound(self, key: str) -> bool:
        claim = self._mirror.state.storage.claims.get(key)
        return claim is None or not claim.spec.volume_name

    async def prepare(self, choices: Sequence[VolumeChoice]) -> str:
        """Get every claim the volume that was chosen for it. What went wrong, or nothing."""
        asked, deadline = set[str](), time.monotonic() + WAIT_SECONDS
        while True:
            claims = self._mirror.state.storage.claims
            unbound = [choice for choice in choices if self._is_unbound(choice.claim)]
            if not unbound:
                return ""
            for choice in unbound:
                # A claim that a pod brings along is made by its own controller, a moment after the pod.
                if choice.claim in claims and choice.claim not in asked:
                    asked.add(choice.claim)
                    if problem := await self._ask(choice):
                        return problem
            if time.monotonic() > deadline:
                return f"claim {unbound[0].claim} was not bound to a volume within {WAIT_SECONDS:g} s"
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async def _ask(self, choice: VolumeChoice) -> str:
        uid = self._mirror.state.storage.claims[choice.claim].metadata.uid
        namespace, _, name = choice.claim.partition("/")
        if choice.volume is None:
            outcome = await self._writer.select_node(namespace, name, uid, choice.node)
        else:
            outcome = await self._writer.keep_volume(choice.volume, namespace, name, uid)
        return "" if isinstance(outcome, Done) else f"claim {choice.claim}: {outcome.message}"


def choices_for(pods: Iterable[Pod], chosen: Mapping[str, VolumeChoice]) -> tuple[VolumeChoice, ...]:
    """What the claims of these pods get, by all that the Plan has chosen."""
    if not chosen:
        return ()
    claims = dict.fromkeys(claim for pod in pods for claim in claim_names(pod))
    return tuple(chosen[claim] for claim in claims if claim in chosen)
