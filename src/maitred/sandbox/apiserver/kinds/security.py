"""The rules for security contexts, as far as they concern containers for Linux."""

import re
from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.names import LONGEST_SUBDOMAIN, check_id
from maitred.sandbox.apiserver.kinds.paths import check_relative
from maitred.sandbox.apiserver.schema.types import Body

PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
PROC_MOUNTS = ("Default", "Unmasked")
GROUP_CHANGES = ("Always", "OnRootMismatch")
SUPPLEMENTAL_GROUPS = ("Merge", "Strict")
LABEL_CHANGES = ("MountOption", "Recursive")
LONGEST_PROFILE = 4095
NO_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and"
CONTEXT = dict.fromkeys(
    (
        "capabilities",
        "privileged",
        "seLinuxOptions",
        "windowsOptions",
        "runAsUser",
        "runAsGroup",
        "runAsNonRoot",
        "readOnlyRootFilesystem",
        "allowPrivilegeEscalation",
        "procMount",
        "seccompProfile",
        "appArmorProfile",
    )
)
"""In the order of the server."""

_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
SYSCTL = rf"({_SEGMENT}[\./])*{_SEGMENT}"
OF_NETWORK = ("net.",)
OF_IPC = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def check_container_security(context: Body, path: str, *, host_users: bool) -> Iterator[FieldError]:
    if context.get("privileged"):
        # The flag that allows it is not set.
        yield forbidden(f"{path}.privileged", "disallowed by cluster policy")
    yield from check_id(f"{path}.runAsUser", context.get("runAsUser"))
    yield from check_id(f"{path}.runAsGroup", context.get("runAsGroup"))
    yield from _check_proc_mount(context.get("procMount", "Default"), host_users, f"{path}.procMount")
    yield from _check_seccomp(context, f"{path}.seccompProfile")
    yield from _check_escalation(context, path)
    yield from _check_app_armor(context, f"{path}.appArmorProfile")


def check_pod_security(spec: Body, path: str) -> Iterator[FieldError]:
    context = spec.get("securityContext", {})
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from check_id(f"{path}.{name}", context.get(name))
    for index, group in enumerate(context.get("supplementalGroups", ())):
        yield from check_id(f"{path}.supplementalGroups[{index}]", group)
    yield from _check_sysctls(spec, f"{path}.sysctls")
    yield from _check_choice(context, "fsGroupChangePolicy", GROUP_CHANGES, path)
    yield from _check_seccomp(context, f"{path}.seccompProfile")
    yield from _check_app_armor(context, f"{path}.appArmorProfile")
    yield from _check_choice(context, "supplementalGroupsPolicy", SUPPLEMENTAL_GROUPS, path)
    yield from _check_choice(context, "seLinuxChangePolicy", LABEL_CHANGES, path)


def _check_escalation(context: Body, path: str) -> Iterator[FieldError]:
    """Who has all rights already cannot be kept from getting more."""
    if context.get("allowPrivilegeEscalation", True):
        return
    capabilities = inner(context.get("capabilities"), {"add": None, "drop": None})
    shown = inner({**context, "capabilities": capabilities}, CONTEXT)
    if context.get("privileged"):
        yield invalid(path, shown, f"{NO_ESCALATION} `privileged` to true")
    for capability in context.get("capabilities", {}).get("add", ()):
        if capability == "CAP_SYS_ADMIN":
            yield invalid(path, shown, f"{NO_ESCALATION} `capabilities.Add` CAP_SYS_ADMIN")


def _check_choice(context: Body, name: str, known: tuple[str, ...], path: str) -> Iterator[FieldError]:
    if name in context and context[name] not in known:
        yield unsupported(f"{path}.{name}", context[name], known)


def _check_proc_mount(kind: str, host_users: bool, path: str) -> Iterator[FieldError]:
    if kind not in PROC_MOUNTS:
        yield unsupported(path, kind, PROC_MOUNTS)
    if host_users and kind == "Unmasked":
        yield invalid(path, kind, "`hostUsers` must be false to use `Unmasked`")


def _check_seccomp(context: Body, path: str) -> Iterator[FieldError]:
    if "seccompProfile" not in context:
        return
    profile = context["seccompProfile"]
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in PROFILES:
        yield unsupported(f"{path}.type", kind, PROFILES)
    if kind == "Localhost":
        if local is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from check_relative(local, f"{path}.localhostProfile")
    elif local is not None:
        value = inner(profile, {"type": "", "localhostProfile": None})
        yield invalid(f"{path}.localhostProfile", value, "can only be set when seccomp type is Localhost")


def _check_app_armor(context: Body, path: str) -> Iterator[FieldError]:
    if "appArmorProfile" not in context:
        return
    profile = context["appArmorProfile"]
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if kind == "Localhost":
        yield from _check_local_profile(local, f"{path}.localhostProfile")
    elif not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in PROFILES:
        yield unsupported(f"{path}.type", kind, PROFILES)
    elif local is not None:
        why = "can only be set when AppArmor type is Localhost"
        yield invalid(f"{path}.localhostProfile", local, why)


def _check_local_profile(profile: str | None, path: str) -> Iterator[FieldError]:
    if not profile:
        yield required(path, "must be set when AppArmor type is Localhost")
        return
    if profile != profile.strip():
        yield invalid(path, profile, "must not be padded with whitespace")
    if len(profile) > LONGEST_PROFILE:
        yield too_long(path, LONGEST_PROFILE)


def _check_sysctls(spec: Body, path: str) -> Iterator[FieldError]:
    names = set[str]()
    for index, sysctl in enumerate(spec.get("securityContext", {}).get("sysctls", ())):
        here, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            yield required(here)
        elif len(name) > LONGEST_SUBDOMAIN or not re.fullmatch(SYSCTL, name):
            why = f"must have at most {LONGEST_SUBDOMAIN} characters and match regex ^{SYSCTL}$"
            yield invalid(here, name, why)
        elif name in names:
            yield duplicate(here, name)
        names.add(name)
        if spec.get("hostNetwork") and name.replace("/", ".").startswith(OF_NETWORK):
            yield invalid(here, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and name.replace("/", ".").startswith(OF_IPC):
            yield invalid(here, name, "may not be specified when 'hostIPC' is true")
