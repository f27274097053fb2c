"""CustomResourceDefinition: a kind that users add."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.conditions import is_true
from maitred.sandbox.apiserver.kinds.fielderrors import OMITTED, FieldError, invalid, required
from maitred.sandbox.apiserver.kinds.metadata import immutable
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.kinds.structural import check_schema, every_schema
from maitred.sandbox.apiserver.schema.types import Body

ACCEPTED: tuple[Body, ...] = (
    {
        "type": "NamesAccepted",
        "status": "True",
        "reason": "NoConflicts",
        "message": "no conflicts found",
    },
    {
        "type": "Established",
        "status": "True",
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    },
)
RULES = "x-kubernetes-validations"


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
        return [*check_own_name(body), *check_spec(body["spec"]), *check_stored(body)]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [
            *check_spec(new["spec"]),
            *check_fixed(new["spec"], old["spec"], is_established=is_true(old, "Established")),
            *check_stored(new),
        ]

    def warnings(self, body: Body, old: Body | None) -> list[str]:
        """What is left to the real server."""
        spec, said = body["spec"], []
        if spec["conversion"].get("strategy") == "Webhook":
            why = "no webhook is called here, so versions differ in nothing but their names"
            said.append(f"spec.conversion: {why}")
        if any(schema.get(RULES) for schema in schemas_of(spec)):
            said.append(f"{RULES}: CEL is not read here, so these rules are neither checked nor enforced")
        return said


def accept(body: Body, now: str) -> bool:
    """Whether there was anything new to accept: its names, with which it is served."""
    status, names = body["status"], body["spec"]["names"]
    if status["acceptedNames"] == names:
        return False
    status["acceptedNames"] = dict(names)
    status["conditions"] = status.get("conditions") or [
        {**condition, "lastTransitionTime": now} for condition in ACCEPTED
    ]
    return True


def schemas_of(spec: Body) -> Iterator[Body]:
    for version in spec.get("versions") or []:
        yield from every_schema(version.get("schema", {}).get("openAPIV3Schema", {}))


def stored_versions(spec: Body) -> list[str]:
    return [version["name"] for version in spec.get("versions") or [] if version.get("storage")]


def check_own_name(body: Body) -> Iterator[FieldError]:
    name, spec = body["metadata"].get("name", ""), body["spec"]
    if name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def check_spec(spec: Body) -> Iterator[FieldError]:
    names, versions = spec["names"], spec.get("versions") or []
    if spec.get("group") and "." not in spec["group"]:
        yield invalid("spec.group", spec["group"], "should be a domain with at least one dot")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid("spec.names.listKind", names["kind"], "kind and listKind may not be the same")
    if len({version.get("name") for version in versions}) < len(versions):
        yield invalid("spec.versions", OMITTED, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", OMITTED, "must have exactly one version marked as storage version")
    for index, version in enumerate(versions):
        yield from check_version(version, f"spec.versions[{index}]")
    if spec.get("preserveUnknownFields"):
        instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, f"cannot set to true, {instead}")


def check_version(version: Body, path: str) -> Iterator[FieldError]:
    schema = version.get("schema", {}).get("openAPIV3Schema")
    if schema is None:
        yield required(f"{path}.schema.openAPIV3Schema")
    else:
        yield from check_schema(schema, f"{path}.schema.openAPIV3Schema")
    for index, column in enumerate(version.get("additionalPrinterColumns", ())):
        if column.get("jsonPath") and not column["jsonPath"].startswith("."):
            here = f"{path}.additionalPrinterColumns[{index}].jsonPath"
            yield invalid(here, column["jsonPath"], "must be a simple json path starting with .")


def check_fixed(new: Body, old: Body, *, is_established: bool) -> Iterator[FieldError]:
    if is_established:
        yield from immutable("spec.scope", new.get("scope"), old.get("scope"))
        yield from immutable("spec.names.kind", new["names"].get("kind"), old["names"].get("kind"))
    yield from immutable("spec.names.plural", new["names"].get("plural"), old["names"].get("plural"))


def check_stored(body: Body) -> Iterator[FieldError]:
    stored: list[str] | None = body["status"].get("storedVersions")
    path = "status.storedVersions"
    if not stored:
        yield invalid(path, stored, "must have at least one stored version")
        return
    known = {version.get("name") for version in body["spec"].get("versions") or []}
    for index, name in enumerate(stored):
        if name not in known:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            yield invalid(f"{path}[{index}]", name, why)


DEFINITIONS = DefinitionStrategy()
