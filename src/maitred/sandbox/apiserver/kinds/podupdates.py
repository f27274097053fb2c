"""What of a pod may change once it is there: little."""

from collections.abc import Iterator, Mapping, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid
from maitred.sandbox.apiserver.kinds.metadata import changed_fields
from maitred.sandbox.apiserver.kinds.placement import REQUIRED
from maitred.sandbox.apiserver.schema.types import Body

MUTABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


def check_pod_change(new: Body, old: Body) -> Iterator[FieldError]:
    spec, before = new["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind, ())) != len(before.get(kind, ())):
            yield forbidden(f"spec.{kind}", "pod updates may not add or remove containers")
            return
    yield from _check_deadline(spec, before)
    yield from _check_tolerations(spec.get("tolerations", ()), before.get("tolerations", ()))
    yield from _check_gates(spec.get("schedulingGates", ()), before.get("schedulingGates", ()))
    if before.get("schedulingGates"):
        yield from _check_narrowing(spec, before)
    fixed = _without_mutable(spec, before)
    if fixed != before:
        words = f"pod updates may not change fields other than {','.join(MUTABLE)}"
        yield forbidden("spec", f"{words}; this one changes {changed_fields(fixed, before)}")


def _check_deadline(spec: Body, before: Body) -> Iterator[FieldError]:
    path = "spec.activeDeadlineSeconds"
    deadline, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if old is not None and deadline is None:
        yield invalid(path, None, "must not update from a positive integer to nil value")
    elif old is not None and deadline is not None and old < deadline:
        yield invalid(path, deadline, "must be less than or equal to previous value")


def _check_tolerations(new: Sequence[Body], old: Sequence[Body]) -> Iterator[FieldError]:
    kept = [_without_time(toleration) for toleration in new]
    if any(_without_time(toleration) not in kept for toleration in old):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", why)


def _without_time(toleration: Body) -> Body:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _check_gates(new: Sequence[Body], old: Sequence[Body]) -> Iterator[FieldError]:
    known = {gate.get("name") for gate in old}
    for index, gate in enumerate(new):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", why)


def _check_narrowing(spec: Body, before: Body) -> Iterator[FieldError]:
    """Where a gated pod may go can become less, not other."""
    new, old = spec.get("nodeSelector", {}), before.get("nodeSelector", {})
    if any(new.get(key) != value for key, value in old.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", new or None, why)
    terms, were = _node_terms(spec), _node_terms(before)
    if were and len(terms) != len(were):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(TERMS, terms or None, why)
        return
    for index, (term, was) in enumerate(zip(terms, were, strict=False)):
        if not _only_adds(term, was):
            why = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{TERMS}[{index}]", term, why)


def _node_terms(spec: Body) -> list[Body]:
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {})
    return list(required.get("nodeSelectorTerms") or ())


def _only_adds(term: Body, was: Body) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(was.get(part) for part in parts):
        # An empty term selects nothing, so anything added to it selects more.
        return not any(term.get(part) for part in parts)
    return all(term.get(part, [])[: len(was.get(part, []))] == was.get(part, []) for part in parts)


def _without_mutable(spec: Body, before: Body) -> Body:
    """The new spec, with what may change as it was."""
    fixed = dict(spec)
    for kind in ("containers", "initContainers"):
        if kind in spec:
            pairs = zip(spec[kind], before[kind], strict=True)
            fixed[kind] = [{**container, "image": was.get("image", "")} for container, was in pairs]
    mutable = ["activeDeadlineSeconds", "schedulingGates", "tolerations"]
    if before.get("schedulingGates"):
        mutable.append("nodeSelector")
        fixed["affinity"] = _with_node_affinity(spec.get("affinity", {}), before.get("affinity", {}))
        if not fixed["affinity"] and "affinity" not in before:
            del fixed["affinity"]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        mutable.append("terminationGracePeriodSeconds")
    return _restored(fixed, before, mutable)


def _with_node_affinity(affinity: Body, before: Body) -> Body:
    return _restored(dict(affinity), before, ["nodeAffinity"])


def _restored(body: Body, before: Mapping[str, object], names: Sequence[str]) -> Body:
    for name in names:
        body.pop(name, None)
        if name in before:
            body[name] = before[name]
    return body
