"""What pods, and templates of pods, get where they say nothing, and the rules that the types do not state."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, FieldFault, duplicate, invalid
from maitred.sandbox.apiserver.kinds.resources import check_pod_resources, check_requirements
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body

SOURCES = tuple(name for name, field in struct("core.v1.Volume").fields.items() if field.either)


def all_containers(spec: Body) -> Iterator[tuple[str, Body]]:
    """With their paths, in the order in which the server visits them."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind, ())):
            yield f"{kind}[{index}]", container


# -- defaults ----------------------------------------------------------------------------------------------


def set_pod_template_defaults(template: Body) -> None:
    """Less than pods get: the rest is added to the pods that are made of it."""
    set_spec_defaults(template.setdefault("spec", {}))


def set_pod_defaults(spec: Body) -> None:
    set_spec_defaults(spec)
    for _, container in all_containers(spec):
        resources = container.get("resources", {})
        if "limits" in resources:
            # A container that is limited and asks for nothing asks for what it is limited to.
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
        for port in container.get("ports", ()) if spec.get("hostNetwork") else ():
            if "containerPort" in port:
                port.setdefault("hostPort", port["containerPort"])
    spec.setdefault("enableServiceLinks", True)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def set_spec_defaults(spec: Body) -> None:
    # Where there are none, the schema has null; the rules will say so.
    spec["containers"] = spec.get("containers") or []
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes", ()):
        if not any(source in volume for source in SOURCES):
            volume["emptyDir"] = {}
    for _, container in all_containers(spec):
        container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))


def _pull_policy(image: str) -> str:
    """The latest image is another every time; one without tag and digest is the latest."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if image and "@" not in image and tag in ("", "latest") else "IfNotPresent"


# -- rules -------------------------------------------------------------------------------------------------


def check_pod_spec(spec: Body, path: str) -> Iterator[FieldError]:
    claims = [claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name")]
    volumes = {volume.get("name") for volume in spec.get("volumes", ())}
    for where, container in all_containers(spec):
        here = f"{path}.{where}"
        yield from check_requirements(container.get("resources", {}), claims, f"{here}.resources")
        for index, mount in enumerate(container.get("volumeMounts", ())):
            if mount.get("name") and mount["name"] not in volumes:
                yield FieldError(FieldFault.NOT_FOUND, f"{here}.volumeMounts[{index}].name", mount["name"])
    yield from check_pod_resources(spec, f"{path}.resources")
    yield from _check_names(spec, path)
    yield from _check_host_ports(spec, f"{path}.containers")


def _check_names(spec: Body, path: str) -> Iterator[FieldError]:
    """Containers of all kinds have different names; each kind's own are told by its type."""
    main = {container.get("name") for container in spec.get("containers", ())}
    for index, container in enumerate(spec.get("initContainers", ())):
        if container.get("name") in main:
            yield duplicate(f"{path}.initContainers[{index}].name", container["name"])


def _check_host_ports(spec: Body, path: str) -> Iterator[FieldError]:
    taken = set[tuple[str, str, int]]()
    for index, container in enumerate(spec.get("containers", ())):
        for number, port in enumerate(container.get("ports", ())):
            here, host = f"{path}[{index}].ports[{number}].hostPort", port.get("hostPort", 0)
            if spec.get("hostNetwork") and host and host != port.get("containerPort", 0):
                yield invalid(here, host, "must match `containerPort` when `hostNetwork` is true")
            key = (port.get("protocol", ""), port.get("hostIP", ""), host)
            if host and key in taken:
                yield duplicate(here, "/".join(map(str, key)))
            taken.add(key)
