"""Kinds that were defined while the server runs, by CustomResourceDefinitions."""

from collections.abc import Callable, Iterator

from maitred.sandbox.apiserver.builtin import DEFINED
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.definitions import accept
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.apiserver.kinds.kind import Kind, unchanged
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.objects import Objects
from maitred.sandbox.apiserver.schema.custom import from_openapi, violations
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.served import Served
from maitred.sandbox.apiserver.store import Change, Item
from maitred.sandbox.apiserver.users import ADMIN

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""All of them, in the order in which the real server has them for custom kinds."""
SERVER = "kube-apiserver"
"""Who owns what the server itself writes."""


class CustomStrategy(Strategy):
    """The rules that the schema of its definition has."""

    def __init__(self, schema: Body) -> None:
        self._schema = schema

    def check(self, body: Body) -> list[FieldError]:
        return violations(body, self._schema)

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return self.check(new)


class CustomKinds:
    """Keeps what is served in step with the definitions that there are."""

    def __init__(self, served: Served, objects: Objects) -> None:
        self._served = served
        self._objects = objects

    def follow(self, change: Change) -> None:
        if change.before is not None:
            spec = change.before.body["spec"]
            self._served.withdraw(spec["group"], spec["names"]["plural"])
        if change.after is not None:
            for kind in kinds_of(change.after.body["spec"]):
                self._served.add(kind)
            self._accept(change.after)
        elif change.before is not None:
            self._clear(f"{spec['names']['plural']}.{spec['group']}")

    def _accept(self, definition: Item) -> None:
        """At once, and yet after it was stored: whoever has asked for it hears that it is there, not more."""
        moment, body = now(), definition.fresh()
        if accept(body, moment):
            self._objects.replace(DEFINED, definition, body, Call(ADMIN, moment, SERVER), "status")

    def _clear(self, name: str) -> None:
        """Objects go with their definition, whatever holds them."""
        store = self._objects.store
        shelf = store.shelf(name)
        for item in list(shelf):
            store.remove(shelf, item)


def kinds_of(spec: Body) -> Iterator[Kind]:
    group, names = spec["group"], spec["names"]
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    for version in spec["versions"]:
        if version["served"]:
            yield kind_of(spec, names, version, f"{group}/{stored}")


def kind_of(spec: Body, names: Body, version: Body, stored: str) -> Kind:
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    served = f"{spec['group']}/{version['name']}"
    subresources = version.get("subresources", {})
    return Kind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        from_openapi(schema),
        namespaced=spec["scope"] == "Namespaced",
        verbs=VERBS,
        strategy=CustomStrategy(schema),
        subresources=("status",) if "status" in subresources else (),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        fields={field["jsonPath"].removeprefix("."): "" for field in version.get("selectableFields", ())},
        deprecation=deprecation(f"{served} {names['kind']}", version),
        is_counted=True,
        needs_version=True,
        status_has_metadata=False,
        columns=tuple(version.get("additionalPrinterColumns", ())),
        to_stored=unchanged if served == stored else renamed(stored),
        from_stored=unchanged if served == stored else renamed(served),
    )


def deprecation(name: str, version: Body) -> str:
    if not version.get("deprecated"):
        return ""
    return version.get("deprecationWarning") or f"{name} is deprecated"


def renamed(api_version: str) -> Callable[[Body], Body]:
    """Versions of a custom kind differ in name only: nobody converts them here."""
    return lambda body: {**body, "apiVersion": api_version}
