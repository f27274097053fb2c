"""Objects come to be and change: what all kinds have in common."""

import secrets
import uuid

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.admission import Admission
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.metadata import check_metadata, check_metadata_update
from maitred.sandbox.apiserver.kinds.rules import check_object
from maitred.sandbox.apiserver.patching import ownership
from maitred.sandbox.apiserver.refusals import MODIFIED, Refusal
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item, Key, Shelf, Store, encode

LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, so that no word comes out, and without digits that look like letters."""
GENERATED = 5
LONGEST_GENERATED_BASE = 63 - GENERATED
ATTEMPTS = 8
"""Generated names that are taken are drawn again, so often."""
OF_THE_SERVER = ("creationTimestamp", "selfLink")
OF_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
"""Metadata that is the server's to set."""


class Objects:
    def __init__(self, store: Store, admission: Admission) -> None:
        self.store = store
        self._admission = admission

    def shelf(self, kind: Kind) -> Shelf:
        return self.store.shelf(kind.shelf)

    def find(self, kind: Kind, key: Key) -> Item:
        item = self.shelf(kind).get(key)
        if item is None:
            raise refusals.not_found(kind.group, kind.plural, key.name)
        return item

    # -- create --------------------------------------------------------------------------------------------

    def create(self, kind: Kind, namespace: str, body: Body, call: Call, owned: bool = False) -> Item:
        """`owned`: who owns which field is already in it, as server-side apply leaves it."""
        meta = body["metadata"]
        self._place(kind, namespace, meta)
        if owned:
            meta.pop("resourceVersion", None)
        elif meta.get("resourceVersion") and not call.is_dry:
            raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
        if not owned:
            self._own(kind, None, body, call)
        self._admission.admit(kind, namespace, body)
        self._give_birth(kind, meta, call)
        reset_status(kind, body)
        kind.strategy.before_create(body)
        errors = check_metadata(body, kind.name_rule)
        errors += check_object(kind.type, body) + kind.strategy.check(body)
        self._refuse_invalid(kind, meta.get("name", ""), errors)
        kind.strategy.before_store(body)
        call.warnings += kind.strategy.warnings(body, None)
        key = Key(namespace if kind.namespaced else "", meta["name"])
        there = self.shelf(kind).get(key)
        if there is not None:
            is_leaving = "deletionTimestamp" in there.body["metadata"]
            raise refusals.already_exists(kind.group, kind.plural, key.name, is_leaving=is_leaving)
        return self.put(kind, key, body, call)

    def _place(self, kind: Kind, namespace: str, meta: Body) -> None:
        for name in ("uid", *OF_THE_SERVER, *OF_DELETION):
            meta.pop(name, None)
        if not kind.namespaced:
            meta.pop("namespace", None)
        elif meta.setdefault("namespace", namespace) != namespace:
            raise refusals.other_namespace()

    def _give_birth(self, kind: Kind, meta: Body, call: Call) -> None:
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=call.now)
        if kind.is_counted:
            meta["generation"] = 1
        else:
            meta.pop("generation", None)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._free_name(kind, meta)

    def _free_name(self, kind: Kind, meta: Body) -> str:
        base, name = meta["generateName"][:LONGEST_GENERATED_BASE], ""
        for _ in range(ATTEMPTS):
            name = base + "".join(secrets.SystemRandom().choices(LETTERS, k=GENERATED))
            if self.shelf(kind).get(Key(meta.get("namespace", ""), name)) is None:
                break
        return name

    # -- update --------------------------------------------------------------------------------------------

    def replace(
        self, kind: Kind, old: Item, body: Body, call: Call, part: str = "", owned: bool = False
    ) -> Item:
        """The object becomes this, as far as it may; with `part` only that subresource of it."""
        meta, was = body["metadata"], old.body["metadata"]
        self._check_version(kind, old, meta)
        meta["uid"] = meta.get("uid") or was["uid"]
        for name in ("generation", *OF_THE_SERVER):
            restore(meta, was, name)
        keep_deletion(meta, was)
        if not owned:
            self._own(kind, old.body, body, call, part)
        self._admission.review(kind, body, old.body, part, call)
        errors = self._prepare(kind, body, old, part)
        self._refuse_invalid(kind, old.key.name, check_metadata_update(body, old.body) + errors)
        if not part:
            call.warnings += kind.strategy.warnings(body, old.body)
        return self._settle(kind, old, body, call)

    def _check_version(self, kind: Kind, old: Item, meta: Body) -> None:
        version = meta.get("resourceVersion", "")
        if version and not version.isdecimal():
            raise Refusal(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
        if version in ("", "0"):
            if kind.needs_version:
                error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
                raise refusals.invalid(kind.group, kind.plural, old.key.name, [error])
        elif version != str(old.version):
            raise refusals.conflict(kind.group, kind.plural, old.key.name, MODIFIED)
        meta["resourceVersion"] = str(old.version)

    def _prepare(self, kind: Kind, body: Body, old: Item, part: str) -> list[FieldError]:
        if part == "finalize":
            keep_all_but_finalizers(body, old.fresh())
            return []
        if part == "status":
            keep_all_but_status(kind, body, old.body)
            kind.strategy.before_status(body, old.body)
            return kind.strategy.check_status(body, old.body)
        if kind.has_status:
            restore(body, old.body, "status")
        kind.strategy.before_update(body, old.body)
        if kind.is_counted and asks_other(body, old.body):
            body["metadata"]["generation"] = old.body["metadata"].get("generation", 0) + 1
        return check_object(kind.type, body, old.body) + kind.strategy.check_update(body, old.body)

    def _settle(self, kind: Kind, old: Item, body: Body, call: Call) -> Item:
        """Store what has changed; an object that waited for its last finalizer is gone with it."""
        if is_released(body):
            if not call.is_dry:
                self.store.remove(self.shelf(kind), old)
            return Item(old.key, old.version, body, encode(body))
        ownership.keep_times(body, old.body)
        if body == old.body:
            return old
        return self.put(kind, old.key, body, call)

    def put(self, kind: Kind, key: Key, body: Body, call: Call) -> Item:
        """Store it, past all rules: the server itself has made it, or has looked at it before."""
        if call.is_dry:
            return Item(key, 0, body, encode(body))
        return self.store.put(self.shelf(kind), key, body)

    def _own(self, kind: Kind, old: Body | None, body: Body, call: Call, part: str = "") -> None:
        """Fields are owned by the names that they have in the version that was used."""
        shown = kind.from_stored(body)
        ownership.record(None if old is None else kind.from_stored(old), shown, kind, call, part)
        body["metadata"] = shown["metadata"]

    def _refuse_invalid(self, kind: Kind, name: str, errors: list[FieldError]) -> None:
        if errors:
            raise refusals.invalid(kind.refused_as, kind.name, name, errors)


def reset_status(kind: Kind, body: Body) -> None:
    if not kind.has_status or kind.is_born_with_status:
        return
    # The schema of a custom kind may keep whatever it is given, and say nothing of a status.
    field = kind.type.fields.get("status")
    if field is not None and field.kept:
        body["status"] = {}
    else:
        body.pop("status", None)


def keep_all_but_finalizers(body: Body, old: Body) -> None:
    """Of a namespace, which has finalizers for its content."""
    finalizers = body.get("spec", {}).get("finalizers", [])
    owned = body["metadata"].get("managedFields")
    body.clear()
    body.update(old)
    body["spec"] = {"finalizers": finalizers} if finalizers else {}
    if owned:
        body["metadata"]["managedFields"] = owned


def keep_all_but_status(kind: Kind, body: Body, old: Body) -> None:
    for name in [*body, *old]:
        if name not in ("metadata", "status"):
            restore(body, old, name)
    if not kind.status_has_metadata:
        metadata = dict(old["metadata"])
        restore(metadata, body["metadata"], "managedFields")
        body["metadata"] = metadata


def keep_deletion(meta: Body, was: Body) -> None:
    """What goes cannot be called back. To say so of what stays is an error, which is found later."""
    if "deletionTimestamp" in was:
        meta["deletionTimestamp"] = was["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in was:
        meta.setdefault("deletionGracePeriodSeconds", was["deletionGracePeriodSeconds"])


def restore(body: Body, old: Body, name: str) -> None:
    if name in old:
        body[name] = old[name]
    else:
        body.pop(name, None)


def asks_other(body: Body, old: Body) -> bool:
    """Whether anything has changed but metadata and status."""
    names = (body.keys() | old.keys()) - {"metadata", "status"}
    return any(body.get(name) != old.get(name) for name in names)


def is_released(body: Body) -> bool:
    """On its way out, and nobody holds it any more."""
    meta = body["metadata"]
    return (
        "deletionTimestamp" in meta
        and not meta.get("deletionGracePeriodSeconds")
        and not meta.get("finalizers")
        and not (body["kind"] == "Namespace" and body.get("spec", {}).get("finalizers"))
    )
