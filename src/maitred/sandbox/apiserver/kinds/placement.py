"""The rules for where pods may go that the types do not state: affinity, spreading, tolerations, taints."""

from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, FieldFault, forbidden, invalid
from maitred.sandbox.apiserver.kinds.labels import check_expressions, check_field_expressions
from maitred.sandbox.apiserver.kinds.names import label_value
from maitred.sandbox.apiserver.schema.types import Body

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def check_taints(taints: Sequence[Body], path: str) -> Iterator[FieldError]:
    seen = set[tuple[str, str]]()
    for index, taint in enumerate(taints):
        key, effect = taint.get("key", ""), taint.get("effect", "")
        if (key, effect) in seen:
            why = "taints must be unique by key and effect pair"
            yield FieldError(FieldFault.DUPLICATE, f"{path}[{index}]", taint, why)
        seen.add((key, effect))


def check_node_term(term: Body, path: str) -> Iterator[FieldError]:
    yield from check_expressions(term.get("matchExpressions", ()), path, of_nodes=True)
    yield from check_field_expressions(term.get("matchFields", ()), path)


def check_affinity_term(term: Body, path: str) -> Iterator[FieldError]:
    """A pod compares its own labels with others' by some keys; the server adds them to the selector."""
    matched, mismatched = term.get("matchLabelKeys", []), term.get("mismatchLabelKeys", [])
    selector = term.get("labelSelector")
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
    selected = (selector or {}).get("matchLabels", {})
    for index, key in enumerate(matched):
        here = f"{path}.matchLabelKeys[{index}]"
        if key in mismatched:
            yield invalid(here, key, "exists in both matchLabelKeys and mismatchLabelKeys")
        if key in selected:
            yield invalid(here, key, "exists in both matchLabelKeys and labelSelector")


def check_spread(constraint: Body, path: str) -> Iterator[FieldError]:
    action = constraint.get("whenUnsatisfiable", "")
    if "minDomains" in constraint and action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(f"{path}.minDomains", constraint["minDomains"], why)
    yield from check_affinity_term(constraint, path)


def check_toleration(toleration: Body, path: str) -> Iterator[FieldError]:
    key, operator, effect = (toleration.get(name, "") for name in ("key", "operator", "effect"))
    value = toleration.get("value", "")
    if not key and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, why)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, why)
    if operator == "Exists" and value:
        yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("", "Equal") and (problems := label_value(value)):
        yield invalid(f"{path}.operator", value, ";".join(problems))
