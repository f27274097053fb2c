"""CustomResourceDefinition: a kind that users add.

Checked is what this server needs of a definition and of its schemas. The rest is left to the real server.
"""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import (
    OMITTED,
    FieldError,
    immutable,
    invalid,
    required,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.patterns import BadPattern, compiled
from maitred.sandbox.apiserver.schema.types import Body

ACCEPTED = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)
RULES = "x-kubernetes-validations"
CHOICES = {
    "type": ("array", "boolean", "integer", "number", "object", "string"),
    "x-kubernetes-list-type": ("atomic", "set", "map"),
}
"""What a schema can say here, if it says anything."""


class DefinitionStrategy(Strategy):
    def set_defaults(self, body: Body) -> None:
        names = body["spec"]["names"]
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")

    def before_create(self, body: Body) -> None:
        body["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored_versions(body["spec"])[:1] or None,
        }

    def before_update(self, new: Body, old: Body) -> None:
        stored = old["status"].get("storedVersions") or []
        added = [name for name in stored_versions(new["spec"])[:1] if name not in stored]
        new["status"] = {**old["status"], "storedVersions": [*stored, *added]}

    def check(self, body: Body) -> list[FieldError]:
        spec, errors = body["spec"], list(check_versions(body["spec"].get("versions") or []))
        if body["metadata"].get("name", "") != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
            errors.append(invalid("metadata.name", OMITTED, 'must be spec.names.plural+"."+spec.group'))
        return errors

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        spec, before = new["spec"], old["spec"]
        fixed = [("scope", spec, before), ("names.kind", spec["names"], before["names"])]
        fixed.append(("names.plural", spec["names"], before["names"]))
        errors = list(check_versions(spec.get("versions") or []))
        for path, now, then in fixed:
            name = path.rpartition(".")[2]
            errors += immutable(f"spec.{path}", now.get(name), then.get(name))
        return errors

    def warnings(self, body: Body, old: Body | None) -> list[str]:
        """What is left to the real server."""
        spec, said = body["spec"], []
        if spec["conversion"].get("strategy") == "Webhook":
            why = "no webhook is called here, so versions differ in nothing but their names"
            said.append(f"spec.conversion: {why}")
        if any(schema.get(RULES) for root in schemas_of(spec) for schema, _ in within(root, "")):
            said.append(f"{RULES}: CEL is not read here, so these rules are neither checked nor enforced")
        return said


DEFINITIONS = DefinitionStrategy()


def accept(body: Body, now: str) -> bool:
    """Whether there was anything new to accept: its names, with which it is served."""
    status, names = body["status"], body["spec"]["names"]
    if status["acceptedNames"] == names:
        return False
    status["acceptedNames"] = dict(names)
    status["conditions"] = status.get("conditions") or [
        {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
        for kind, reason, message in ACCEPTED
    ]
    return True


def schemas_of(spec: Body) -> list[Body]:
    return [v.get("schema", {}).get("openAPIV3Schema", {}) for v in spec.get("versions") or []]


def stored_versions(spec: Body) -> list[str]:
    return [version["name"] for version in spec.get("versions") or [] if version.get("storage")]


def check_versions(versions: list[Body]) -> Iterator[FieldError]:
    if len({version.get("name") for version in versions}) < len(versions):
        yield invalid("spec.versions", OMITTED, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", OMITTED, "must have exactly one version marked as storage version")
    for index, version in enumerate(versions):
        path, schema = f"spec.versions[{index}].schema.openAPIV3Schema", version.get("schema", {})
        if "openAPIV3Schema" not in schema:
            yield required(path)
            continue
        if schema["openAPIV3Schema"].get("type") != "object":
            yield required(f"{path}.type", "must be object at the root")
        for each, here in within(schema["openAPIV3Schema"], path):
            yield from check_schema(each, here)


def check_schema(schema: Body, path: str) -> Iterator[FieldError]:
    for name, choices in CHOICES.items():
        if schema.get(name) and schema[name] not in choices:
            yield unsupported(f"{path}.{name}", schema[name], choices)
    if schema.get("pattern"):
        try:
            compiled(schema["pattern"])
        except BadPattern as bad:
            yield invalid(f"{path}.pattern", schema["pattern"], f"must be a valid regular expression: {bad}")


def within(schema: Body, path: str) -> Iterator[tuple[Body, str]]:
    """This schema and all within it, with their paths."""
    yield schema, path
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            yield from within(schema[name], f"{path}.{name}")
    for name, child in schema.get("properties", {}).items():
        yield from within(child, f"{path}.properties[{name}]")
    for junctor in ("anyOf", "allOf", "oneOf"):
        for index, nested in enumerate(schema.get(junctor, [])):
            yield from within(nested, f"{path}.{junctor}[{index}]")
