"""The rules for where pods may go: affinity, spreading, tolerations, and the taints of nodes."""

from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import (
    Fault,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.labels import (
    check_label_selector,
    check_node_selector,
    check_node_selector_term,
)
from maitred.sandbox.apiserver.kinds.names import check_name, label, label_key, label_value
from maitred.sandbox.apiserver.schema.types import Body

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
INCLUSIONS = ("Honor", "Ignore")
TAINT = {"key": "", "value": "", "effect": "", "timeAdded": None}


def check_affinity(affinity: Body, path: str) -> Iterator[FieldError]:
    if "nodeAffinity" in affinity:
        yield from _check_node_affinity(affinity["nodeAffinity"], f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in affinity:
            yield from _check_pod_affinity(affinity[kind], f"{path}.{kind}")


def check_spread(constraints: Sequence[Body], path: str) -> Iterator[FieldError]:
    for index, constraint in enumerate(constraints):
        yield from _check_constraint(constraint, constraints[index + 1 :], f"{path}[{index}]")


def check_tolerations(tolerations: Sequence[Body], path: str) -> Iterator[FieldError]:
    for index, toleration in enumerate(tolerations):
        yield from _check_toleration(toleration, f"{path}[{index}]")


def check_taints(taints: Sequence[Body], path: str) -> Iterator[FieldError]:
    seen = set[tuple[str, str]]()
    for index, taint in enumerate(taints):
        here, key, effect = f"{path}[{index}]", taint.get("key", ""), taint.get("effect", "")
        yield from check_name(f"{here}.key", key, label_key)
        if problems := label_value(taint.get("value", "")):
            yield invalid(f"{here}.value", taint["value"], ";".join(problems))
        yield from _check_effect(effect, f"{here}.effect")
        if (key, effect) in seen:
            value = inner(taint, TAINT)
            yield FieldError(Fault.DUPLICATE, here, value, "taints must be unique by key and effect pair")
        seen.add((key, effect))


def _check_node_affinity(affinity: Body, path: str) -> Iterator[FieldError]:
    if REQUIRED in affinity:
        yield from check_node_selector(affinity[REQUIRED], f"{path}.{REQUIRED}")
    for index, term in enumerate(affinity.get(PREFERRED, ())):
        here = f"{path}.{PREFERRED}[{index}]"
        yield from _check_weight(term, here)
        yield from check_node_selector_term(term.get("preference", {}), f"{here}.preference", any_values=True)


def _check_pod_affinity(affinity: Body, path: str) -> Iterator[FieldError]:
    for index, term in enumerate(affinity.get(REQUIRED, ())):
        yield from _check_affinity_term(term, f"{path}.{REQUIRED}[{index}]")
    for index, term in enumerate(affinity.get(PREFERRED, ())):
        here = f"{path}.{PREFERRED}[{index}]"
        yield from _check_weight(term, here)
        yield from _check_affinity_term(term.get("podAffinityTerm", {}), f"{here}.podAffinityTerm")


def _check_weight(term: Body, path: str) -> Iterator[FieldError]:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _check_affinity_term(term: Body, path: str) -> Iterator[FieldError]:
    yield from check_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from check_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces", ()):
        yield from check_name(f"{path}.namespace", name, label)
    yield from _check_label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from check_name(f"{path}.topologyKey", key, label_key)


def _check_label_keys(term: Body, path: str) -> Iterator[FieldError]:
    """Keys whose values a pod compares its own labels by; the server adds them to the selector."""
    matched, mismatched = term.get("matchLabelKeys", []), term.get("mismatchLabelKeys", [])
    selector = term.get("labelSelector")
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
        elif selector is not None:
            for index, key in enumerate(keys):
                yield from check_name(f"{path}.{name}[{index}]", key, label_key)
    selected = set((selector or {}).get("matchLabels", {}))
    for expression in (selector or {}).get("matchExpressions", ()):
        key = expression.get("key", "")
        if key in matched and key in selected:
            why = "exists in both matchLabelKeys and labelSelector"
            yield invalid(f"{path}[{matched.index(key)}]", key, why)
        selected.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, why)


def _check_constraint(constraint: Body, following: Sequence[Body], path: str) -> Iterator[FieldError]:
    key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
    yield from _check_positive(constraint.get("maxSkew", 0), f"{path}.maxSkew")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    if action not in WHEN_UNSATISFIABLE:
        yield unsupported(f"{path}.whenUnsatisfiable", action, WHEN_UNSATISFIABLE)
    others = ((other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) for other in following)
    if (key, action) in others:
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
    if "minDomains" in constraint:
        yield from _check_min_domains(constraint["minDomains"], action, f"{path}.minDomains")
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if name in constraint and constraint[name] not in INCLUSIONS:
            yield unsupported(f"{path}.{name}", constraint[name], INCLUSIONS)
    yield from _check_label_keys(constraint, path)
    yield from check_label_selector(constraint.get("labelSelector"), f"{path}.labelSelector")


def _check_min_domains(count: int, action: str, path: str) -> Iterator[FieldError]:
    yield from _check_positive(count, path)
    if action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(path, count, why)


def _check_positive(value: int, path: str) -> Iterator[FieldError]:
    if value <= 0:
        yield invalid(path, value, "must be greater than zero")


def _check_toleration(toleration: Body, path: str) -> Iterator[FieldError]:
    key, operator, effect = (toleration.get(name, "") for name in ("key", "operator", "effect"))
    if key:
        yield from check_name(f"{path}.key", key, label_key)
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, why)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, why)
    yield from _check_operator(operator, toleration.get("value", ""), f"{path}.operator")
    if effect:
        yield from _check_effect(effect, f"{path}.effect")


def _check_operator(operator: str, value: str, path: str) -> Iterator[FieldError]:
    if operator in ("", "Equal"):
        if problems := label_value(value):
            yield invalid(path, value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(path, value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        # Known, but behind a gate that is closed.
        yield unsupported(path, operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield unsupported(path, operator, ("Equal", "Exists"))


def _check_effect(effect: str, path: str) -> Iterator[FieldError]:
    if not effect:
        yield required(path)
    elif effect not in EFFECTS:
        yield unsupported(path, effect, EFFECTS)
