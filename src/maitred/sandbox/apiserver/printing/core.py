"""Nodes, namespaces, events, configuration and services in tables."""

from datetime import datetime

from maitred.sandbox.apiserver.printing.printer import Cells, printer
from maitred.sandbox.apiserver.printing.text import (
    NONE,
    UNKNOWN,
    conditions,
    labels,
    since,
    spec_of,
    status_of,
)
from maitred.sandbox.apiserver.schema.types import Body

MOST_SHOWN = 3
ROLE, ROLE_PREFIX = "kubernetes.io/role", "node-role.kubernetes.io/"


def node_cells(node: Body, now: datetime) -> Cells:
    status = status_of(node)
    info = status.get("nodeInfo", {})
    kernel, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return [
        _node_status(node),
        _node_roles(node),
        info.get("kubeletVersion", ""),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: Body) -> str:
    ready = conditions(node).get("Ready")
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if spec_of(node).get("unschedulable") else word


def _node_roles(node: Body) -> str:
    roles = set[str]()
    for key, value in node["metadata"].get("labels", {}).items():
        if key.startswith(ROLE_PREFIX):
            roles.add(key.removeprefix(ROLE_PREFIX))
        elif key == ROLE:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(status: Body, kind: str) -> str:
    return next((a["address"] for a in status.get("addresses", ()) if a["type"] == kind), NONE)


NODE = printer(
    "Name | Status | Roles | Age | Version | +Internal-IP | +External-IP | +OS-Image | "
    "+Kernel-Version | +Container-Runtime",
    node_cells,
)


NAMESPACE = printer("Name | Status | Age", lambda body, now: [status_of(body).get("phase", "")])


def event_cells(event: Body, now: datetime) -> Cells:
    """Of an event under either of its two APIs, which name the same fields differently."""
    involved = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    series = event.get("series")
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp") or first
    count = event.get("count") or event.get("deprecatedCount") or 1
    if series is not None:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    kind, name = involved.get("kind", "").lower(), involved.get("name")
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController")
    instance = source.get("host") or event.get("reportingInstance")
    return [
        since(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        f"{component or ''}, {instance}" if instance else component or "",
        (event.get("message") or event.get("note") or "").strip(),
        since(first, now),
        count,
    ]


EVENT = printer(
    "Last Seen | Type | Reason | Object | +Subobject | +Source | Message | +First Seen | +Count | +Name",
    event_cells,
)


def config_map_cells(config: Body, now: datetime) -> Cells:
    size = len(config.get("data", ())) + len(config.get("binaryData", ()))
    return [size]


CONFIG_MAP = printer("Name | Data | Age", config_map_cells)


def secret_cells(secret: Body, now: datetime) -> Cells:
    return [secret.get("type", ""), len(secret.get("data", ()))]


SECRET = printer("Name | Type | Data | Age", secret_cells)


NAME_AND_AGE = printer("Name | Age", lambda body, now: [])


def service_cells(service: Body, now: datetime) -> Cells:
    spec = spec_of(service)
    addresses = spec.get("clusterIPs")
    return [
        spec.get("type", ""),
        addresses[0] if addresses else NONE,
        _external_address(service),
        ",".join(_port(port) for port in spec.get("ports", ())) or NONE,
        labels(spec.get("selector")),
    ]


def _external_address(service: Body) -> str:
    spec = spec_of(service)
    kind, addresses = spec.get("type"), spec.get("externalIPs", [])
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        balancers = status_of(service).get("loadBalancer", {}).get("ingress", ())
        found = sorted({b.get("ip") or b.get("hostname") or "" for b in balancers} - {""})
        return ",".join([*found, *addresses]) or "<pending>"
    return ",".join(addresses) or NONE


def _port(port: Body) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', '')}"


SERVICE = printer("Name | Type | Cluster-IP | External-IP | Port(s) | Age | +Selector", service_cells)


def slice_cells(body: Body, now: datetime) -> Cells:
    ports = [str(port.get("port") or port.get("name", "")) for port in body.get("ports") or ()]
    addresses = [found for endpoint in body.get("endpoints") or () for found in endpoint["addresses"]]
    return [
        body.get("addressType", ""),
        _first_few(ports),
        _first_few(addresses),
    ]


def _first_few(texts: list[str]) -> str:
    more = f" + {len(texts) - MOST_SHOWN} more..." if len(texts) > MOST_SHOWN else ""
    return ",".join(texts[:MOST_SHOWN]) + more or "<unset>"


ENDPOINT_SLICE = printer("Name | AddressType | Ports | Endpoints | Age", slice_cells)


LEASE = printer("Name | Holder | Age", lambda lease, now: [spec_of(lease).get("holderIdentity", "")])


CREATED_AT = printer(
    "Name | Created At:date",
    lambda body, now: [body["metadata"].get("creationTimestamp")],
    null_if_empty=True,
)
"""For kinds that have no table of their own."""


def definition_cells(definition: Body, now: datetime) -> Cells:
    spec = spec_of(definition)
    names = spec.get("names", {})
    versions = (version for version in spec.get("versions", ()) if version.get("served"))
    return [
        spec.get("scope", ""),
        ",".join(sorted(f"{v['name']}(storage)" if v.get("storage") else v["name"] for v in versions)),
        definition["metadata"].get("creationTimestamp"),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames", ())),
        conditions(definition).get("Established") == "True",
    ]


DEFINITION = printer(
    "Name | Scope | Versions | Created At:date | +Group | +Kind | +ShortNames | +Established:boolean",
    definition_cells,
    null_if_empty=True,
)


def binding_cells(binding: Body, now: datetime) -> Cells:
    role, subjects = binding.get("roleRef", {}), binding.get("subjects", ())
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in subjects:
        name = subject["name"]
        if subject["kind"] == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(subject["kind"], []).append(name)
    return [
        f"{role.get('kind', '')}/{role.get('name', '')}",
        *(", ".join(by_kind[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


ROLE_BINDING = printer("Name | Role | Age | +Users | +Groups | +ServiceAccounts", binding_cells)
