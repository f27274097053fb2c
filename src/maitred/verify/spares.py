"""Nodes that are kept free for repairs: only where the policy asks for it, no more than it asks for, and none
that anybody gets but groups that are healed, and groups that may be evicted."""

from collections import Counter
from collections.abc import Iterator

from .case import Breach, Case, breach
from .fields import Doc
from .healing import is_healed
from .pods import Pod

CAUSE = "Spare"


def is_spare(hold: Doc) -> bool:
    return hold.text("cause") == CAUSE


def judge_spares(case: Case) -> Iterator[Breach]:
    wanted, found = case.policy.spares, Counter[str]()
    given = {node.name: pod for pod, node in (*case.binds, *case.nominations) if not _may_have(case, pod)}
    for hold in filter(is_spare, case.plan.docs("holds")):
        name = hold.text("node")
        node = case.cluster.nodes.get(name)
        if node is None:
            yield breach(1, name, "kept free for repairs, but there is no such node")
            continue
        if name in given:
            yield breach(5, name, f"kept free for repairs, but {given[name].key} is put there")
        found[node.labels.get(case.policy.level(wanted.level), "") if wanted.level else ""] += 1
    for domain, count in sorted(found.items()):
        if count > wanted.nodes:
            where = domain or "the cluster"
            yield breach(7, where, f"{count} nodes are kept free for repairs; the policy says {wanted.nodes}")


def _may_have(case: Case, pod: Pod) -> bool:
    group = case.group_of[pod.key]
    return (group.rank is not None and group.rank < case.policy.spares.below) or is_healed(case, group)
