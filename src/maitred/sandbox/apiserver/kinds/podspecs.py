"""The rules for what a pod is to be: one that is created, or a template for many."""

import re
from collections.abc import Iterator, Mapping, Sequence

from maitred.sandbox.apiserver.kinds.containers import Containers
from maitred.sandbox.apiserver.kinds.fielderrors import (
    Fault,
    FieldError,
    check_choice,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
)
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.labels import check_annotations, check_labels
from maitred.sandbox.apiserver.kinds.names import (
    address,
    check_name,
    check_range,
    label,
    label_key,
    subdomain,
    subdomain_with_underscores,
)
from maitred.sandbox.apiserver.kinds.placement import check_affinity, check_spread, check_tolerations
from maitred.sandbox.apiserver.kinds.podvolumes import check_volumes
from maitred.sandbox.apiserver.kinds.priorities import PREEMPTION_POLICIES
from maitred.sandbox.apiserver.kinds.resources import check_overhead, check_pod_resources
from maitred.sandbox.apiserver.kinds.security import check_pod_security
from maitred.sandbox.apiserver.kinds.systems import check_system
from maitred.sandbox.apiserver.schema.types import Body

LONGEST_DEADLINE = 2**31 - 1
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
MOST_NAMESERVERS = 3
MOST_SEARCHES = 32
LONGEST_SEARCHES = 2048
LONGEST_HOSTNAME = 64
CLAIM = {"name": "", "resourceClaimName": None, "resourceClaimTemplateName": None}
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def check_pod_template(template: Body, path: str) -> list[FieldError]:
    return list(_check_template(template, path))


def check_pod_spec(spec: Body, path: str, pod: Body) -> list[FieldError]:
    """`pod` is the metadata of the pod whose spec it is."""
    return list(_check_spec(spec, path, pod))


def check_pod_annotations(annotations: Mapping[str, str], spec: Body, path: str) -> Iterator[FieldError]:
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR}]", annotations[MIRROR], why)
    cost = annotations.get(DELETION_COST, "0")
    if not re.fullmatch("0|-?[1-9][0-9]{0,9}", cost) or not -(2**31) <= int(cost) < 2**31:
        yield invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer")


def all_containers(spec: Body, path: str) -> Iterator[tuple[str, Body]]:
    """With their paths, in the order in which the server visits them."""
    for kind in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(kind, ())):
            yield f"{path}.{kind}[{index}]", container


def _check_template(template: Body, path: str) -> Iterator[FieldError]:
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    yield from check_labels(metadata.get("labels", {}), f"{path}.labels")
    yield from check_annotations(metadata.get("annotations", {}), f"{path}.annotations")
    yield from check_pod_annotations(metadata.get("annotations", {}), spec, f"{path}.annotations")
    yield from _check_spec(spec, f"{path}.spec", None)
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        yield forbidden(f"{path}.spec.ephemeralContainers", why)


def _check_spec(spec: Body, path: str, pod: Body | None) -> Iterator[FieldError]:
    errors, volumes = check_volumes(spec.get("volumes", ()), (pod or {}).get("name", ""), f"{path}.volumes")
    yield from errors
    claims = spec.get("resourceClaims", [])
    yield from _check_claims(claims, pod or {}, f"{path}.resourceClaims")
    yield from _check_containers(
        spec, volumes, [claim["name"] for claim in claims if claim.get("name")], path
    )
    yield from check_pod_resources(spec, f"{path}.resources")
    yield from _check_host_network(spec, f"{path}.containers", is_pod=pod is not None)
    yield from check_choice(f"{path}.restartPolicy", spec.get("restartPolicy", ""), RESTART_POLICIES)
    yield from check_choice(f"{path}.dnsPolicy", spec.get("dnsPolicy", ""), DNS_POLICIES)
    yield from check_labels(spec.get("nodeSelector", {}), f"{path}.nodeSelector")
    yield from check_pod_security(spec, f"{path}.securityContext")
    yield from _check_shared_processes(spec, path)
    yield from check_affinity(spec.get("affinity", {}), f"{path}.affinity")
    yield from _check_dns(spec, f"{path}.dnsConfig")
    yield from _check_gates(spec, path)
    yield from check_spread(spec.get("topologySpreadConstraints", ()), f"{path}.topologySpreadConstraints")
    yield from _check_own_users(spec, path)
    yield from _check_hostname(spec, path)
    yield from _check_identity(spec, path)
    yield from _check_scheduling(spec, path)
    yield from _check_files(spec, path)


def _check_containers(
    spec: Body, volumes: Mapping[str, Body], claims: Sequence[str], path: str
) -> Iterator[FieldError]:
    checked = Containers(
        volumes=volumes,
        claims=claims,
        grace=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers", True),
    )
    main, init = spec.get("containers", []), spec.get("initContainers", [])
    yield from checked.check_main(main, f"{path}.containers")
    yield from checked.check_init(init, main, f"{path}.initContainers")
    ephemeral = spec.get("ephemeralContainers", [])
    yield from checked.check_ephemeral(ephemeral, [*main, *init], f"{path}.ephemeralContainers")


def _check_claims(claims: Sequence[Body], pod: Body, path: str) -> Iterator[FieldError]:
    names = set[str]()
    for index, claim in enumerate(claims):
        if MIRROR in pod.get("annotations", {}):
            yield forbidden("", "static pods do not support resource claims")
            continue
        here, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            yield required(f"{here}.name")
        elif name in names:
            yield duplicate(f"{here}.name", name)
        else:
            yield from check_name(f"{here}.name", name, label)
        names.add(name)
        yield from _check_claim_source(claim, here)


