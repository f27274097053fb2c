"""Server-side apply: who applies says all that it wants of an object, and owns that.

What it wanted before and no longer says is removed, unless someone else wants it too. What someone else owns
and has set to another value is a conflict, which only force resolves.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.labels import are_too_large
from maitred.sandbox.apiserver.patching.applicable import check_applicable, misfits
from maitred.sandbox.apiserver.patching.errors import PatchError, failed, malformed
from maitred.sandbox.apiserver.patching.fieldsets import (
    FieldSet,
    Path,
    compare,
    contains,
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
from maitred.sandbox.apiserver.patching.steps import Nameless, json_text, quoted, shown
from maitred.sandbox.apiserver.schema.types import Body, Struct

BEFORE_FIRST_APPLY = "before-first-apply"
KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_decode = msgspec.json.decode


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


class Conflicts(PatchError):
    def __init__(self, conflicts: list[Conflict]) -> None:
        self.conflicts = conflicts
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {each.whom}", "field": each.field}
            for each in conflicts
        ]
        super().__init__(409, "Conflict", conflict_message(conflicts), {"causes": causes})


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
        result = attempt(old, applied, holdings, kind, call, part)
    except Conflicts as conflicts:
        if call.manager != KUBECTL:
            raise
        if left := remaining(conflicts.conflicts, old, kind):
            raise Conflicts(left) from None
        result = attempt(old, applied, holdings, kind, replace(call, force=True), part)
    except Nameless as nameless:
        raise failed(f"failed to merge config: {nameless}") from None
    if call.manager == KUBECTL:
        renew_last_applied(result, applied)
    return result


def check_type(applied: Body, kind: Kind) -> None:
    version, name = applied.get("apiVersion") or "", applied.get("kind") or ""
    if (version, name) != (kind.api_version, kind.name):
        raise malformed(f"invalid object type: {title_of(version, name)}")
    metadata = applied.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("managedFields") is not None:
        raise malformed("metadata.managedFields must be nil")
    whom = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    check_applicable(applied, kind.type, f"{whom}; {title_of(version, name)}")


def title_of(version: str, name: str) -> str:
    group, _, version = version.rpartition("/")
    return f"{group}/{version}, Kind={name}"


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
        refuse_conflicts(others, changes.touched)
    after = left_to(others, changes)
    held = difference(mine, SYSTEM_FIELDS)
    if held:
        # Who agrees with what is there already has done nothing, so there is no time when it did.
        time = call.now if body != live else last.time if last is not None else None
        after[manager] = Holding(ordered(held), kind.api_version, time)
    result: Body = _decode(msgspec.json.encode(body))
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


def refuse_conflicts(others: Holdings, touched: FieldSet) -> None:
    conflicts = [
        Conflict(manager, path)
        for manager in sorted(others, key=identity)
        for path in paths(intersection(others[manager].fields, touched))
    ]
    if conflicts:
        raise Conflicts(conflicts)


# -- kubectl -----------------------------------------------------------------------------------------------


def remaining(conflicts: Iterable[Conflict], live: Body, kind: Kind) -> list[Conflict]:
    """What kubectl applied by itself before, on the client, is its own, whoever is said to own it now."""
    allowed = last_applied_fields(live, kind)
    return [each for each in conflicts if not contains(allowed, each.path)]


def last_applied_fields(live: Body, kind: Kind) -> FieldSet:
    """Those that are still as they were applied."""
    text = annotations_of(live).get(LAST_APPLIED, "")
    try:
        last = _decode(text)
    except msgspec.DecodeError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != kind.api_version:
        return {}
    if any(misfits(last, kind.type)):
        return {}
    changes = compare(last, live, kind.type)
    return difference(difference(fields_of(last, kind.type), changes.touched), changes.removed)


def renew_last_applied(body: Body, applied: Body) -> None:
    """Where kubectl has left a note of what it applied, it must stay true."""
    annotations = annotations_of(body)
    if not annotations.get(LAST_APPLIED):
        return
    said = dict(applied["metadata"])
    if said.get("annotations"):
        said["annotations"] = {
            name: value for name, value in said["annotations"].items() if name != LAST_APPLIED
        }
    annotations[LAST_APPLIED] = json_text({**applied, "metadata": said}) + "\n"
    if are_too_large(annotations):
        del annotations[LAST_APPLIED]


def annotations_of(body: Body) -> Body:
    annotations: Body = body.get("metadata", {}).get("annotations") or {}
    return annotations
