"""CustomResourceDefinition: a kind that users add."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from maitred.sandbox.apiserver.kinds.conditions import is_true
from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    check_choice,
    forbidden,
    invalid,
    required,
)
from maitred.sandbox.apiserver.kinds.metadata import immutable
from maitred.sandbox.apiserver.kinds.names import NameRule, label_1035, subdomain
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.kinds.structural import LIST, check_schema, every_schema
from maitred.sandbox.apiserver.schema.formats import is_known
from maitred.sandbox.apiserver.schema.gotext import quoted
from maitred.sandbox.apiserver.schema.types import Body

SCOPES = ("Cluster", "Namespaced")
CONVERSIONS = ("None", "Webhook")
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
NEEDED_NAMES = ("plural", "singular", "kind", "listKind")
PROTECTED = ("k8s.io", "kubernetes.io")
APPROVAL = "api-approved.kubernetes.io"
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
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
LONGEST_WARNING = 256
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
        return [
            *check_own_name(body),
            *check_spec(body["spec"]),
            *check_stored(body),
            *check_approval(body),
            *check_openness(body["spec"]),
        ]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        approval = check_approval(new) if approval_of(new) != approval_of(old) else ()
        return [
            *check_spec(new["spec"]),
            *check_fixed(new["spec"], old["spec"], is_established=is_true(old, "Established")),
            *check_stored(new),
            *approval,
            *check_openness(new["spec"]),
        ]

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return list(check_names(new.get("status", {}).get("acceptedNames", {}), "status.acceptedNames"))

    def warnings(self, body: Body, old: Body | None) -> list[str]:
        before = set(oddities(old["spec"])) if old is not None else ()
        said = [warning for warning in oddities(body["spec"]) if warning not in before]
        return said + unheeded(body["spec"])


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


def oddities(spec: Body) -> list[str]:
    """What the server takes, and makes little of."""
    schemas = list(schemas_of(spec))
    formats = [schema["format"] for schema in schemas if has_odd_format(schema)]
    items = {schema["items"].get("type") for schema in schemas if schema.get(LIST) == "set"}
    return [
        *(f"unrecognized format {quoted(format)}" for format in dict.fromkeys(formats)),
        *(
            f'{LIST}: set for items of type "{type}" is not supported by server-side apply or CEL '
            "validation rules"
            for type in ("array", "object")
            if type in items
        ),
    ]


def has_odd_format(schema: Body) -> bool:
    format: str = schema.get("format", "")
    return bool(format) and not is_known(format, schema.get("type", ""))


def unheeded(spec: Body) -> list[str]:
    """What is left to the real server."""
    warnings = []
    if spec["conversion"].get("strategy") == "Webhook":
        why = "no webhook is called here, so versions differ in nothing but their names"
        warnings.append(f"spec.conversion: {why}")
    if any(schema.get(RULES) for schema in schemas_of(spec)):
        warnings.append(f"{RULES}: CEL is not read here, so these rules are neither checked nor enforced")
    return warnings


def schemas_of(spec: Body) -> Iterator[Body]:
    for version in spec.get("versions") or []:
        yield from every_schema(version.get("schema", {}).get("openAPIV3Schema", {}))


def stored_versions(spec: Body) -> list[str]:
    return [version["name"] for version in spec.get("versions") or [] if version.get("storage")]


def check_own_name(body: Body) -> Iterator[FieldError]:
    name, spec = body["metadata"].get("name", ""), body["spec"]
    if name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


# -- spec --------------------------------------------------------------------------------------------------


def check_spec(spec: Body) -> Iterator[FieldError]:
    versions: list[Body] = spec.get("versions") or []
    yield from check_group(spec.get("group", ""))
    yield from check_choice("spec.scope", spec.get("scope", ""), SCOPES)
    for index, version in enumerate(versions):
        if "openAPIV3Schema" not in version.get("schema", {}):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        yield from check_version(version, f"spec.versions[{index}]", versions)
    yield from check_versions(versions)
    for name in NEEDED_NAMES:
        if not spec["names"].get(name):
            yield required(f"spec.names.{name}")
    yield from check_names(spec["names"], "spec.names")
    yield from check_common_parts(versions)
    yield from check_conversion(spec["conversion"])


def check_group(group: str) -> Iterator[FieldError]:
    if not group:
        yield required("spec.group")
    elif problems := subdomain(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def check_names(names: Body, path: str) -> Iterator[FieldError]:
    for name in ("plural", "singular"):
        yield from check_joined(names.get(name, ""), f"{path}.{name}", label_1035)
    for name in ("kind", "listKind"):
        yield from check_joined(names.get(name, ""), f"{path}.{name}", any_case)
    for index, short in enumerate(names.get("shortNames", [])):
        yield from check_joined(short, f"{path}.shortNames[{index}]", label_1035)
    kind = names.get("kind")
    if kind and kind == names.get("listKind"):
        yield invalid(f"{path}.listKind", kind, "kind and listKind may not be the same")
    for index, category in enumerate(names.get("categories", [])):
        yield from check_joined(category, f"{path}.categories[{index}]", label_1035)


def check_joined(value: str, path: str, rule: NameRule) -> Iterator[FieldError]:
    if value and (problems := rule(value)):
        yield invalid(path, value, ",".join(problems))


def any_case(name: str) -> list[str]:
    problems = label_1035(name.lower())
    return [f"may have mixed case, but should otherwise match: {','.join(problems)}"] if problems else []


def check_conversion(conversion: Body) -> Iterator[FieldError]:
    strategy = conversion.get("strategy", "")
    yield from check_choice("spec.conversion.strategy", strategy, CONVERSIONS)
    webhook = conversion.get("webhook", {})
    # The server speaks of these fields by older names.
    if strategy == "Webhook":
        if "clientConfig" not in webhook:
            why = "required when strategy is set to Webhook"
            yield required("spec.conversion.webhookClientConfig", why)
        if not webhook.get("conversionReviewVersions"):
            yield required("spec.conversion.conversionReviewVersions")


# -- versions ----------------------------------------------------------------------------------------------


def is_common(versions: list[Body], name: str) -> bool:
    """What all versions have alike is told of once, as a part of the whole."""
    return all(version.get(name) == versions[0].get(name) for version in versions)


def check_version(version: Body, path: str, versions: list[Body]) -> Iterator[FieldError]:
    if problems := label_1035(version.get("name", "")):
        yield invalid(f"{path}.name", version.get("name", ""), ",".join(problems))
    warning = version.get("deprecationWarning")
    if warning is not None:
        yield from check_deprecation(warning, bool(version.get("deprecated")), f"{path}.deprecationWarning")
    if not is_common(versions, "schema"):
        yield from check_version_schema(version, f"{path}.schema")
    if not is_common(versions, "subresources"):
        yield from check_subresources(version, f"{path}.subresources")
    if not is_common(versions, "additionalPrinterColumns"):
        yield from check_columns(version, f"{path}.additionalPrinterColumns")


def check_common_parts(versions: list[Body]) -> Iterator[FieldError]:
    if not versions:
        return
    if is_common(versions, "schema"):
        yield from check_version_schema(versions[0], "spec.validation")
    if is_common(versions, "subresources"):
        yield from check_subresources(versions[0], "spec.subresources")
    if is_common(versions, "additionalPrinterColumns"):
        yield from check_columns(versions[0], "spec.additionalPrinterColumns")


def check_versions(versions: list[Body]) -> Iterator[FieldError]:
    names = [version.get("name") for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", versions, why)


def check_deprecation(warning: str, is_deprecated: bool, path: str) -> Iterator[FieldError]:
    if not is_deprecated:
        yield invalid(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > LONGEST_WARNING:
        yield invalid(path, warning, f"must be <= {LONGEST_WARNING} characters long")
    if not warning:
        yield invalid(path, warning, "must not be an empty string")
    odd = next((index for index, character in enumerate(warning) if not character.isprintable()), None)
    if odd is not None:
        why = "must only contain printable UTF-8 characters"
        yield invalid(path, warning, f"{why}; non-printable character found at index {odd}")


def check_version_schema(version: Body, path: str) -> Iterator[FieldError]:
    schema = version.get("schema", {}).get("openAPIV3Schema")
    if schema is not None:
        if schema.get("nullable"):
            why = "nullable cannot be true at the root"
            yield forbidden(f"{path}.openAPIV3Schema.nullable", why)
        yield from check_schema(schema, f"{path}.openAPIV3Schema")


def check_subresources(version: Body, path: str) -> Iterator[FieldError]:
    scale = version.get("subresources", {}).get("scale")
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        here, value = f"{path}.scale.{name}", scale.get(name, "")
        if not value:
            yield required(here)
        elif not value.startswith("."):
            yield invalid(here, value, "must be a simple json path starting with .")
        elif not value.startswith(root):
            yield invalid(here, value, f"should be a json path under {root[:-1]}")


def check_columns(version: Body, path: str) -> Iterator[FieldError]:
    for index, column in enumerate(version.get("additionalPrinterColumns", [])):
        yield from check_column(column, f"{path}[{index}]")


def check_column(column: Body, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind, shape = column.get("type", ""), column.get("format", "")
    known = f"must be one of {','.join(COLUMN_TYPES)}"
    if not kind:
        yield required(f"{path}.type", known)
    elif kind not in COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, known)
    if shape and shape not in COLUMN_FORMATS:
        yield invalid(f"{path}.format", shape, f"must be one of {','.join(COLUMN_FORMATS)}")
    json_path = column.get("jsonPath", "")
    if not json_path:
        yield required(f"{path}.JSONPath")
    elif not json_path.startswith("."):
        yield invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with .")


# -- the rest ----------------------------------------------------------------------------------------------


def check_fixed(new: Body, old: Body, *, is_established: bool) -> Iterator[FieldError]:
    if is_established:
        yield from immutable("spec.scope", new.get("scope"), old.get("scope"))
        yield from immutable("spec.names.kind", new["names"].get("kind"), old["names"].get("kind"))
    yield from immutable("spec.group", new.get("group"), old.get("group"))
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


def check_approval(body: Body) -> Iterator[FieldError]:
    """Groups of Kubernetes itself are not for everyone."""
    group, given = body["spec"].get("group", ""), approval_of(body)
    if not any(group == domain or group.endswith(f".{domain}") for domain in PROTECTED):
        return
    path, needed = f"metadata.annotations[{APPROVAL}]", "protected groups must have approval annotation"
    if not given:
        yield required(path, f'{needed} "{APPROVAL}", {SEE}')
    elif not given.startswith("unapproved") and not is_url(given):
        how = 'with either a URL or a reason starting with "unapproved"'
        yield invalid(path, given, f'{needed} "{APPROVAL}" {how}, {SEE}')


def approval_of(body: Body) -> str:
    annotations: dict[str, Any] = body["metadata"].get("annotations", {})
    return str(annotations.get(APPROVAL, ""))


def is_url(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme and parts.netloc)


def check_openness(spec: Body) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields"):
        instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, f"cannot set to true, {instead}")


DEFINITIONS = DefinitionStrategy()
