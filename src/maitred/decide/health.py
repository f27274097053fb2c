"""The blocker of health: nodes that are closed or unwell, and devices that no pod may have for now."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.supply.devices import DeviceSupply
from maitred.decide.blockers import NAMES_SHOWN, Unseated, names_shown
from maitred.decide.compile import acceptable
from maitred.decide.devices import tainted_devices, tainted_words
from maitred.model.drain import Drain
from maitred.model.node import UNSCHEDULABLE, Taint
from maitred.model.plan import Blocker, Detail
from maitred.model.policy import health_taints
from maitred.model.unwell import UnwellDevices
from maitred.model.words import counted

MOST_TAINTED = 64
"""Devices that are named as data: those of some nodes, which a remedy brings back together."""


def health(unseated: Unseated) -> Blocker:
    """Whichever of these is in the way."""
    devices = list(_unwell_devices(unseated)) if "devices" in unseated.ill else []
    tainted = tainted_devices(unseated) if "tainted devices" in unseated.ill else []
    states = _unwell_nodes(unseated) if "nodes" in unseated.ill or not (devices or tainted) else {}
    said = list(_node_words(states, unseated.trial.snapshot.drains))
    said += _device_words(devices)
    said += [tainted_words(tainted)] if tainted else []
    fit = "would" if all(one["of"] for one in devices) else "may"
    but = f"it {fit} fit, but " if unseated.alone else ""
    rest = "what is left has" if devices or tainted else "the other nodes have"
    message = f"{but}{' and '.join(said)}; {rest} room for {unseated.holds} of {unseated.needed}"
    detail = {**unseated.numbers, "nodes": sorted(states)[:NAMES_SHOWN], "unwell": len(states)}
    if devices:
        detail["devices"] = devices[:NAMES_SHOWN]
    if tainted:
        detail |= {"tainted": tainted[:MOST_TAINTED], "taintedDevices": len(tainted)}
    return Blocker("Health", message, detail)


def gone(unseated: Unseated) -> Blocker | None:
    """Devices that slices had and have no more, of the class that members ask for. Whether the group would
    fit with them nobody can say."""
    supply = unseated.trial.supply(DeviceSupply)
    found = sorted({id for shape in unseated.ask.distinct for id in supply.gone(shape)})
    if not found:
        return None
    names = names_shown([f"{one.device} of pool {one.pool}" for one in found])
    said = (
        f"{counted(len(found), 'device')} that claims have {'is' if len(found) == 1 else 'are'} not published"
    )
    detail: Detail = {
        **unseated.numbers,
        "nodes": [],
        "unwell": 0,
        "gone": [one._asdict() for one in found[:NAMES_SHOWN]],
        "goneDevices": len(found),
    }
    return Blocker("Health", f"{said} any more: {names}", detail)


def _unwell_nodes(unseated: Unseated) -> dict[str, list[str]]:
    """Nodes that taints of health close, and why they do: the names of those, or who drains the node."""
    nodes, health = unseated.trial.nodes, health_taints(unseated.context.policy)
    ill = [sorted({_cause(taint) for taint in taints if taint.key in health}) for taints in nodes.taint_sets]
    rows = np.flatnonzero(np.array([bool(keys) for keys in ill])[nodes.taint_ids] & nodes.alive)
    return {nodes.names[row]: ill[nodes.taint_ids[row]] for row in rows}


def _cause(taint: Taint) -> str:
    """Who drains a node is in the value of the taint that it is closed by."""
    return taint.value if taint.key == UNSCHEDULABLE and taint.value else taint.key.rpartition("/")[2]


def _node_words(states: Mapping[str, list[str]], drains: Iterable[Drain]) -> Iterator[str]:
    """Nodes that are drained by one request are named together."""
    drained = {
        drain.key: [name for name in sorted(states) if states[name] == [drain.key]] for drain in drains
    }
    others = sorted(states.keys() - {name for names in drained.values() for name in names})
    if others:
        said = [f"{name} ({', '.join(states[name])})" for name in others]
        yield f"{names_shown(said)} {'is' if len(said) == 1 else 'are'} not available"
    for drain in drains:
        if names := drained[drain.key]:
            yield f"{names_shown(names)} {'is' if len(names) == 1 else 'are'} {drain.words}"


def _unwell_devices(unseated: Unseated) -> Iterator[Detail]:
    """Devices of a kind that members ask for, by node: where the group would sit if they were well, else
    wherever it may."""
    nodes, needs = unseated.trial.nodes, [unseated.trial.needs(shape) for shape in unseated.ask.distinct]
    asked = {resource for need in needs for resource, amount in need.requests if amount}
    found = {row: sorted(asked & unwell.keys()) for row, unwell in nodes.unwell.items()}
    places = {row for row in unseated.mended if found.get(row)}
    if not places:
        places = set(np.flatnonzero(_acceptable(unseated)).tolist()) & found.keys()
    for row in sorted(places, key=lambda row: nodes.names[row]):
        for resource in found[row]:
            yield _detail(nodes.names[row], resource, nodes.unwell[row][resource])


def _acceptable(unseated: Unseated) -> Mask:
    trial, policy = unseated.trial, unseated.context.policy
    well = trial.on(trial.nodes.without_taints(health_taints(policy)))
    mask: Mask = np.logical_or.reduce([acceptable(well, s, policy) for s in unseated.ask.distinct])
    return mask


def _detail(node: str, resource: str, unwell: UnwellDevices) -> Detail:
    """Where nobody says how many there are, the numbers are null."""
    count, of = (unwell.unwell, unwell.of) if unwell.is_counted else (None, None)
    detail: Detail = {"node": node, "resource": resource, "unwell": count, "of": of, "cause": unwell.cause}
    return {**detail, "label": unwell.label} if unwell.label else detail


# -- words ---------------------------------------------------------------------------------------------


def _device_words(devices: list[Detail]) -> list[str]:
    """Those of one cause together: `3 of 8 nvidia.com/gpu on n2, 1 of 8 nvidia.com/gpu on n3 are unwell`."""
    said = []
    some = [one for one in devices if one["cause"] == "Unhealthy"]
    if some:
        each = [f"{one['unwell']} of {one['of']} {one['resource']} on {one['node']}" for one in some]
        said.append(f"{names_shown(each)} {'is' if [one['unwell'] for one in some] == [1] else 'are'} unwell")
    for resource in dict.fromkeys(one["resource"] for one in devices):
        of_kind = [one for one in devices if one["resource"] == resource]
        said += _silent_words(resource, [one for one in of_kind if one["cause"] == "NotAnswering"])
        said += _unregistered_words(resource, [one for one in of_kind if one["cause"] == "NotRegistered"])
    return said


def _silent_words(resource: str, silent: list[Detail]) -> Iterable[str]:
    if len(silent) == 1:
        yield (
            f"the device plugin of {resource} on {silent[0]['node']} is not answering, or all "
            f"{silent[0]['of']} are unwell"
        )
    elif silent:
        where = names_shown([f"{one['node']} ({one['of']})" for one in silent])
        yield f"the device plugins of {resource} on {where} are not answering, or all of these are unwell"


def _unregistered_words(resource: str, absent: list[Detail]) -> Iterable[str]:
    if len(absent) == 1:
        one = absent[0]
        says = f"says {one['of']}" if one["of"] else "does not say how many there are"
        yield (
            f"the device plugin of {resource} on {one['node']} is not registered: its label {one['label']} "
            f"{says}"
        )
    elif absent:
        where = names_shown([f"{one['node']} ({one['of'] or 'unknown'})" for one in absent])
        labels = list(dict.fromkeys(one["label"] for one in absent))
        yield (
            f"the device plugins of {resource} on {where} are not registered; the numbers are those of "
            f"their {'label' if len(labels) == 1 else 'labels'} {', '.join(labels)}"
        )
