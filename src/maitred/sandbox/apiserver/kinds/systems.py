"""What a pod cannot have because of the operating system that it says it is for."""

from collections.abc import Iterable, Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, required, unsupported
from maitred.sandbox.apiserver.schema.types import Body

SYSTEMS = ("linux", "windows")
NOT_WINDOWS = "cannot be set for a windows pod"
NOT_LINUX = "windows options cannot be set for a linux pod"
SECURITY_OF_LINUX_PODS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
OF_LINUX_PODS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
FLAGS = ("hostPID", "hostIPC")
"""Which to set to false is not to set."""
SECURITY_OF_LINUX_CONTAINERS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def check_system(spec: Body, path: str, containers: Iterable[tuple[str, Body]]) -> Iterator[FieldError]:
    """`containers`: all of them, with their paths."""
    name = spec["os"].get("name", "")
    if not name:
        yield required(f"{path}.os.name")
    elif name not in SYSTEMS:
        yield unsupported(f"{path}.os", name, SYSTEMS)
    elif name == "windows":
        yield from _check_windows(spec, path, containers)
    else:
        for here, body in ((path, spec), *containers):
            if "windowsOptions" in body.get("securityContext", {}):
                yield forbidden(f"{here}.securityContext.windowsOptions", NOT_LINUX)


def _check_windows(spec: Body, path: str, containers: Iterable[tuple[str, Body]]) -> Iterator[FieldError]:
    yield from _refuse(spec.get("securityContext", {}), SECURITY_OF_LINUX_PODS, f"{path}.securityContext")
    said = {name: value for name, value in spec.items() if value or name not in FLAGS}
    yield from _refuse(said, OF_LINUX_PODS, path)
    for here, container in containers:
        security = container.get("securityContext", {})
        yield from _refuse(security, SECURITY_OF_LINUX_CONTAINERS, f"{here}.securityContext")


def _refuse(body: Body, names: Iterable[str], path: str) -> Iterator[FieldError]:
    for name in names:
        if name in body:
            yield forbidden(f"{path}.{name}", NOT_WINDOWS)
