"""What a Node says of its health: Ready, conditions, taints, and notices of clouds."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from maitred.model.health.signals import Certainty, Evidence, Family, Kind, Signal
from maitred.model.health.tables import (
    CONDITION_ROWS,
    NOTICE_LABELS,
    NOTICE_ROWS,
    NOTICES,
    TAINT_ROWS,
    WHEN_FALSE,
    WHEN_TRUE,
    ConditionRow,
    NoticeRow,
)
from maitred.model.health.xids import xid_row, xids_in
from maitred.model.meta import CUT_TO, Timestamp
from maitred.model.node import NOT_READY, UNREACHABLE, UNSCHEDULABLE, Node
from maitred.model.reports import SaidCondition
from maitred.model.selector import decimal_integer
from maitred.model.unwell import Cause, UnwellDevices

READY = "Ready"
LATEST = 4_102_444_800
"""The year 2100: a number above it is no time."""
CONDITION_OF_TAINT = {
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}
"""Taints that repeat a condition."""
LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class NodeReport:
    signals: tuple[Signal, ...]
    unknown: tuple[tuple[str, str], ...]
    """Conditions of unknown types, each with its status."""


def node_signals(node: Node, closing: Collection[str] = ()) -> NodeReport:
    """`closing` are the keys of taints that the policy counts as unwell."""
    unknown = tuple(
        (one.type[:CUT_TO], one.status[:CUT_TO]) for one in node.status.conditions if not _is_known(one.type)
    )
    found = (*_readiness(node), *_conditions(node), *_taints(node, closing), *_notices(node))
    return NodeReport(found, unknown)


def tells_of_trouble(node: Node) -> bool:
    """Whether there may be a signal, whatever taints the policy counts."""
    spec, status = node.spec, node.status
    if spec.taints or spec.unschedulable or not NOTICE_LABELS.isdisjoint(node.metadata.labels):
        return True
    return any(one.status != _well(one.type) for one in status.conditions if _is_known(one.type))


def _well(condition: str) -> str:
    """The status of a condition that says nothing bad."""
    row = CONDITION_ROWS.get(condition)
    return WHEN_TRUE if condition == READY or (row is not None and row.bad == WHEN_FALSE) else WHEN_FALSE


def _is_known(type: str) -> bool:
    return type == READY or type in CONDITION_ROWS or ("condition", type) in NOTICE_ROWS


def evidence_of(condition: SaidCondition) -> Evidence:
    said: Evidence = {"condition": condition.type, "status": condition.status}
    if condition.reason:
        said["reason"] = condition.reason[:CUT_TO]
    if condition.message:
        said["message"] = condition.message[:LONGEST_MESSAGE]
    return said


def _readiness(node: Node) -> Iterator[Signal]:
    ready = next((one for one in node.status.conditions if one.type == READY), None)
    if ready is None or ready.status == "True":
        return
    row = TAINT_ROWS[NOT_READY if ready.status == "False" else UNREACHABLE]
    yield Signal(
        kind=row.kind,
        family=row.family,
        certainty="certain",
        about="node",
        words=row.words,
        node=node.metadata.name,
        since=ready.last_transition_time,
        evidence=evidence_of(ready),
    )


# -- conditions ----------------------------------------------------------------------------------------


def _conditions(node: Node) -> Iterator[Signal]:
    for condition in node.status.conditions:
        row = CONDITION_ROWS.get(condition.type)
        if row is not None and condition.status == row.bad:
            yield _condition_signal(node.metadata.name, row, condition)


def _condition_signal(node: str, row: ConditionRow, condition: SaidCondition) -> Signal:
    """An XID tells more than the condition that carries it. Of several, the worst counts."""
    evidence = {**evidence_of(condition), "by": row.by}
    family, certainty, words = row.family, row.certainty, row.words
    xids = xids_in(condition.reason, condition.message, coded=row.coded)
    if xids:
        worst = min(map(xid_row, xids), key=lambda one: (one.family != "Device", one.certainty != "certain"))
        family, certainty = worst.family, worst.certainty
        words = f"reports XID {worst.xid} ({worst.words})"
        evidence |= {"xid": worst.xid, "helps": worst.helps}
    return Signal(
        kind="Condition",
        family=family,
        certainty=certainty,
        about="node",
        words=words,
        node=node,
        since=condition.last_transition_time,
        evidence=evidence,
    )


# -- taints --------------------------------------------------------------------------------------------


def _taints(node: Node, closing: Collection[str]) -> Iterator[Signal]:
    """Those that repeat what a condition says are not told twice."""
    name = node.metadata.name
    ready = next((one.status for one in node.status.conditions if one.type == READY), None)
    said = {one.type for one in node.status.conditions}
    told = set[str]()
    for taint in node.spec.taints:
        key = taint.key
        row = TAINT_ROWS.get(key)
        if key in told or (row is not None and row.kind != "Closed" and ready not in (None, "True")):
            continue
        told.add(key)
        if row is not None:
            yield Signal(
                kind=row.kind,
                family=row.family,
                certainty="certain",
                about="node",
                words=row.words,
                node=name,
                since=taint.time_added,
                evidence={"taint": key, "effect": taint.effect},
            )
        elif key in closing and not _is_said_elsewhere(key, said):
            yield _tainted(name, key, taint.effect, taint.time_added)
    if node.spec.unschedulable:
        yield _cordon(node)


def _is_said_elsewhere(key: str, conditions: Collection[str]) -> bool:
    repeats = CONDITION_OF_TAINT.get(key)
    return key == UNSCHEDULABLE or ("taint", key) in NOTICE_ROWS or repeats in conditions


def _tainted(node: str, key: str, effect: str, since: Timestamp | None) -> Signal:
    """What a taint of pressure says without its condition is as sure as the condition; of others it is only
    known that the policy counts them."""
    row = CONDITION_ROWS.get(CONDITION_OF_TAINT.get(key, ""))
    family: Family = "Unknown" if row is None else row.family
    return Signal(
        kind="Taint",
        family=family,
        certainty="likely" if row is None else row.certainty,
        about="node",
        words=f"has the taint {key}" if row is None else row.words,
        node=node,
        since=since,
        evidence={"taint": key, "effect": effect},
    )


def _cordon(node: Node) -> Signal:
    added = next((one.time_added for one in node.spec.taints if one.key == UNSCHEDULABLE), None)
    return Signal(
        kind="Cordon",
        family="Notice",
        certainty="certain",
        about="node",
        words="is cordoned: no new pod is placed on it",
        node=node.metadata.name,
        since=added,
        evidence={"unschedulable": True},
    )


# -- notices -------------------------------------------------------------------------------------------


def _notices(node: Node) -> Iterator[Signal]:
    taints = {taint.key: taint for taint in node.spec.taints}
    conditions = {one.type: one for one in node.status.conditions if one.status == "True"}
    for row in NOTICES:
        if row.place == "taint" and row.key in taints:
            taint = taints[row.key]
            yield _notice(node, row, taint.time_added, {"taint": row.key, "effect": taint.effect})
        elif row.place == "condition" and row.key in conditions:
            condition = conditions[row.key]
            yield _notice(node, row, condition.last_transition_time, evidence_of(condition))
        elif row.place == "label" and (value := node.metadata.labels.get(row.key)):
            at = _time_in(value) if row.timed else None
            if (row.timed and at is not None) or (not row.timed and value == row.value):
                evidence: Evidence = {"label": row.key, "value": value[:CUT_TO]}
                words = f"{row.words} for {at:%Y-%m-%dT%H:%M:%SZ}" if at else row.words
                yield _notice(node, row._replace(words=words), None, evidence)


def _notice(node: Node, row: NoticeRow, since: Timestamp | None, evidence: Evidence) -> Signal:
    return Signal(
        kind=row.kind,
        family="Notice",
        certainty="certain",
        about="node",
        words=row.words,
        node=node.metadata.name,
        since=since,
        evidence={**evidence, "by": row.by},
    )


def _time_in(text: str) -> datetime | None:
    seconds = decimal_integer(text[:CUT_TO])
    if seconds is None or not 0 < seconds < LATEST:
        return None
    return datetime.fromtimestamp(seconds, UTC)


# -- devices that the node does not offer --------------------------------------------------------------


def device_signal(node: str, resource: str, unwell: UnwellDevices) -> Signal:
    evidence: Evidence = {
        "resource": resource,
        "cause": unwell.cause,
        "unwell": unwell.unwell if unwell.is_counted else None,
        "of": unwell.of if unwell.is_counted else None,
    }
    if unwell.label:
        evidence["label"] = unwell.label
    kind, family, certainty, words = _DEVICE_CAUSES[unwell.cause]
    return Signal(
        kind=kind,
        family=family,
        certainty=certainty,
        about="device",
        words=words.format(unwell=unwell.unwell, of=unwell.of, resource=resource, label=unwell.label),
        node=node,
        device=resource,
        evidence=evidence,
    )


_DEVICE_CAUSES: dict[Cause, tuple[Kind, Family, Certainty, str]] = {
    "Unhealthy": (
        *("DevicesUnhealthy", "Device", "certain"),
        "no longer offers {unwell} of its {of} {resource}: unhealthy, says the device plugin",
    ),
    "NotAnswering": (
        *("PluginSilent", "Infrastructure", "likely"),
        "offers none of its {of} {resource}: the device plugin has stopped, or all of them are unhealthy",
    ),
    "NotRegistered": (
        *("PluginMissing", "Infrastructure", "likely"),
        "has {resource}, as its label {label} says, and no device plugin offers them",
    ),
}
