"""Questions to a kind of object, and the answers that our rules and a real server give to them."""

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.metadata import check_metadata, check_metadata_update
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.schema.real import Real

UID = "00000000-0000-4000-8000-000000000000"
ANY_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMESPACE = "default"
KINDS = {(kind.api_version, kind.name): kind for kind in BUILTIN}
OWN = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "finalizers")
"""Of metadata: what a server sets by itself."""
SHOWN_OTHERWISE = (
    "spec.template",
    "spec.template.spec",
    "spec.versions",
    "spec.compositePodGroupTemplates[0]",
)
"""Large values, which a real server shows as it has them within itself."""


@dataclass(frozen=True, slots=True)
class Case:
    what: str
    body: Body
    """What is to be created."""
    errors: tuple[str, ...] = ()
    change: Body | None = None
    """If given, it is merged into the object, which is a good one: the errors are those of the update."""
    status: Body | None = None
    """Which the object has before the change."""
    part: str = ""
    """The subresource that the change is sent to."""

    def __str__(self) -> str:
        return f"{self.body['kind']}: {self.what}"


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: Body


def kind_of(case: Case) -> Kind:
    return KINDS[case.body["apiVersion"], case.body["kind"]]


def merged(base: Any, change: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(change, dict) or not isinstance(base, dict):
        return deepcopy(change)
    result = {key: value for key, value in base.items() if change.get(key, value) is not None}
    result.update({key: merged(base.get(key), value) for key, value in change.items() if value is not None})
    return result


# -- here --------------------------------------------------------------------------------------------------


def errors_here(case: Case) -> list[FieldError]:
    return ask_here(case)[1]


def answer_here(case: Case) -> Answer:
    kind = kind_of(case)
    body, errors = ask_here(case)
    if not errors:
        return Answer(201 if case.change is None else 200, kind.from_stored(body))
    group = "" if kind.stored_as else kind.group
    refusal = refusals.invalid(group, kind.name, body["metadata"].get("name", ""), errors)
    return Answer(refusal.code, refusal.body())


def ask_here(case: Case) -> tuple[Body, list[FieldError]]:
    kind = kind_of(case)
    body = read(kind, case.body)
    body["metadata"].update(uid=UID, creationTimestamp="2026-01-01T00:00:00Z")
    if kind.namespaced:
        body["metadata"]["namespace"] = NAMESPACE
    if kind.has_status and not kind.is_born_with_status:
        body["status"] = {}
    kind.strategy.before_create(body)
    errors = check_metadata(
        body, namespaced=kind.namespaced, name_rule=kind.name_rule, any_finalizers=kind.takes_any_finalizers
    ) + kind.strategy.check(body)
    if not errors:
        kind.strategy.before_store(body)
    if case.change is None:
        return body, errors
    assert not errors, f"the object is to be a good one: {errors}"
    if case.status is not None:
        body["status"] = deepcopy(case.status)
    return change_here(kind, body, case)


def change_here(kind: Kind, old: Body, case: Case) -> tuple[Body, list[FieldError]]:
    old["metadata"]["resourceVersion"] = "1"
    new = read(kind, merged(kind.from_stored(old), case.change))
    if case.part:
        new = {**old, "status": new.get("status", {})}
        kind.strategy.before_status(new, old)
        return new, kind.strategy.check_status(new, old)
    if kind.has_status:
        new["status"] = old["status"]
    kind.strategy.before_update(new, old)
    errors = check_metadata_update(new, old, any_finalizers=kind.takes_any_finalizers)
    return new, errors + kind.strategy.check_update(new, old)


def read(kind: Kind, given: Body) -> Body:
    body = msgspec.json.decode(msgspec.json.encode(given))
    conform(body, kind.type)
    fill(body, kind.type)
    stored = kind.to_stored(body)
    kind.strategy.set_defaults(stored)
    return stored


# -- there -------------------------------------------------------------------------------------------------


def answer_there(real: Real, case: Case) -> Answer:
    kind = kind_of(case)
    if case.change is None:
        return Answer(*real.ask("POST", f"{path_of(kind)}?dryRun=All", case.body))
    path = f"{path_of(kind)}/{case.body['metadata']['name']}"
    code, old = real.ask("POST", path_of(kind), case.body)
    assert code == 201, old
    try:
        if case.status is not None:
            code, old = real.ask("PUT", f"{path}/status", {**old, "status": case.status})
            assert code == 200, old
        part = f"/{case.part}" if case.part else ""
        return Answer(*real.ask("PUT", f"{path}{part}?dryRun=All", merged(old, case.change)))
    finally:
        remove_there(real, path)


def remove_there(real: Real, path: str) -> None:
    real.ask("DELETE", f"{path}?propagationPolicy=Background")
    code, left = real.ask("GET", path)
    if code == 200:
        left["metadata"].pop("finalizers", None)
        real.ask("PUT", path, left)


def path_of(kind: Kind) -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/{NAMESPACE}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


# -- comparing ---------------------------------------------------------------------------------------------


def comparable(answer: Answer, hidden: Iterable[str] = ()) -> Any:
    """Without what each server makes up by itself, and without these fields of `spec`."""
    body = msgspec.json.decode(ANY_UID.sub("UID", msgspec.json.encode(answer.body).decode()))
    if answer.code >= 400:
        return answer.code, *without_large_values(body)
    for name in OWN:
        body["metadata"].pop(name, None)
    for name in hidden:
        body.get("spec", {}).pop(name, None)
    return {key: value for key, value in body.items() if key != "status"}


def without_large_values(refusal: Body) -> tuple[str, Any]:
    message, details = refusal["message"], refusal.get("details", {})
    for cause in details.get("causes", ()):
        if cause["field"] in SHOWN_OTHERWISE:
            short = re.sub(r": .*[}\]]: ", ": ...: ", cause["message"], flags=re.DOTALL)
            message = message.replace(cause["message"], short)
            cause["message"] = short
    return message, details
