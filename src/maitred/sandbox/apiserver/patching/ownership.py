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
from maitred.sandbox.apiserver.patching.steps import ZEROS
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Struct, Type

APPLY, UPDATE = "Apply", "Update"
MOST_UPDATERS = 10
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
}
"""What writes to the status of a kind leave as it is, beside its spec."""


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
    """In the order of the wire."""
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
    told = None if said is None else decoded(said)
    return told or (kept_in(live) if live is not None else {})


def after_update(before: Holdings, changes: Changes, kind: Kind, call: Call, part: str) -> Holdings:
    changes = changes.outside(reset_fields(kind, part))
    after = left_to(served(before, kind), changes)
    taken = difference(changes.touched, SYSTEM_FIELDS)
    if taken:
        manager = manager_of(kind, call, UPDATE, part)
        old = after[manager].fields if manager in after else LEAF
        after[manager] = Holding(ordered(union(taken, old)), kind.api_version, call.now)
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
    """Of too many who have updated, the latest: what the others had set belongs to nobody."""
    updaters = [manager for manager in holdings if manager.operation == UPDATE]
    updaters.sort(key=lambda manager: (holdings[manager].time or "", *identity(manager)))
    oldest = updaters[:-MOST_UPDATERS]
    return {manager: held for manager, held in holdings.items() if manager not in oldest}


@lru_cache(maxsize=256)
def blank(type: Struct) -> Body:
    """What an object is before it is created: the fields that are always there. It is not to be changed."""
    return {name: _blank(field.type) for name, field in type.fields.items() if field.kept}


def _blank(type: Type) -> Any:
    if isinstance(type, Struct):
        return blank(type)
    return None if isinstance(type, MapOf | ListOf) else ZEROS.get(type)


# -- on the wire -------------------------------------------------------------------------------------------


def kept_in(live: Body) -> Holdings:
    """Those that this server has written itself."""
    entries = live.get("metadata", {}).get("managedFields") or []
    return {manager_in(entry): holding_in(entry, entry.get("fieldsV1", LEAF)) for entry in entries}


def decoded(entries: Any) -> Holdings | None:
    """Those that a client has written. None if one makes no sense: then none of them counts."""
    holdings = Holdings()
    try:
        for entry in entries:
            if entry.get("operation") not in (APPLY, UPDATE) or entry.get("fieldsType") != "FieldsV1":
                return None
            if not entry.get("apiVersion"):
                return None
            holdings[manager_in(entry)] = holding_in(entry, ordered(parsed(entry.get("fieldsV1"))))
    except ValueError:
        return None
    return holdings


def manager_in(entry: Body) -> Manager:
    operation = entry["operation"]
    version = "" if operation == APPLY else entry["apiVersion"]
    return Manager(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def holding_in(entry: Body, fields: FieldSet) -> Holding:
    return Holding(fields, entry["apiVersion"], entry.get("time"))


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
        "fieldsV1": holding.fields,
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
