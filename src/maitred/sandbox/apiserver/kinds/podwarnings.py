"""What the server would rather not see in a pod."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.placement import PREFERRED, REQUIRED
from maitred.sandbox.apiserver.kinds.podspecs import all_containers
from maitred.sandbox.apiserver.kinds.quantities import is_whole
from maitred.sandbox.apiserver.schema.types import Body

MATCHES_NONE = "a null labelSelector results in matching no pod"


def pod_warnings(body: Body) -> list[str]:
    return list(spec_warnings(body["spec"], "spec"))


def spec_warnings(spec: Body, path: str) -> Iterator[str]:
    """Of a pod, or of a template with another path."""
    for index, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        if "labelSelector" not in constraint:
            yield f"{path}.topologySpreadConstraints[{index}].labelSelector: {MATCHES_NONE}"
    for here, container in all_containers(spec, path):
        yield from _amount_warnings(container.get("resources", {}), f"{here}.resources")
        yield from _variable_warnings(container, f"{here}.env")
    yield from _port_name_warnings(spec, path)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {why}"
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _term_warnings(spec.get("affinity", {}).get(kind, {}), f"{path}.affinity.{kind}")


def _amount_warnings(resources: Body, path: str) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        for which in ("limits", "requests"):
            amount = resources.get(which, {}).get(name, "0")
            if not is_whole(amount):
                yield f'{path}.{which}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'


def _variable_warnings(container: Body, path: str) -> Iterator[str]:
    names = set[str]()
    for index, entry in enumerate(container.get("env", ())):
        name, value = entry.get("name", ""), entry.get("value", "")
        reference = f"$({name})"
        extends = reference in value and value != reference and "valueFrom" not in entry
        if name in names and not extends:
            why = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}[{index}]: {why}"
        names.add(name)


def _port_name_warnings(spec: Body, path: str) -> Iterator[str]:
    names = dict[str, str]()
    for here, container in all_containers(spec, path):
        for index, port in enumerate(container.get("ports", ())):
            name, where = port.get("name", ""), f"{here}.ports[{index}]"
            if name in names:
                other = names[name]
                which = f"services and probes that select ports by name will use {other}"
                yield f'{where}: duplicate port name "{name}" with {other}, {which}'
            elif name:
                names[name] = where


def _term_warnings(affinity: Body, path: str) -> Iterator[str]:
    for index, term in enumerate(affinity.get(REQUIRED, ())):
        if "labelSelector" not in term:
            yield f"{path}.{REQUIRED}[{index}].labelSelector: {MATCHES_NONE}"
    for index, term in enumerate(affinity.get(PREFERRED, ())):
        if "labelSelector" not in term.get("podAffinityTerm", {}):
            yield f"{path}.{PREFERRED}[{index}].podAffinityTerm.labelSelector: {MATCHES_NONE}"
