"""What may be said of how a pod is."""

from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, duplicate, forbidden, invalid
from maitred.sandbox.apiserver.kinds.metadata import immutable
from maitred.sandbox.apiserver.kinds.names import address, check_name, family, label_key, subdomain
from maitred.sandbox.apiserver.kinds.podspecs import check_pod_annotations
from maitred.sandbox.apiserver.kinds.podupdates import check_annotation_change
from maitred.sandbox.apiserver.schema.types import Body

OF_KUBERNETES = ("PodScheduled", "Ready", "Initialized")
KEPT = (
    "qosClass",
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
    "observedGeneration",
)
RESTART_ALL = "RestartAllContainers"


def keep_status(status: Body, before: Body) -> None:
    """What a writer of the status leaves out because it does not know of it stays."""
    for name in KEPT:
        if before.get(name) and not status.get(name):
            status[name] = before[name]
    generations = {each.get("type"): each.get("observedGeneration") for each in before.get("conditions", ())}
    for condition in status.get("conditions", ()):
        generation = generations.get(condition.get("type"))
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def check_pod_status(new: Body, old: Body) -> Iterator[FieldError]:
    status, before, spec = new.get("status", {}), old.get("status", {}), old["spec"]
    yield from check_annotation_change(new, old)
    annotations = new["metadata"].get("annotations", {})
    yield from check_pod_annotations(annotations, spec, "metadata.annotations")
    yield from _check_conditions(status.get("conditions", ()))
    yield from _check_nomination(status, before, is_bound=bool(spec.get("nodeName")))
    if status.get("observedGeneration", 0) < 0:
        why = "must be a non-negative integer"
        yield invalid("status.observedGeneration", status["observedGeneration"], why)
    yield from immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    yield from _check_transitions(status, before, spec)
    yield from _check_claims(status.get("resourceClaimStatuses", ()), spec.get("resourceClaims", ()))
    yield from _check_pod_addresses(status, before)
    yield from _check_host_addresses(status, before)


def _check_conditions(conditions: Sequence[Body]) -> Iterator[FieldError]:
    for index, condition in enumerate(conditions):
        path, kind = f"status.conditions[{index}]", condition.get("type", "")
        if condition.get("observedGeneration", 0) < 0:
            why = "must be a non-negative integer"
            yield invalid(f"{path}.observedGeneration", condition["observedGeneration"], why)
        if kind not in OF_KUBERNETES:
            yield from check_name(f"{path}.Type", kind, label_key)


def _check_nomination(status: Body, before: Body, *, is_bound: bool) -> Iterator[FieldError]:
    path, node = "status.nominatedNodeName", status.get("nominatedNodeName", "")
    if not node or node == before.get("nominatedNodeName"):
        return
    yield from check_name(path, node, subdomain)
    if is_bound:
        yield forbidden(path, "may not be set on pods that are already bound to a node")


def _check_transitions(status: Body, before: Body, spec: Body) -> Iterator[FieldError]:
    """A container that has ended runs again only if it is to be restarted."""
    for kind, containers in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ):
        defined = {each.get("name"): each for each in spec.get(containers, ())}
        if containers and _restarts_together(spec):
            continue
        now = {each.get("name"): each for each in status.get(kind, ())}
        for index, was in enumerate(before.get(kind, ())):
            ended = was.get("state", {}).get("terminated")
            name = was.get("name")
            if ended is None or name not in now or "terminated" in now[name].get("state", {}):
                continue
            container = defined.get(name)
            if container is None or not _restarts(container, spec, ended.get("exitCode", 0)):
                why = "may not be transitioned to non-terminated state"
                yield forbidden(f"status.{kind}[{index}].state", why)


def _restarts_together(spec: Body) -> bool:
    return any(
        rule.get("action") == RESTART_ALL
        for kind in ("initContainers", "containers")
        for container in spec.get(kind, ())
        for rule in container.get("restartPolicyRules", ())
    )


def _restarts(container: Body, spec: Body, code: int) -> bool:
    if any(_matches(rule.get("exitCodes", {}), code) for rule in container.get("restartPolicyRules", ())):
        return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _matches(codes: Body, code: int) -> bool:
    listed = code in codes.get("values", ())
    return listed if codes.get("operator") == "In" else not listed


def _check_claims(statuses: Sequence[Body], claims: Sequence[Body]) -> Iterator[FieldError]:
    known, seen = {claim.get("name") for claim in claims}, set[str]()
    for index, status in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{index}]", status.get("name", "")
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid(f"{path}.name", name, why)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        if "resourceClaimName" in status:
            yield from check_name(f"{path}.resourceClaimName", status["resourceClaimName"], subdomain)


def _check_pod_addresses(status: Body, before: Body) -> Iterator[FieldError]:
    yield from _check_addresses(status, before, "podIPs")


def _check_host_addresses(status: Body, before: Body) -> Iterator[FieldError]:
    addresses = _addresses(status, "hostIPs")
    if addresses and addresses[0] != status.get("hostIP", ""):
        yield invalid("status.hostIPs[0].ip", addresses[0], "must be equal to `hostIP`")
    yield from _check_addresses(status, before, "hostIPs")


def _check_addresses(status: Body, before: Body, name: str) -> Iterator[FieldError]:
    addresses, known = _addresses(status, name), _addresses(before, name)
    for index, value in enumerate(addresses):
        if value not in known:
            yield from check_name(f"status.{name}[{index}]", value, address)
    if len({family(value) for value in addresses}) != len(addresses):
        inner_values = [{"IP": value} for value in addresses]
        why = "may specify no more than one IP for each IP family"
        yield invalid(f"status.{name}", inner_values, why)


def _addresses(status: Body, name: str) -> list[str]:
    return [each.get("ip", "") for each in status.get(name, ())]
