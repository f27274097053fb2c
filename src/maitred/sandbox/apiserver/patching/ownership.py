"""Who owns which fields of an object, in its `metadata.managedFields`.

A write that is no apply takes over the fields that it changes. Who had them before loses them unasked.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.fieldsets import (
    LEAF,
    Changes,
    FieldSet,
    compare,
    difference,
    ordered,
    parsed,
    union,
)
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Scalar, Struct, Type

APPLY, UPDATE = "Apply", "Update"
MOST_UPDATERS = 10
ANCIENT = "ancient-changes"
SYSTEM_FIELDS: Final[FieldSet] = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {
        ".": LEAF,
        "f:name": LEAF,
        "f:namespace": LEAF,
        "f:creationTimestamp": LEAF,
        "f:selfLink": LEAF,
        "f:uid": LEAF,
        "f:clusterName": LEAF,
        "f:generation": LEAF,
        "f:managedFields": LEAF,
        "f:resourceVersion": LEAF,
    },
}
"""Nobody owns them."""
STATUS: Final[FieldSet] = {"f:status": LEAF}
SPEC: Final[FieldSet] = {"f:spec": LEAF}
METADATA: Final[FieldSet] = {"f:metadata": LEAF}
RESET_WITH_STATUS: Final[dict[str, FieldSet]] = {
    "Pod": {"f:metadata": {"f:deletionTimestamp": LEAF, "f:ownerReferences": LEAF}},
    "Deployment": {"f:metadata": {"f:labels": LEAF}},
}
"""What writes to the status of a kind leave as it is, beside its spec."""
_ZEROS: Final[dict[Scalar, Any]] = {
    Scalar.INT32: 0,
    Scalar.INT64: 0,
    Scalar.NUMBER: 0,
    Scalar.BOOL: False,
    Scalar.STRING: "",
    Scalar.BYTES: "",
}


@dataclass(frozen=True, slots=True)
class Manager:
    """Who writes, and by which way: as long as these are the same, it is the same owner."""

    name: str
    operation: str
    version: str
    """The apiVersion. Who applies is the same in all of them, and has none here."""
    part: str
    """The subresource."""


@dataclass(frozen=True, slots=True)
class Holding:
    fields: FieldSet
    version: str
    time: str | None = None


Holdings: TypeAlias = dict[Manager, Holding]


def manager_of(kind: Kind, call: Call, operation: str, part: str) -> Manager:
    version = "" if operation == APPLY else kind.api_version
    return Manager(call.manager, operation, version, part)


# -- after a write -----------------------------------------------------------------------------------------


def record(live: Body | None, body: Body, kind: Kind, call: Call, part: str = "") -> None:
    """Write into the body who owns what of it. `live` is what it replaces; `part` the subresource it came by.

    The body is what was asked for, with defaults, before the rules of its kind put right what it may not
    change. If it brings `managedFields` of its own, even if they are empty, these count.
    """
    said = body["metadata"].pop("managedFields", None)
    before = holdings_before(live, None if part else said)
    if live is not None and not before:
        return
    changes = compare(blank(kind.type) if live is None else live, body, kind.type)
    after = after_update(before, changes, kind, call, part)
    write(body, after)


def holdings_before(live: Body | None, said: Any) -> Holdings:
    if said == [] or said == [{}]:
        return {}
    said_holdings = None if said is None else decoded(said)
    return said_holdings or (decoded(live["metadata"].get("managedFields")) if live else None) or {}


def after_update(before: Holdings, changes: Changes, kind: Kind, call: Call, part: str) -> Holdings:
    changes = changes.outside(reset_fields(kind, part))
    after = left_to(served(before, kind), changes)
    taken = difference(changes.touched, SYSTEM_FIELDS)
    if taken:
        manager = manager_of(kind, call, UPDATE, part)
        old = after[manager].fields if manager in after else LEAF
        after[manager] = Holding(union(taken, old), kind.api_version, call.now)
    return capped(after)


def left_to(holdings: Holdings, changes: Changes) -> Holdings:
    """What is left to each when these changes are someone else's. Who is left with nothing is gone."""
    lost = union(changes.touched, changes.removed)
    after = Holdings()
    for manager, holding in holdings.items():
        fields = difference(holding.fields, lost)
        if fields:
            after[manager] = holding if fields is holding.fields else replace(holding, fields=fields)
    return after


