"""How namespaces come to be and change."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid
from maitred.sandbox.apiserver.kinds.metadata import check_finalizer
from maitred.sandbox.apiserver.kinds.names import check_name, label_key
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

OWN_NAME = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
"""Gone when all that was in the namespace is."""


class NamespaceStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        _label(body)

    def before_create(self, body: Body) -> None:
        _label(body)  # a name that was generated
        finalizers = body.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        body["status"] = {"phase": "Active"}

    def check(self, body: Body) -> list[FieldError]:
        return list(_check_finalizers(body.get("spec", {})))

    def before_update(self, new: Body, old: Body) -> None:
        new["spec"] = dict(old.get("spec", {}))

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        phase = new.get("status", {}).get("phase", "")
        expected, state = ("Terminating", "not empty") if _is_ending(new) else ("Active", "empty")
        if phase == expected:
            return []
        why = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        return [invalid("status.Phase", phase, why)]


NAMESPACES = NamespaceStrategy()


def _label(body: Body) -> None:
    name = body["metadata"].get("name")
    if name:
        body["metadata"].setdefault("labels", {})[OWN_NAME] = name


def _is_ending(body: Body) -> bool:
    return "deletionTimestamp" in body["metadata"]


def _check_finalizers(spec: Body) -> Iterator[FieldError]:
    for name in spec.get("finalizers", ()):
        yield from check_name("spec.finalizers", name, label_key)
        yield from check_finalizer(name, "spec.finalizers")
