"""Questions to a kind of object, and the answers that our rules and a real server give to them."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.metadata import check_metadata, check_metadata_update
from maitred.sandbox.apiserver.kinds.rules import check_object
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.schema.real import Real

UID = "00000000-0000-4000-8000-000000000000"
NOW = "2026-01-01T00:00:00Z"
NAMESPACE = "default"
KINDS = {(kind.api_version, kind.name): kind for kind in BUILTIN}


@dataclass(frozen=True, slots=True)
class Case:
    what: str
    body: Body
    """What is to be created."""
    change: Body | None = None
    """If given, it is merged into the object, which is a good one: the answer is that to the update."""
    status: Body | None = None
    """Which the object has before the change."""
    part: str = ""
    """The subresource that the change is sent to."""
    refused: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    """What a real server names, which has more rules."""
    why: str = ""
    """A rule is left out here."""

    def __str__(self) -> str:
        return f"{self.body['kind']}: {self.what}"


def cases() -> list[Case]:
    found = yaml.safe_load((Path(__file__).parent / "rules.yaml").read_text())
    return [
        case_of(title, what, each["base"], given)
        for title, each in found.items()
        for what, given in each["cases"].items()
    ]


def case_of(title: str, what: str, base: Body, given: Body) -> Case:
    version, kind = title.split(" ")
    body = {"apiVersion": version, "kind": kind, **merged(base, given.get("body", {}))}
    refused = tuple(sorted(given.get("refused", ())))
    there = tuple(sorted(given.get("there", refused)))
    asked = {name: given[name] for name in ("change", "status", "part", "why") if name in given}
    return Case(what, body, refused=refused, there=there, **asked)


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


def ask_here(case: Case) -> tuple[Body, list[FieldError]]:
    kind = kind_of(case)
    body = read(kind, case.body)
    body["metadata"].update(uid=UID, creationTimestamp=NOW)
    if kind.namespaced:
        body["metadata"]["namespace"] = NAMESPACE
    if kind.has_status and not kind.is_born_with_status:
        body["status"] = {}
    kind.strategy.before_create(body)
    errors = check_metadata(body, kind.name_rule)
    errors += check_object(kind.type, body) + kind.strategy.check(body)
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
    errors = check_metadata_update(new, old)
    return new, errors + check_object(kind.type, new, old) + kind.strategy.check_update(new, old)


def read(kind: Kind, given: Body) -> Body:
    body = msgspec.json.decode(msgspec.json.encode(given))
    conform(body, kind.type)
    fill(body, kind.type)
    stored = kind.to_stored(body)
    kind.strategy.set_defaults(stored)
    return stored


# -- there -------------------------------------------------------------------------------------------------


def refused_there(real: Real, case: Case) -> tuple[str, ...]:
    """The fields that it names."""
    code, answer = ask_there(real, case)
    if code < 400:
        return ()
    assert code == 422, answer
    return tuple(sorted({cause["field"] for cause in answer["details"].get("causes", ())}))


def ask_there(real: Real, case: Case) -> tuple[int, Any]:
    kind = kind_of(case)
    if case.change is None:
        return real.ask("POST", f"{path_of(kind)}?dryRun=All", case.body)
    path = f"{path_of(kind)}/{case.body['metadata']['name']}"
    code, old = real.ask("POST", path_of(kind), case.body)
    assert code == 201, old
    try:
        if case.status is not None:
            code, old = real.ask("PUT", f"{path}/status", {**old, "status": case.status})
            assert code == 200, old
        part = f"/{case.part}" if case.part else ""
        return real.ask("PUT", f"{path}{part}?dryRun=All", merged(old, case.change))
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