def served(holdings: Holdings, kind: Kind) -> Holdings:
    """Without those of versions that this kind has not. In all that it has, fields have the same names."""
    return {
        manager: holding
        for manager, holding in holdings.items()
        if holding.version.rpartition("/")[0] == kind.group
    }


def reset_fields(kind: Kind, part: str) -> FieldSet:
    """What a write by this way leaves as it is, whatever it says: nobody comes to own it by that."""
    if part == "status":
        fields = union(SPEC, RESET_WITH_STATUS.get(kind.name, LEAF))
        return fields if kind.status_has_metadata else union(fields, METADATA)
    return STATUS if kind.has_status else LEAF


def capped(holdings: Holdings) -> Holdings:
    """Too many who have updated: the oldest become one."""
    updaters = [manager for manager in holdings if manager.operation == UPDATE]
    excess = len(updaters) - MOST_UPDATERS
    if excess <= 0:
        return holdings
    result = dict(holdings)
    firsts = dict[str, Manager]()
    updaters.sort(key=lambda manager: (result[manager].time or "", *identity(manager)))
    for manager in updaters:
        if excess == 0:
            break
        newer = result[manager]
        bucket = Manager(ANCIENT, UPDATE, newer.version, "")
        if newer.version not in firsts:
            firsts[newer.version] = manager
            continue
        if bucket not in result:
            result[bucket] = result.pop(firsts[newer.version])
        result[bucket] = replace(newer, fields=union(newer.fields, result[bucket].fields))
        # In the real server this is gone too when it is the bucket itself that is not the oldest.
        del result[manager]
        excess -= 1
    return result


@lru_cache(maxsize=256)
def blank(type: Struct) -> Body:
    """What an object is before it is created: the fields that are always there. It is not to be changed."""
    return {name: _blank(field.type) for name, field in type.fields.items() if field.kept}


def _blank(type: Type) -> Any:
    if isinstance(type, Struct):
        return blank(type)
    return None if isinstance(type, MapOf | ListOf) else _ZEROS.get(type)


# -- on the wire -------------------------------------------------------------------------------------------


def decoded(entries: Any) -> Holdings | None:
    """None if one of them cannot be understood: then none of them counts."""
    holdings = Holdings()
    if not isinstance(entries, list):
        return holdings
    try:
        for entry in entries:
            manager, holding = decoded_entry(entry)
            holdings[manager] = holding
    except (ValueError, AttributeError):
        return None
    return holdings


def decoded_entry(entry: Body) -> tuple[Manager, Holding]:
    operation, version = entry.get("operation"), entry.get("apiVersion")
    if operation not in (APPLY, UPDATE) or not version or entry.get("fieldsType") != "FieldsV1":
        raise ValueError("not an entry of managedFields")
    manager = Manager(
        entry.get("manager", ""),
        operation,
        "" if operation == APPLY else version,
        entry.get("subresource", ""),
    )
    return manager, Holding(parsed(entry.get("fieldsV1")), version, entry.get("time"))


def write(body: Body, holdings: Holdings) -> None:
    body["metadata"].pop("managedFields", None)
    if holdings:
        body["metadata"]["managedFields"] = encoded(holdings)


def encoded(holdings: Holdings) -> list[Body]:
    """Who applies first, then by time and name."""
    found = sorted(
        holdings.items(),
        key=lambda pair: (pair[0].operation, pair[1].time or "", pair[0].name, pair[1].version, pair[0].part),
    )
    return [encoded_entry(manager, holding) for manager, holding in found]


def encoded_entry(manager: Manager, holding: Holding) -> Body:
    entry = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": holding.version,
        "time": holding.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": ordered(holding.fields),
        "subresource": manager.part,
    }
    return {name: value for name, value in entry.items() if value}


def identity(manager: Manager) -> tuple[str, str, str, str]:
    return manager.name, manager.operation, manager.version, manager.part


def keep_times(body: Body, live: Body) -> None:
    """A write that changes nothing but when it was made is none: the times stay as they were."""
    now, before = body["metadata"].get("managedFields"), live["metadata"].get("managedFields")
    if now and before and now != before and timeless(now) == timeless(before):
        rest = {**body, "metadata": {**body["metadata"], "managedFields": before}}
        if rest == live:
            body["metadata"]["managedFields"] = before


def timeless(entries: Iterable[Body]) -> list[Body]:
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
