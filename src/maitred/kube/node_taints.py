"""Taints of nodes: one is added or taken off, and the others stay as whoever else has written them."""

from typing import Any

from maitred.kube.client import MERGE_PATCH, encode
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import NODES
from maitred.kube.writes import ATTEMPTS, Writer, refusal
from maitred.model.meta import Lean

DONE = Done()


class TaintedMeta(Lean, frozen=True):
    resource_version: str = ""


class TaintedSpec(Lean, frozen=True):
    taints: tuple[dict[str, Any], ...] = ()
    """As they are, with all their fields."""


class TaintedNode(Lean, frozen=True):
    metadata: TaintedMeta
    spec: TaintedSpec = TaintedSpec()


class TaintWriter:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def change(
        self, node: str, key: str, value: str, effect: str, add: bool
    ) -> Done | Refused | Unknown:
        """Done also if it is so already, or if there is no such node any more. Others write taints too, so
        each attempt is made on the node as it was just read."""
        path = NODES.path(name=node)
        for _ in range(ATTEMPTS):
            try:
                found = await self._writer.read(path, TaintedNode)
            except KubeError as error:
                return refusal(error) or Unknown(str(error))
            if found is None:
                return DONE
            others = [one for one in found.spec.taints if not is_this(one, key, effect)]
            if (len(others) < len(found.spec.taints)) is add:
                return DONE
            taint = {"key": key, "effect": effect, **({"value": value} if value else {})}
            body = patch(found.metadata.resource_version, [*others, taint] if add else others)
            outcome = await self._writer.send("PATCH", path, body, overtaken, MERGE_PATCH)
            if isinstance(outcome, bytes):
                return DONE
            if not (isinstance(outcome, Refused) and outcome.why is RefusalReason.STALE):
                return outcome
        return Unknown(f"PATCH {path}: others changed the node at the same time, {ATTEMPTS} times")


def is_this(taint: dict[str, Any], key: str, effect: str) -> bool:
    return (taint.get("key"), taint.get("effect")) == (key, effect)


def patch(version: str, taints: list[dict[str, Any]]) -> bytes:
    """With the version that it was made from: a list is replaced as a whole."""
    return encode({"metadata": {"resourceVersion": version}, "spec": {"taints": taints or None}})


async def overtaken(error: KubeError) -> Refused | None:
    if isinstance(error, ApiError) and error.is_conflict:
        return Refused(RefusalReason.STALE, error.message)
    return refusal(error)
