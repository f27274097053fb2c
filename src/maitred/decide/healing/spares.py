"""Spares: whole nodes with devices that are kept free for repairs, so many in each domain of a level.

Which nodes these are follows from the cluster as it is, anew in every cycle: those that are free before
those that are only lent, those that have failed less before others, then by name. So where fewer nodes are
free than are wanted, all of them are spares. Three kinds of groups may sit there:

- those that are healed;
- those of a priority below `healing.spares.below`: the nodes are lent to them, and a group that is healed may
  evict them as any group may evict pods that rank lower;
- those that have their places there already.
"""

from collections.abc import Callable, Sequence

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.selection import tainted_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.blockers import NAMES_SHOWN, names_shown
from maitred.decide.compile import managed_nodes
from maitred.decide.levels import codes_of, key_of_level
from maitred.decide.scoring import device_nodes
from maitred.decide.wear import wear_of
from maitred.model.plan import Blocker, Detail
from maitred.model.policy import Policy, health_taints
from maitred.model.words import counted

NO_SPARES: frozenset[int] = frozenset()


def spare_nodes(
    trial: Trial, policy: Policy, lent: Callable[[], Mask], reserved: frozenset[int]
) -> frozenset[int]:
    """The rows of these nodes. `lent` tells which pods could be evicted for a group that is healed. No spares
    are among those that are reserved for somebody."""
    wanted = policy.healing.spares
    if not wanted.nodes:
        return NO_SPARES
    snapshot = trial.snapshot
    fit = _fit(trial, policy)
    occupied, taken = _occupied(snapshot, lent())
    fit &= ~taken
    fit[list(reserved)] = False
    codes = _domains(snapshot, policy)
    rows = np.flatnonzero(fit & (codes >= 0))
    wear = wear_of(trial, policy)
    rank = snapshot.nodes.name_rank if wear is None else wear.rank
    rows = rows[np.lexsort((rank[rows], occupied[rows], codes[rows]))]
    place = _places(codes[rows])
    return frozenset(rows[place < wanted.nodes].tolist())


def _fit(trial: Trial, policy: Policy) -> Mask:
    """Nodes that are managed, open and well, have devices, and are no lemons."""
    nodes = trial.nodes
    fit: Mask = managed_nodes(nodes, policy) & nodes.alive & ~tainted_nodes(nodes, health_taints(policy))
    fit &= device_nodes(nodes, policy)
    fit[list(nodes.unwell)] = False
    wear = wear_of(trial, policy)
    return fit if wear is None else fit & (wear.lemon == 0)


def _occupied(snapshot: Snapshot, lent: Mask) -> tuple[Mask, Mask]:
    """Nodes with pods on them, and those where some of these would not leave."""
    occupied, taken = (np.zeros(len(snapshot.nodes.names), dtype=np.bool_) for _ in range(2))
    bound = snapshot.bound
    occupied[bound.node[~bound.fixed]] = True
    taken[bound.node[~bound.fixed & ~bound.terminating & ~lent]] = True
    rows = snapshot.nodes.rows
    promised = [rows[node] for view in snapshot.groups for node in view.nominated if node in rows]
    taken[promised] = True
    return occupied, taken


def _domains(snapshot: Snapshot, policy: Policy) -> Codes:
    level = policy.healing.spares.level
    if not level:
        return np.zeros(len(snapshot.nodes.names), dtype=np.int32)
    return codes_of(snapshot.nodes, key_of_level(level, policy.topology.levels))


def _places(sorted_codes: Codes) -> Ints:
    """The place of each within its run of equal codes."""
    starts = np.searchsorted(sorted_codes, sorted_codes)
    return np.arange(len(sorted_codes), dtype=np.int64) - starts


def kept_for_repairs(nodes: NodeView, policy: Policy, rows: Sequence[int]) -> Blocker:
    """What is in the way of a group that would fit if it might have these nodes."""
    wanted, names = policy.healing.spares, sorted(nodes.names[row] for row in rows)
    domain = f"each {wanted.level}" if wanted.level else "the cluster"
    message = (
        f"it would fit, but {names_shown(names)} {'is' if len(names) == 1 else 'are'} kept free for repairs: "
        f"the policy keeps {counted(wanted.nodes, 'node')} of {domain} for groups that hardware fails under"
    )
    detail: Detail = {"cause": "Spare", "nodes": names[:NAMES_SHOWN], "kept": len(names)}
    return Blocker("Reservation", message, {**detail, "level": wanted.level or None, "below": wanted.below})
