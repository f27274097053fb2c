"""Objects go: at once, after a while, or when the last finalizer is gone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.admission import Admission
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, unsupported
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.metadata import FOREGROUND, ORPHAN
from maitred.sandbox.apiserver.objects import Objects
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.schema.times import in_seconds
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item

POLICIES = ("Foreground", "Background", "Orphan")
FINISHED = ("Succeeded", "Failed")
PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of a deletion."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""

    @property
    def says_what_of_dependents(self) -> bool:
        return bool(self.policy)


def wish_of(options: Body) -> Wish:
    """Raises a refusal where the options make no sense."""
    grace, orphan = options.get("gracePeriodSeconds"), options.get("orphanDependents")
    policy, conditions = options.get("propagationPolicy") or "", options.get("preconditions") or {}
    if not isinstance(grace, int | None) or not isinstance(conditions, dict):
        raise bad_request("the options of the deletion are not DeleteOptions")
    errors = option_errors(policy, orphan, options.get("dryRun"))
    if errors:
        raise refusals.invalid("meta.k8s.io", "DeleteOptions", "", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return Wish(
        1 if grace is not None and grace < 0 else grace,
        policy,
        text(conditions.get("uid")),
        text(conditions.get("resourceVersion")),
    )


def option_errors(policy: Any, orphan: Any, dry: Any) -> list[FieldError]:
    if dry and dry != ["All"]:
        return [unsupported("dryRun", dry, ("All",))]
    if policy and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        return [invalid("propagationPolicy", policy, detail)]
    if policy and policy not in POLICIES:
        return [unsupported("propagationPolicy", policy, (*POLICIES, "nil"))]
    return []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class Deletion:
    def __init__(self, objects: Objects, admission: Admission) -> None:
        self._objects = objects
        self._admission = admission

    def delete(self, kind: Kind, item: Item, wish: Wish, call: Call) -> tuple[Item, bool]:
        """The object as it is after this, and whether it is gone."""
        check_preconditions(kind, item, wish)
        self._admission.review_deletion(kind, item.key.name)
        if kind.is_orphaning and not wish.says_what_of_dependents:
            call.warnings.append(PRESERVED)
        if kind.name == "Namespace":
            return self._close(kind, item, call)
        body = item.fresh()
        grace = self._grace(kind, body, wish)
        if grace is not None and is_pending(body, grace):
            return item, False
        rearrange_finalizers(kind, body["metadata"], wish)
        if grace is None:
            return self._end(kind, item, body, call)
        mark(body["metadata"], call.now, grace)
        marked = self._objects.put(kind, item.key, body, call)
        if grace or body["metadata"].get("finalizers"):
            return marked, False
        return self._remove(kind, marked, call)

    def _grace(self, kind: Kind, body: Body, wish: Wish) -> int | None:
        """How long it has to go; None if its kind goes at once, or if it should be gone already."""
        if not kind.is_graceful:
            return None
        meta = body["metadata"]
        if "deletionTimestamp" in meta:
            left = meta.get("deletionGracePeriodSeconds") or None
            return left if left is None or wish.grace is None else wish.grace
        return graceful_seconds(body, wish.grace)

    def _end(self, kind: Kind, item: Item, body: Body, call: Call) -> tuple[Item, bool]:
        meta = body["metadata"]
        if not meta.get("finalizers"):
            return self._remove(kind, item, call)
        if "deletionTimestamp" not in meta or meta["deletionTimestamp"] > call.now:
            count_up(meta, "deletionTimestamp" not in meta)
            meta["deletionTimestamp"] = call.now
        meta["deletionGracePeriodSeconds"] = 0
        if meta == item.body["metadata"]:
            return item, False
        return self._objects.put(kind, item.key, body, call), False

    def _close(self, kind: Kind, item: Item, call: Call) -> tuple[Item, bool]:
        """A namespace is emptied by others first; its own finalizers are theirs."""
        body = item.fresh()
        if "deletionTimestamp" not in body["metadata"]:
            body["metadata"].update(deletionTimestamp=call.now)
            body.setdefault("status", {})["phase"] = "Terminating"
            return self._objects.put(kind, item.key, body, call), False
        if body.get("spec", {}).get("finalizers"):
            return item, False
        return self._end(kind, item, body, call)

    def _remove(self, kind: Kind, item: Item, call: Call) -> tuple[Item, bool]:
        if not call.is_dry:
            item = self._objects.store.remove(self._objects.shelf(kind), item)
        return item, True


def check_preconditions(kind: Kind, item: Item, wish: Wish) -> None:
    uid = item.body["metadata"]["uid"]
    if wish.uid and wish.uid != uid:
        raise mismatch(kind, item, "UID", wish.uid, uid, "deleted and then recreated")
    if wish.version and wish.version != str(item.version):
        raise mismatch(kind, item, "ResourceVersion", wish.version, str(item.version), "modified")


def mismatch(kind: Kind, item: Item, what: str, wanted: str, found: str, fate: str) -> Refusal:
    why = (
        f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "
        f"The object might have been {fate}"
    )
    return refusals.conflict(kind.group, kind.name, item.key.name, why)


def graceful_seconds(pod: Body, wanted: int | None) -> int:
    """None for those that nobody has begun to run, or that have ended."""
    spec = pod.get("spec", {})
    period = spec.get("terminationGracePeriodSeconds") if wanted is None else wanted
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in FINISHED:
        period = 0
    return max(0, period or 0) if period is None or period >= 0 else 1


def is_pending(body: Body, grace: int) -> bool:
    """On its way already, and no sooner for being asked again."""
    left = body["metadata"].get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in body["metadata"] and bool(left) and grace >= left


def mark(meta: Body, now: str, grace: int) -> None:
    moment = datetime.fromisoformat(now)
    if "deletionTimestamp" in meta:
        shorter_by = meta.get("deletionGracePeriodSeconds", 0) - grace
        end = later(datetime.fromisoformat(meta["deletionTimestamp"]), -shorter_by)
        if end < moment:
            end, grace = moment, min(grace, 1)
    else:
        end = later(moment, grace)
        count_up(meta, True)
    meta.update(deletionTimestamp=in_seconds(end), deletionGracePeriodSeconds=grace)


def later(moment: datetime, seconds: int) -> datetime:
    """A period may be longer than there are times to write: then it is the last of them, or the first."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


def count_up(meta: Body, is_first: bool) -> None:
    """To be deleted is a change of what is asked for."""
    if is_first and meta.get("generation"):
        meta["generation"] += 1


def rearrange_finalizers(kind: Kind, meta: Body, wish: Wish) -> None:
    """What becomes of its dependents is said by a finalizer, which the garbage collector answers to."""
    had = meta.get("finalizers", [])
    others = [name for name in had if name not in (ORPHAN, FOREGROUND)]
    match wish.policy:
        case "Orphan":
            others.append(ORPHAN)
        case "Foreground":
            others.append(FOREGROUND)
        case "":
            kept = [name for name in had if name in (ORPHAN, FOREGROUND)]
            others += kept or ([ORPHAN] if kind.is_orphaning else [])
    if others:
        meta["finalizers"] = others
    else:
        meta.pop("finalizers", None)
