"""Who leaves for a group and what that costs, or why nobody does."""

from collections.abc import Sequence

from maitred.decide.record import TriedGroup
from maitred.explain.cycle import ExplainedCycle
from maitred.explain.receipts import to_leave
from maitred.explain.why.answer import PreemptionAnswer
from maitred.model.plan import Eviction, GroupVerdict
from maitred.model.words import counted

MOST_UNITS = 8


def preemption_of(cycle: ExplainedCycle, group: TriedGroup, verdict: GroupVerdict) -> PreemptionAnswer | None:
    if verdict.verdict == "Preempting":
        evictions = [one for one in cycle.decided.evictions if one.preemptor == group.key]
        names = cycle.snapshot.nodes.names
        nodes = dict.fromkeys(names[row] for _, row in sorted(group.promised))
        return _promised(evictions, tuple(nodes))
    refusal = next((b.detail["preemption"] for b in verdict.blockers if "preemption" in b.detail), None)
    return None if refusal is None else PreemptionAnswer(allowed=False, words=refusal)


def _promised(evictions: Sequence[Eviction], nodes: tuple[str, ...]) -> PreemptionAnswer:
    where = counted(len(nodes), "node")
    if not evictions:
        return PreemptionAnswer(
            True, f"waits for pods that are leaving {where}, where places are held for it", nodes=nodes
        )
    receipt = evictions[0].receipt
    units = tuple(dict.fromkeys(one.receipt.unit for one in evictions))
    return PreemptionAnswer(
        allowed=True,
        words=f"waits for {to_leave(evictions)}",
        pods=len(evictions),
        units=units[:MOST_UNITS],
        toll=receipt.toll,
        nodes=nodes,
        next_best=next(iter(receipt.alternatives), None),
        cause=evictions[0].cause,
        rule=receipt.rule,
    )
