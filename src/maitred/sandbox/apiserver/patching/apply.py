"""Server-side apply: who applies says all that it wants of an object, and owns that.

What it wanted before and no longer says is removed, unless someone else wants it too. What someone else owns
and has set to another value is a conflict, which only force resolves.
"""

from dataclasses import dataclass, replace

import msgspec

from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.fieldsets import (
    FieldSet,
    Path,
    compare,
    difference,
    fields_of,
    intersection,
    ordered,
    paths,
    union,
    without,
)
from maitred.sandbox.apiserver.patching.merging import merged, taken_out, with_named
from maitred.sandbox.apiserver.patching.ownership import (
    APPLY,
    SYSTEM_FIELDS,
    UPDATE,
    Holding,
    Holdings,
    Manager,
    after_update,
    blank,
    identity,
    kept_in,
    left_to,
    manager_of,
    reset_fields,
    served,
    write,
)
from maitred.sandbox.apiserver.patching.steps import Nameless, quoted, shown
from maitred.sandbox.apiserver.refusals import Refusal, bad_request, failed_patch
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body, Struct

BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL, KUBECTL_BEFORE = "kubectl", "kubectl-client-side-apply"
_decode = msgspec.json.decode
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Conflict:
    manager: Manager
    path: Path

    @property
    def field(self) -> str:
        return "".join(map(shown, self.path))

    @property
    def whom(self) -> str:
        name = quoted(self.manager.name)
        if self.manager.part:
            name += f" with subresource {quoted(self.manager.part)}"
        return f"{name} using {self.manager.version}" if self.manager.operation == UPDATE else name


def conflicting(conflicts: list[Conflict]) -> Refusal:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {each.whom}", "field": each.field}
        for each in conflicts
    ]
    return Refusal(409, "Conflict", conflict_message(conflicts), {"causes": causes})


def conflict_message(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0].whom}: {conflicts[0].field}"
    lines = list[str]()
    for index, each in enumerate(conflicts):
        if index == 0 or conflicts[index - 1].manager != each.manager:
            lines.append(f"conflicts with {each.whom}:")
        lines.append(f"- {each.field}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def apply(live: Body | None, applied: Body, kind: Kind, call: Call, part: str = "") -> Body:
    """A fresh body with its new owners. `applied` is as it was sent: neither conformed nor with defaults.

    The result has still to be conformed and defaulted: it has nulls where something was removed, and values
    as they were applied. `live` is None if the object is to be created.
    """
    check_type(applied, kind)
    old = blank(kind.type) if live is None else live
    holdings = kept_in(old)
    if not holdings and live is not None:
        holdings = first_holdings(live, kind, call, part)
    try:
        return attempt(old, applied, holdings, kind, call, part)
    except Nameless as nameless:
        raise failed_patch(f"failed to merge config: {nameless}") from None


def check_type(applied: Body, kind: Kind) -> None:
    """It must fit its type before anything is converted or defaulted."""
    version, name = applied.get("apiVersion") or "", applied.get("kind") or ""
    if (version, name) != (kind.api_version, kind.name):
        group, _, version = version.rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={name}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        unknown = conform(_decode(_encode(applied)), kind.type)
    except Misfit as misfit:
        raise failed_patch(f"failed to create typed patch object: {misfit}") from None
    if unknown:
        raise failed_patch(
            f"failed to create typed patch object: .{unknown[0]}: field not declared in schema"
        )


def first_holdings(live: Body, kind: Kind, call: Call, part: str) -> Holdings:
    """Nobody kept accounts so far. All that is there belongs to someone, whoever it was."""
    changes = compare(blank(kind.type), live, kind.type)
    return after_update({}, changes, kind, replace(call, manager=BEFORE_FIRST_APPLY), part)


def attempt(live: Body, applied: Body, holdings: Holdings, kind: Kind, call: Call, part: str) -> Body:
    manager, reset = manager_of(kind, call, APPLY, part), reset_fields(kind, part)
    others = served(holdings, kind)
    last = others.pop(manager, None)
    mine = without(fields_of(applied, kind.type), reset)
    body = merged(live, applied, kind.type)
    if last is not None:
        owned = union(mine, all_of(others))
        body = pruned(body, last.fields, owned, kind.type)
    changes = compare(live, body, kind.type).outside(reset)
    if not call.force:
        refuse_conflicts(others, changes.touched, call.manager)
    after = left_to(others, changes)
    held = difference(mine, SYSTEM_FIELDS)
    if held:
        # Who agrees with what is there already has done nothing, so there is no time when it did.
        time = call.now if body != live else last.time if last is not None else None
        after[manager] = Holding(ordered(held), kind.api_version, time)
    result: Body = _decode(_encode(body))
    result["metadata"] = result.get("metadata") or {}
    write(result, after)
    return result


def all_of(holdings: Holdings) -> FieldSet:
    fields: FieldSet = {}
    for holding in holdings.values():
        fields = union(fields, holding.fields)
    return fields


def pruned(body: Body, last: FieldSet, owned: FieldSet, type: Struct) -> Body:
    """The body without what was applied last and nobody owns any more.

    Taking out all that was applied last takes out too much: what someone still owns, and what nobody owns,
    such as defaults. The first comes back because it is owned, the second because it was not applied.
    """
    there = with_named(fields_of(body, type), type)
    stays = with_named(fields_of(taken_out(body, with_named(last, type), type), type), type)
    kept = taken_out(body, difference(there, union(stays, with_named(owned, type))), type)
    gone = difference(there, with_named(fields_of(kept, type), type))
    return taken_out(body, intersection(gone, with_named(last, type)), type)


def refuse_conflicts(others: Holdings, touched: FieldSet, applier: str) -> None:
    """What kubectl applied by itself before, on the client, is its own."""
    conflicts = [
        Conflict(manager, path)
        for manager in sorted(others, key=identity)
        if (applier, manager.name) != (KUBECTL, KUBECTL_BEFORE)
        for path in paths(intersection(others[manager].fields, touched))
    ]
    if conflicts:
        raise conflicting(conflicts)
