"""What the server would rather not see in a pod."""

from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.amounts import is_whole
from maitred.sandbox.apiserver.kinds.names import label_value
from maitred.sandbox.apiserver.kinds.placement import PREFERRED, REQUIRED
from maitred.sandbox.apiserver.kinds.podspecs import all_containers
from maitred.sandbox.apiserver.schema.types import Body

MATCHES_NONE = "a null labelSelector results in matching no pod"
DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def pod_warnings(body: Body) -> list[str]:
    return list(spec_warnings(body["spec"], "spec"))


def spec_warnings(spec: Body, path: str) -> Iterator[str]:
    """Of a pod, or of a template with another path."""
    yield from _node_warnings(spec, path)
    yield from _spread_warnings(
        spec.get("topologySpreadConstraints", ()), f"{path}.topologySpreadConstraints"
    )
    yield from _repetitions(spec.get("hostAliases", ()), "ip", f"{path}.hostAliases")
    yield from _secret_warnings(spec.get("imagePullSecrets", ()), f"{path}.imagePullSecrets")
    for here, container in all_containers(spec, path):
        yield from _amount_warnings(container.get("resources", {}), f"{here}.resources")
        yield from _variable_warnings(container, f"{here}.env")
    yield from _port_warnings(spec, path)
    yield from _port_name_warnings(spec, path)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {why}"
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _term_warnings(spec.get("affinity", {}).get(kind, {}), f"{path}.affinity.{kind}")


def _node_warnings(spec: Body, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector", {}):
        if key in DEPRECATED_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    for index, term in enumerate(affinity.get(REQUIRED, {}).get("nodeSelectorTerms") or ()):
        here = f"{path}.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[{index}]"
        yield from _expression_warnings(term, here, preferred=False)
    for index, term in enumerate(affinity.get(PREFERRED, ())):
        here = f"{path}.affinity.nodeAffinity.{PREFERRED}[{index}].preference"
        yield from _expression_warnings(term.get("preference", {}), here, preferred=True)


def _expression_warnings(term: Body, path: str, *, preferred: bool) -> Iterator[str]:
    """What is only preferred may have values that no label has; it is said, not refused."""
    for index, expression in enumerate(term.get("matchExpressions", ())):
        here, key = f"{path}.matchExpressions[{index}]", expression.get("key", "")
        if key in DEPRECATED_LABELS:
            yield f"{here}.key: {key} is {DEPRECATED_LABELS[key]}"
        for number, value in enumerate(expression.get("values", ()) if preferred else ()):
            for message in label_value(value):
                yield f"{here}.values[{number}]: {value} is invalid, {message}"


def _spread_warnings(constraints: Sequence[Body], path: str) -> Iterator[str]:
    for index, constraint in enumerate(constraints):
        key = constraint.get("topologyKey", "")
        if key in DEPRECATED_LABELS:
            yield f"{path}[{index}].topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{path}[{index}].labelSelector: {MATCHES_NONE}"


def _secret_warnings(secrets: Sequence[Body], path: str) -> Iterator[str]:
    yield from _repetitions(secrets, "name", path)
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path}[{index}].name: invalid empty name ""'


def _repetitions(items: Sequence[Body], key: str, path: str) -> Iterator[str]:
    seen = set[str]()
    for index, item in enumerate(items):
        value = item.get(key, "")
        if value in seen:
            yield f'{path}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)


def _amount_warnings(resources: Body, path: str) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        for which in ("limits", "requests"):
            amount = resources.get(which, {}).get(name, "0")
            if not is_whole(amount):
                why = f'fractional byte value "{amount}" is invalid, must be an integer'
                yield f"{path}.{which}[{name}]: {why}"


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


def _port_warnings(spec: Body, path: str) -> Iterator[str]:
    """The same port of two containers; the server adds them all to one network."""
    known = dict[tuple[int, str], list[tuple[str, Body]]]()
    for here, container in all_containers(spec, path):
        for index, port in enumerate(container.get("ports", ())):
            where = f"{here}.ports[{index}]"
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for place, other in others:
                if clash := _clash(port, other):
                    yield f"{where}: {clash} port definition with {place}"
            others.append((where, port))


def _clash(port: Body, other: Body) -> str:
    addresses = [each.get("hostIP", "") for each in (port, other)]
    ports = [each.get("hostPort", 0) for each in (port, other)]
    if addresses[0] == addresses[1] and ports[0] == ports[1]:
        return "duplicate"
    if not all(ports):
        return "overlapping"
    ambiguous = ports[0] == ports[1] and any(addresses) and not all(addresses)
    return "dangerously ambiguous" if ambiguous else ""


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
