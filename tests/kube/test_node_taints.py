"""Taints of nodes: one is changed, others stay, and whoever was overtaken reads the node again."""

import asyncio
import json
from typing import Any

from maitred.kube.errors import ApiError
from maitred.kube.node_taints import TaintedMeta, TaintedNode, TaintedSpec, TaintWriter
from maitred.kube.outcomes import Done, Refused, Unknown

KEY, EFFECT = "maitred.dev/lemon", "NoSchedule"
OTHER = {"key": "dedicated", "effect": "NoSchedule", "timeAdded": "2026-01-31T12:00:00Z"}
OURS = {"key": KEY, "effect": EFFECT, "value": "NotReady"}


class Line:
    """A writer whose server is one node."""

    def __init__(self, *taints: dict[str, Any], conflicts: int = 0, exists: bool = True) -> None:
        self.taints, self.conflicts, self.exists = list(taints), conflicts, exists
        self.version, self.writes = 1, 0

    async def read(self, path: str, kind: type[TaintedNode]) -> TaintedNode | None:
        meta = TaintedMeta(str(self.version))
        return TaintedNode(meta, TaintedSpec(tuple(self.taints))) if self.exists else None

    async def send(self, verb: str, path: str, body: bytes, judge: Any, type: str) -> Any:
        found = json.loads(body)
        self.writes += 1
        if self.conflicts:
            self.conflicts -= 1
            self.version += 1
            return await judge(ApiError(verb, path, 409, "Conflict", "it has changed"))
        assert found["metadata"]["resourceVersion"] == str(self.version)
        self.taints = found["spec"]["taints"] or []
        return b"{}"


def change(line: Line, add: bool) -> Done | Refused | Unknown:
    return asyncio.run(TaintWriter(line).change("n1", KEY, "NotReady", EFFECT, add))  # type: ignore[arg-type]


def test_a_taint_is_added_beside_others() -> None:
    line = Line(OTHER)
    assert change(line, True) == Done()
    assert line.taints == [OTHER, OURS]


def test_a_taint_is_taken_off_and_others_stay() -> None:
    line = Line(OURS, OTHER)
    assert change(line, False) == Done()
    assert line.taints == [OTHER]


def test_what_is_so_already_is_not_written() -> None:
    for line, add in ((Line(OURS), True), (Line(OTHER), False), (Line(exists=False), True)):
        assert change(line, add) == Done()
        assert line.writes == 0


def test_whoever_was_overtaken_reads_the_node_again() -> None:
    line = Line(OTHER, conflicts=1)
    assert change(line, True) == Done()
    assert (line.writes, line.taints) == (2, [OTHER, OURS])
    assert isinstance(change(Line(conflicts=99), True), Unknown)
