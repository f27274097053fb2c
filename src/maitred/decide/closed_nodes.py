"""What closes nodes to a pod, by name: the label that it asks for and they lack, the taint that it does not
tolerate. A count alone does not tell a wrong selector from a full cluster."""

from collections.abc import Iterator

import numpy as np

from maitred.cluster.nodes import NODE_NAME, LabelColumn, Mask, NodeView
from maitred.cluster.selection import (
    REPELLING,
    in_any_term,
    required_nodes,
    selected_by,
    tolerated_nodes,
)
from maitred.cluster.trial import Trial
from maitred.model.drain import DRAIN
from maitred.model.needs import Needs
from maitred.model.node import UNSCHEDULABLE, Taint, tolerates_all
from maitred.model.plan import Detail
from maitred.model.selector import Requirement
from maitred.model.words import counted

MOST_CLOSERS = 3
MOST_VALUES = 5


def closers(trial: Trial, shapes: tuple[int, ...]) -> list[Detail]:
    """What closes most nodes comes first. Of several shapes, the one that is kept from most nodes."""
    nodes = trial.nodes
    needs = [trial.needs(shape) for shape in shapes]
    open_to = [required_nodes(nodes, one.node) & tolerated_nodes(nodes, one.tolerations) for one in needs]
    worst = needs[min(range(len(needs)), key=lambda position: int(open_to[position].sum()))]
    found = [one for one in (*by_labels(nodes, worst), *by_taints(nodes, worst)) if one["nodes"]]
    return sorted(found, key=lambda one: -one["nodes"])[:MOST_CLOSERS]


def by_labels(nodes: NodeView, needs: Needs) -> Iterator[Detail]:
    wanted = [(requirement, requirement.key) for requirement in needs.node.selector]
    terms = needs.node.terms or ()
    if len(terms) == 1:
        wanted += [(one, one.key) for one in terms[0].match_expressions]
        wanted += [(one, NODE_NAME) for one in terms[0].match_fields]
    for requirement, key in wanted:
        closed = nodes.alive & ~selected_by(nodes, requirement, field=key)
        yield {
            "label": requirement_words(requirement),
            "nodes": int(closed.sum()),
            "of": int(nodes.alive.sum()),
            "values": values_on(nodes.column(key), closed),
        }
    if len(terms) > 1:
        closed = nodes.alive & ~in_any_term(nodes, terms)
        yield {
            "terms": len(terms),
            "nodes": int(closed.sum()),
            "of": int(nodes.alive.sum()),
        }


def by_taints(nodes: NodeView, needs: Needs) -> Iterator[Detail]:
    counts = np.bincount(nodes.taint_ids[nodes.alive], minlength=len(nodes.taint_sets)).tolist()
    found: dict[str, int] = {}
    for taints, count in zip(nodes.taint_sets, counts, strict=True):
        not_tolerated = (one for one in taints if not tolerates_all(needs.tolerations, (one,), REPELLING))
        for taint in {taint_words(one) for one in not_tolerated}:
            found[taint] = found.get(taint, 0) + count
    total = int(nodes.alive.sum())
    yield from ({"taint": taint, "nodes": count, "of": total} for taint, count in sorted(found.items()))


def values_on(column: LabelColumn, rows: Mask) -> list[str]:
    """What the label says on some nodes."""
    codes = np.unique(column.codes[rows])
    return [column.values[code] for code in codes.tolist() if code >= 0][:MOST_VALUES]


def requirement_words(requirement: Requirement) -> str:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "In" if len(values) == 1:
            return f"{key}={values[0]}"
        case "In" | "NotIn":
            return f"{key} {'in' if requirement.operator == 'In' else 'not in'} ({', '.join(values)})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"without {key}"
        case operator:
            return f"{key} {'>' if operator == 'Gt' else '<'} {''.join(values)}"


def taint_words(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def closer_words(found: list[Detail]) -> str:
    return "".join(f"; {closer_word(one)}" for one in found)


def closer_word(one: Detail) -> str:
    """`64 of 64 nodes lack label gpu.model=h200; they have a100, h100`."""
    count, where = one["nodes"], counted(one["nodes"], "node")
    if "taint" in one:
        if one["taint"].startswith(f"{UNSCHEDULABLE}:"):
            return f"{where} {'is' if count == 1 else 'are'} cordoned"
        if one["taint"].startswith(f"{UNSCHEDULABLE}={DRAIN}/"):
            name = one["taint"].partition("=")[2].rpartition(":")[0]
            return f"{where} {'is' if count == 1 else 'are'} being drained ({name})"
        return f"{where} {'has' if count == 1 else 'have'} the taint {one['taint']}"
    if "terms" in one:
        match = "matches" if count == 1 else "match"
        return f"{count} of {counted(one['of'], 'node')} {match} none of {one['terms']} node affinity terms"
    one_label = " " not in one["label"]
    verb = ("lacks label", "lack label") if one_label else ("does not meet", "do not meet")
    lack = f"{count} of {counted(one['of'], 'node')} {verb[count != 1]} {one['label']}"
    values = one["values"]
    return f"{lack}; {'it has' if count == 1 else 'they have'} {', '.join(values)}" if values else lack
