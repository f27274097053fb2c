"""The rules for where pods may go that the types do not state: spreading, tolerations, taints."""

from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, FieldFault, invalid
from maitred.sandbox.apiserver.kinds.names import check_name, label_value
from maitred.sandbox.apiserver.schema.types import Body

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def check_taints(taints: Sequence[Body], path: str) -> Iterator[FieldError]:
    seen = set[tuple[str, str]]()
    for index, taint in enumerate(taints):
        key = (taint.get("key", ""), taint.get("effect", ""))
        if key in seen:
            why = "taints must be unique by key and effect pair"
            yield FieldError(FieldFault.DUPLICATE, f"{path}[{index}]", taint, why)
        seen.add(key)


def check_spread(constraint: Body, path: str) -> Iterator[FieldError]:
    action = constraint.get("whenUnsatisfiable", "")
    if "minDomains" in constraint and action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(f"{path}.minDomains", constraint["minDomains"], why)


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
    elif operator in ("", "Equal"):
        yield from check_name(f"{path}.operator", value, label_value)
