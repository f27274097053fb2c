"""The rules for pods, and for templates of pods, that the types do not state."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, FieldFault, duplicate, forbidden, invalid
from maitred.sandbox.apiserver.kinds.labels import check_annotations, check_labels
from maitred.sandbox.apiserver.kinds.resources import check_overhead, check_pod_resources, check_requirements
from maitred.sandbox.apiserver.schema.types import Body

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def all_containers(spec: Body, path: str) -> Iterator[tuple[str, Body]]:
    """With their paths, in the order in which the server visits them."""
    for kind in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(kind, ())):
            yield f"{path}.{kind}[{index}]", container


def check_pod_template(template: Body, path: str) -> Iterator[FieldError]:
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    yield from check_labels(metadata.get("labels", {}), f"{path}.labels")
    yield from check_annotations(metadata.get("annotations", {}), f"{path}.annotations")
    yield from check_pod_spec(spec, f"{path}.spec", is_pod=False)
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        yield forbidden(f"{path}.spec.ephemeralContainers", why)


def check_pod_spec(spec: Body, path: str, *, is_pod: bool) -> Iterator[FieldError]:
    claims = [claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name")]
    volumes = {volume.get("name") for volume in spec.get("volumes", ())}
    for here, container in all_containers(spec, path):
        yield from check_requirements(container.get("resources", {}), claims, f"{here}.resources")
        for kind in ("volumeMounts", "volumeDevices"):
            for index, mount in enumerate(container.get(kind, ())):
                if mount.get("name") and mount["name"] not in volumes:
                    yield FieldError(FieldFault.NOT_FOUND, f"{here}.{kind}[{index}].name", mount["name"])
    yield from _check_names(spec, path)
    yield from check_pod_resources(spec, f"{path}.resources")
    yield from check_overhead(spec.get("overhead", {}), f"{path}.overhead")
    yield from _check_host_ports(spec, f"{path}.containers", is_pod=is_pod)
    if spec.get("dnsPolicy") == "None" and not spec.get("dnsConfig", {}).get("nameservers"):
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield FieldError(FieldFault.REQUIRED, f"{path}.dnsConfig.nameservers", detail=why)


def _check_names(spec: Body, path: str) -> Iterator[FieldError]:
    """Containers of all kinds have different names; each kind's own are told by its type."""
    main = {container.get("name") for container in spec.get("containers", ())}
    others = main | {container.get("name") for container in spec.get("initContainers", ())}
    for kind, taken in (("initContainers", main), ("ephemeralContainers", others)):
        for index, container in enumerate(spec.get(kind, ())):
            if container.get("name") in taken:
                yield duplicate(f"{path}.{kind}[{index}].name", container["name"])


def _check_host_ports(spec: Body, path: str, *, is_pod: bool) -> Iterator[FieldError]:
    taken = set[tuple[str, str, int]]()
    for index, container in enumerate(spec.get("containers", ())):
        for number, port in enumerate(container.get("ports", ())):
            here, host = f"{path}[{index}].ports[{number}].hostPort", port.get("hostPort", 0)
            if spec.get("hostNetwork") and (is_pod or host) and host != port.get("containerPort", 0):
                yield invalid(here, host, "must match `containerPort` when `hostNetwork` is true")
            key = (port.get("protocol", ""), port.get("hostIP", ""), host)
            if host and key in taken:
                yield duplicate(here, "/".join(map(str, key)))
            taken.add(key)
