"""What may be said of how a pod is."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden
from maitred.sandbox.apiserver.kinds.metadata import immutable
from maitred.sandbox.apiserver.kinds.names import check_name, subdomain
from maitred.sandbox.apiserver.schema.types import Body

KEPT = (
    "qosClass",
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
    "observedGeneration",
)


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
    path, node = "status.nominatedNodeName", status.get("nominatedNodeName", "")
    if node and node != before.get("nominatedNodeName"):
        yield from check_name(path, node, subdomain)
        if spec.get("nodeName"):
            yield forbidden(path, "may not be set on pods that are already bound to a node")
    yield from immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    yield from _check_restarts(status, before, spec)


def _check_restarts(status: Body, before: Body, spec: Body) -> Iterator[FieldError]:
    """A container that has ended runs again only if it is to be restarted."""
    for kind, list_of in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        containers = {each.get("name"): each for each in spec.get(list_of, ())}
        now = {each.get("name"): each.get("state", {}) for each in status.get(kind, ())}
        for index, was in enumerate(before.get(kind, ())):
            ended, name = was.get("state", {}).get("terminated"), was.get("name")
            if ended is None or "terminated" in now.get(name, {"terminated": ended}):
                continue
            container = containers.get(name, {})
            policy = container.get("restartPolicy") or spec.get("restartPolicy")
            once = policy == "Never" or (policy == "OnFailure" and not ended.get("exitCode", 0))
            if once and not container.get("restartPolicyRules"):
                yield forbidden(
                    f"status.{kind}[{index}].state", "may not be transitioned to non-terminated state"
                )
