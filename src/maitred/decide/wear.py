"""Which of equally good nodes come last: lemons, and of all others those that have failed before.

All scores become less at the same pace, so their order stays what it was: it needs no clock. A cluster in
which nothing has failed has no scores, and nothing of this is looked at there.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, NodeView
from maitred.cluster.trial import Trial
from maitred.model.duration import milliseconds
from maitred.model.memory import NodeScore
from maitred.model.policy import Policy

Scores = tuple[NodeScore, ...]
LEAST = 1e-9
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
LEMON_WEIGHT = 1_000
"""No domain is chosen for its lemons, however many of its other nodes have failed once."""


@dataclass(frozen=True, slots=True)
class Wear:
    """Columns over nodes, made from these very scores."""

    scores: Scores
    half_life: str
    lemon: Ints
    """1 for lemons."""
    weight: Ints
    """0 for nodes that have not failed; of domains these are added up."""
    rank: Codes
    """The position of each node where all else is equal: by how often it has failed, then by name."""


def wear_of(trial: Trial, policy: Policy) -> Wear | None:
    """None if no node has failed."""
    scores = trial.snapshot.memory.scores
    if not scores:
        return None
    nodes, half_life = trial.nodes, policy.healing.lemons.half_life
    # To compare a thousand scores would take longer than to make the columns.
    found: Wear | None = nodes.cache.get("wear")
    if found is None or found.scores is not scores or found.half_life != half_life:
        nodes.cache["wear"] = found = _wear(nodes, scores, half_life)
    return found


def tie_rank(trial: Trial, policy: Policy) -> Codes:
    wear = wear_of(trial, policy)
    return trial.nodes.name_rank if wear is None else wear.rank


def in_classes(wear: Wear, scores: Ints, rows: Rows) -> Ints:
    """How good nodes are, where lemons are never as good as others."""
    classes: Ints = scores * 2 + wear.lemon[rows]
    return classes


def _wear(nodes: NodeView, scores: Scores, half_life: str) -> Wear:
    rows = nodes.rows
    known = [one for one in scores if one.node in rows]
    places = [rows[one.node] for one in known]
    span = timedelta(milliseconds=milliseconds(half_life) or 1)
    failed = np.zeros(len(nodes.names), dtype=np.float64)
    lemon = np.zeros(len(nodes.names), dtype=np.int64)
    when = np.array([(one.at - BEGINNING) / span for one in known])
    height = np.array([math.log2(max(one.score, LEAST)) for one in known]) + when
    failed[places] = 1.0 + height - height.min(initial=0.0)
    lemon[places] = [one.lemon_since is not None for one in known]
    rank = np.empty(len(nodes.names), dtype=np.int32)
    rank[np.lexsort((nodes.name_rank, failed, lemon))] = np.arange(len(nodes.names), dtype=np.int32)
    weight = np.where(lemon > 0, LEMON_WEIGHT, failed > 0).astype(np.int64)
    return Wear(scores, half_life, lemon, weight, rank)
