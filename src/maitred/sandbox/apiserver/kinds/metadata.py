"""The rules for `metadata`, which all kinds share."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import NOT_NEGATIVE, FieldError, forbidden, invalid, required
from maitred.sandbox.apiserver.kinds.labels import check_annotations, check_labels
from maitred.sandbox.apiserver.kinds.names import NameRule, check_name, label, label_key, path_segment
from maitred.sandbox.apiserver.schema.types import Body

IMMUTABLE = "field is immutable"
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
STANDARD_FINALIZERS = ("kubernetes", ORPHAN, FOREGROUND)
FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def check_metadata(
    body: Body, *, namespaced: bool, name_rule: NameRule, any_finalizers: bool
) -> list[FieldError]:
    """Of a new object, which has its name already if that was to be generated."""
    return list(_check_new(body.get("metadata", {}), namespaced, name_rule, any_finalizers))


def check_metadata_update(new: Body, old: Body, *, any_finalizers: bool) -> list[FieldError]:
    metadata, before = new.get("metadata", {}), old.get("metadata", {})
    return [
        *_check_common(metadata),
        *_check_change(metadata, before),
        *_check_standard(metadata, any_finalizers),
    ]


def immutable(field: str, new: object, old: object) -> Iterator[FieldError]:
    if new != old:
        yield invalid(field, new, IMMUTABLE)


def changed_fields(new: Body, old: Body) -> str:
    names = sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))
    return ", ".join(f"`spec.{name}`" for name in names)


def check_finalizer(name: str, field: str) -> Iterator[FieldError]:
    """That it says whose it is, unless it is one of Kubernetes itself."""
    if "/" not in name and name not in STANDARD_FINALIZERS:
        yield invalid(field, name, "name is neither a standard finalizer name nor is it fully qualified")


def _check_new(
    metadata: Body, namespaced: bool, name_rule: NameRule, any_finalizers: bool
) -> Iterator[FieldError]:
    yield from _check_names(metadata, name_rule)
    namespace = metadata.get("namespace", "")
    if namespaced and not namespace:
        yield required("metadata.namespace")
    elif namespaced:
        yield from check_name("metadata.namespace", namespace, label)
    elif namespace:
        yield forbidden("metadata.namespace", "not allowed on this type")
    yield from _check_common(metadata)
    yield from _check_standard(metadata, any_finalizers)


def _check_names(metadata: Body, rule: NameRule) -> Iterator[FieldError]:
    name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
    if prefix:
        for message in rule(_completed(prefix)):
            yield invalid("metadata.generateName", prefix, message)
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    problems = list(check_name("metadata.name", name, rule))
    yield from problems or check_name("metadata.name", name, path_segment)


def _completed(prefix: str) -> str:
    """A name that may come of it: a dash at its end is not one at the end of the name."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _check_common(metadata: Body) -> Iterator[FieldError]:
    if metadata.get("generation", 0) < 0:
        yield invalid("metadata.generation", metadata["generation"], NOT_NEGATIVE)
    yield from check_labels(metadata.get("labels", {}), "metadata.labels")
    yield from check_annotations(metadata.get("annotations", {}), "metadata.annotations")
    yield from _check_owners(metadata.get("ownerReferences", []))
    yield from _check_finalizers(metadata.get("finalizers", []))


def _check_owners(owners: list[Body]) -> Iterator[FieldError]:
    controller = ""
    for index, owner in enumerate(owners):
        yield from _check_owner(owner, f"metadata.ownerReferences[{index}]")
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                found = f'Found "true" in references for {controller} and {name}'
                why = f"Only one reference can have Controller set to true. {found}"
                yield invalid("metadata.ownerReferences", owners, why)
            controller = controller or name


def _check_owner(owner: Body, path: str) -> Iterator[FieldError]:
    version = owner.get("apiVersion", "")
    if version and (version.count("/") > 1 or version.endswith("/")):
        yield invalid(f"{path}.apiVersion", version, "must be <group>/<version> or <version>")
    for key in ("apiVersion", "kind", "name", "uid"):
        if not owner.get(key):
            yield required(f"{path}.{key}", "must not be empty")
    if version == "v1" and owner.get("kind") == "Event":
        yield invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")


def _check_finalizers(finalizers: list[str]) -> Iterator[FieldError]:
    for name in finalizers:
        yield from check_name("metadata.finalizers", name, label_key)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        why = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        yield invalid("metadata.finalizers", finalizers, why)


def _check_standard(metadata: Body, any_finalizers: bool) -> Iterator[FieldError]:
    if not any_finalizers:
        for index, name in enumerate(metadata.get("finalizers", ())):
            yield from check_finalizer(name, f"metadata.finalizers[{index}]")


def _check_change(new: Body, old: Body) -> Iterator[FieldError]:
    if "deletionTimestamp" in old:
        added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            why = "no new finalizers can be added if the object is being deleted, found new finalizers"
            yield forbidden("metadata.finalizers", f"{why} []string{{{listed}}}")
    if not new.get("resourceVersion"):
        yield invalid("metadata.resourceVersion", "", "must be specified for an update")
    if new.get("generation", 0) < old.get("generation", 0):
        yield invalid("metadata.generation", new.get("generation", 0), "must not be decremented")
    for key in FIXED:
        yield from immutable(f"metadata.{key}", new.get(key), old.get(key))