def _check_claim_source(claim: Body, path: str) -> Iterator[FieldError]:
    given = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if key in claim]
    value = inner(claim, CLAIM)
    if len(given) > 1:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield invalid(path, value, why)
    elif not given:
        yield invalid(path, value, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
    for key in given:
        yield from check_name(f"{path}.{key}", claim[key], subdomain)


def _check_host_network(spec: Body, path: str, *, is_pod: bool) -> Iterator[FieldError]:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers", ())):
        for number, port in enumerate(container.get("ports", ())):
            host = port.get("hostPort", 0)
            if (is_pod or host) and host != port.get("containerPort", 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}[{index}].ports[{number}].hostPort", host, why)


def _check_shared_processes(spec: Body, path: str) -> Iterator[FieldError]:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, why)


def _check_dns(spec: Body, path: str) -> Iterator[FieldError]:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers", [])
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", why)
            return
    if len(servers) > MOST_NAMESERVERS:
        why = f"must not have more than {MOST_NAMESERVERS} nameservers"
        yield invalid(f"{path}.nameservers", servers, why)
    for index, server in enumerate(servers):
        yield from check_name(f"{path}.nameservers[{index}]", server, address)
    yield from _check_searches((config or {}).get("searches", []), f"{path}.searches")
    for index, option in enumerate((config or {}).get("options", ())):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def _check_searches(searches: list[str], path: str) -> Iterator[FieldError]:
    if len(searches) > MOST_SEARCHES:
        yield invalid(path, searches, f"must not have more than {MOST_SEARCHES} search paths")
    if len(" ".join(searches)) > LONGEST_SEARCHES:
        why = f"must not have more than {LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield invalid(path, searches, why)
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            yield from check_name(f"{path}[{index}]", name, subdomain_with_underscores)


def _check_gates(spec: Body, path: str) -> Iterator[FieldError]:
    for index, gate in enumerate(spec.get("readinessGates", ())):
        here = f"{path}.readinessGates[{index}].conditionType"
        yield from check_name(here, gate.get("conditionType", ""), label_key)
    seen = set[str]()
    for index, gate in enumerate(spec.get("schedulingGates", ())):
        here, name = f"{path}.schedulingGates[{index}]", gate.get("name", "")
        yield from check_name(here, name, label_key)
        if name in seen:
            yield duplicate(here, name)
        seen.add(name)


def _check_own_users(spec: Body, path: str) -> Iterator[FieldError]:
    """A pod whose users are not those of its node shares little else with it."""
    if spec.get("hostUsers", True):
        return
    for field, name in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            yield forbidden(f"{path}.{name}", "when `hostUsers` is false")
    for here, container in all_containers(spec, path):
        if container.get("volumeDevices"):
            yield forbidden(f"{here}.volumeDevices", "when `hostUsers` is false")


def _check_hostname(spec: Body, path: str) -> Iterator[FieldError]:
    if "hostnameOverride" not in spec:
        return
    here = f"{path}.hostnameOverride"
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(other):
            yield forbidden(here, f"may not be specified when {other} is true")
    if len(spec["hostnameOverride"]) > LONGEST_HOSTNAME:
        yield too_long(here, LONGEST_HOSTNAME)
    yield from check_name(here, spec["hostnameOverride"], subdomain)


def _check_identity(spec: Body, path: str) -> Iterator[FieldError]:
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            yield from check_name(f"{path}.{name}", spec[name], subdomain)
    if "activeDeadlineSeconds" in spec:
        here = f"{path}.activeDeadlineSeconds"
        yield from check_range(here, spec["activeDeadlineSeconds"], 1, LONGEST_DEADLINE)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from check_name(f"{path}.{name}", spec[name], label)


def _check_scheduling(spec: Body, path: str) -> Iterator[FieldError]:
    yield from check_tolerations(spec.get("tolerations", ()), f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases", ())):
        here = f"{path}.hostAliases[{index}]"
        yield from check_name(f"{here}.ip", alias.get("ip", ""), address)
        for number, name in enumerate(alias.get("hostnames", ())):
            yield from check_name(f"{here}.hostnames[{number}]", name, subdomain)
    if spec.get("priorityClassName"):
        yield from check_name(f"{path}.priorityClassName", spec["priorityClassName"], subdomain)
    if "runtimeClassName" in spec:
        yield from check_name(f"{path}.runtimeClassName", spec["runtimeClassName"], subdomain)
    if "preemptionPolicy" in spec:
        yield from check_choice(f"{path}.preemptionPolicy", spec["preemptionPolicy"], PREEMPTION_POLICIES)
    yield from check_overhead(spec.get("overhead", {}), f"{path}.overhead")
    if "os" in spec:
        yield from check_system(spec, path, all_containers(spec, path))
    if "schedulingGroup" in spec:
        yield from _check_group(spec["schedulingGroup"], f"{path}.schedulingGroup.podGroupName")


def _check_group(group: Body, path: str) -> Iterator[FieldError]:
    if "podGroupName" not in group:
        yield invalid(path, None, "must specify one of: `podGroupName`")
    else:
        yield from check_name(path, group["podGroupName"], subdomain)


def _check_files(spec: Body, path: str) -> Iterator[FieldError]:
    """Variables that are read from a file: it is in an empty directory of the pod."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes", ())}
    for here, container in all_containers(spec, path):
        for index, entry in enumerate(container.get("env", ())):
            reference = entry.get("valueFrom", {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName", "")
            field = f"{here}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                yield FieldError(Fault.NOT_FOUND, field, name)
            elif "emptyDir" not in volumes[name]:
                yield invalid(field, name, "referenced volume must be of type emptyDir")
