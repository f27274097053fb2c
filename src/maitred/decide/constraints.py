"""Blockers of constraints: what each says when it is what stands in the way."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from maitred.cluster.selection import declaring_nodes
from maitred.cluster.supply.volumes import Volumes
from maitred.decide.blockers import (
    NAMES_SHOWN,
    Unseated,
    excluded,
    excluded_words,
    names_shown,
    short_detail,
    short_words,
)
from maitred.decide.closed_nodes import closer_words, closers
from maitred.decide.devices import devices
from maitred.decide.health import health
from maitred.decide.queues.words import quota
from maitred.model.categories import Category
from maitred.model.needs import SpreadTerm
from maitred.model.plan import Blocker, Detail
from maitred.model.words import counted


def priority(unseated: Unseated) -> Blocker:
    """Who took the room: those with most seats on nodes that the group could have used."""
    seats = {group: int(np.count_nonzero(unseated.eligible[list(rows)])) for group, rows in unseated.ahead}
    there = [group for group in seats if seats[group]] or list(seats)
    first = sorted(there, key=lambda group: (-seats[group], group))
    message = (
        f"{'it would fit, but ' if unseated.alone else ''}{names_shown(first)} went first and took the room"
    )
    return Blocker("Priority", message, {**unseated.numbers, "ahead": first[:NAMES_SHOWN]})


def topology(unseated: Unseated) -> Blocker:
    request, nodes = unseated.ask.topology, unseated.trial.nodes
    levels = [unseated.context.key(level) for level in unseated.ask.levels()]
    # A level that no node has is what is wrong, whichever of the two it is.
    key = next((key for key in levels if not nodes.column(key).values), levels[0])
    column, name = nodes.column(key), unseated.context.name(key)
    detail: Detail = {"level": name, "domains": len(column.values), **unseated.numbers}
    if not column.values:
        return Blocker("Topology", f"no node has the label {key}", detail)
    if not unseated.within.any():
        return Blocker("Topology", f"its running members are not all in one {name}", detail)
    if request.slice_size and not unseated.nearest:
        return _slice_topology(unseated)
    if not (unseated.nearest or unseated.ask.seated):
        return Blocker("Topology", f"no {name} has room for even one member", detail)
    sample = unseated.nearest[0][1] if unseated.nearest else unseated.ask.seated[0].node
    code = int(column.codes[sample])
    short = unseated.short(column.codes == code)
    detail |= {"domain": column.values[code], **short_detail(short)}
    message = (
        f"{name} {column.values[code]} has room for {unseated.holds} of "
        f"{unseated.needed}{short_words(unseated, short)}"
    )
    return Blocker("Topology", message, detail)


def _slice_topology(unseated: Unseated) -> Blocker:
    """Not one slice fits: where most of one would."""
    request = unseated.ask.topology
    key = unseated.context.key(request.slice_level)
    column, name = unseated.trial.nodes.column(key), unseated.context.name(key)
    inside = unseated.within & (column.codes >= 0)
    rooms = [np.bincount(column.codes[inside], weights=c[inside], minlength=1) for c in unseated.rules.copies]
    room = np.add.reduce(rooms)
    size = min(request.slice_size, len(unseated.ask.shapes))
    detail = {
        "level": name,
        "domains": len(column.values),
        **unseated.numbers,
        "domain": column.values[room.argmax()],
    }
    nearest = f"{name} {column.values[room.argmax()]} has room for {int(room.max())}"
    return Blocker("Topology", f"no {name} has room for a slice of {size}; {nearest}", detail)


def affinity(unseated: Unseated) -> Blocker:
    """Which nodes its members are kept from, and what they want of other pods and of each other."""
    counts, terms, features = excluded(unseated), _terms(unseated), _undeclared(unseated)
    closed = closers(unseated.trial, unseated.ask.distinct)
    message = (
        f"the nodes that accept its pods have room for {unseated.holds} of "
        f"{unseated.needed}{excluded_words(counts)}"
    )
    message += closer_words(closed)
    message += f"; its pods ask for {', '.join(terms)}" if terms else ""
    for feature, nodes in features.items():
        message += (
            f"; its pods need the kubelet feature {feature}, which these nodes do not declare: "
            f"{names_shown(nodes)}"
        )
    detail: Detail = {**unseated.numbers, "excluded": counts, "closed": closed, "terms": terms}
    if features:
        detail["features"] = {feature: nodes[:NAMES_SHOWN] for feature, nodes in features.items()}
    return Blocker("Affinity", message, detail)


def _undeclared(unseated: Unseated) -> dict[str, list[str]]:
    """Features that members need of a kubelet, and the nodes that do not declare them."""
    trial, nodes = unseated.trial, unseated.trial.nodes
    needed = sorted({f for shape in unseated.ask.distinct for f in trial.needs(shape).node.features})
    lacking = {feature: nodes.alive & ~declaring_nodes(nodes, (feature,)) for feature in needed}
    return {
        feature: sorted(nodes.names[row] for row in np.flatnonzero(mask))
        for feature, mask in lacking.items()
        if mask.any()
    }


def _terms(unseated: Unseated) -> list[str]:
    """What members ask of other pods, in words."""
    found = set[str]()
    for needs in map(unseated.trial.needs, unseated.ask.distinct):
        found.update(f"pod affinity by {term.topology_key}" for term in needs.affinity)
        found.update(f"pod anti-affinity by {term.topology_key}" for term in needs.anti_affinity)
        found.update(_spread_words(unseated, spread) for spread in needs.spread)
    return sorted(found)


def _spread_words(unseated: Unseated, spread: SpreadTerm) -> str:
    """Where there are fewer domains than it asks for, each may have no more members than the skew."""
    key = spread.pods.topology_key
    skew = f"topology spread over {key} with maxSkew {spread.max_skew}"
    there = len(unseated.trial.nodes.column(key).values)
    if there >= spread.min_domains:
        return skew
    return f"{skew} and minDomains {spread.min_domains} (there are {there})"


def volume(unseated: Unseated) -> Blocker:
    """What is wrong with claims; or else how many nodes reach all volumes, and can attach no more."""
    trial, distinct = unseated.trial, unseated.ask.distinct
    needs = [need for shape in distinct for need in trial.shape(shape).volumes]
    volumes, alive = trial.supply(Volumes), trial.nodes.alive
    fit = volumes.fit(distinct, others_may_help=True)
    reached = np.logical_or.reduce([alive if mask is None else mask for mask in fit.masks])
    full = np.logical_or.reduce([room.free < max(room.use) for room in fit.rooms] or [~alive]) & reached
    missing = {need.driver: int((alive & ~volumes.with_driver(need)).sum()) for need in needs}
    detail: Detail = {
        **unseated.numbers,
        "problems": sorted({need.problem for need in needs if need.problem}),
        "drivers": {driver: missing[driver] for driver in sorted(missing) if missing[driver]},
        "reached": int(reached.sum()),
        "full": int(full.sum()),
        "exclusive": sorted({need.exclusive for need in needs if need.exclusive}),
    }
    return Blocker("Volume", _volume_words(detail, int(alive.sum())), detail)


def _volume_words(detail: Detail, nodes: int) -> str:
    if detail["problems"]:
        return f"storage is not ready: {'; '.join(detail['problems'][:NAMES_SHOWN])}"
    where = f"{detail['reached']} of {counted(nodes, 'node')}"
    words = (
        f"the nodes that can reach its volumes ({where}) have room for {detail['holds']} of "
        f"{detail['needed']}"
    )
    words += f"; {counted(detail['full'], 'node')} can attach no more volumes" if detail["full"] else ""
    for driver, count in detail["drivers"].items():
        words += f"; the CSI driver {driver} is not installed on {counted(count, 'node')}"
    claims = names_shown(detail["exclusive"])
    return f"{words}; only one pod at a time may use {claims}" if claims else words


def quota_of_queue(unseated: Unseated) -> Blocker:
    use = unseated.trial.queues
    assert use is not None, "only groups in queues are limited by them"
    return quota(use, unseated.ask, unseated.context.policy, unseated.alone, unseated.numbers)


LIFTED: dict[Category, Callable[[Unseated], Blocker]] = {
    "Quota": quota_of_queue,
    "Priority": priority,
    "Topology": topology,
    "Devices": devices,
    "Health": health,
    "Affinity": affinity,
    "Volume": volume,
}


def in_company(unseated: Unseated, category: Category, besides: Sequence[Category]) -> Blocker:
    """A constraint that is in the way, but to lift it alone would not be enough."""
    blocker = LIFTED[category](replace(unseated, alone=False))
    others = [other for other in besides if other != category]
    message = f"{blocker.message}; {' and '.join(others)} would still block it"
    return Blocker(category, message, {**blocker.detail, "besides": others})
