"""Services: their addresses, and the rules for them."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

ADDRESSES = IPv4Network("10.0.0.0/16")
"""Of services."""
AFFINITY_SECONDS = 10800


class Services(Strategy):
    def set_defaults(self, body: Body) -> None:
        spec = body.setdefault("spec", {})
        for port in spec.get("ports", ()):
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if spec.get("sessionAffinity") == "ClientIP":
            config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            config.setdefault("timeoutSeconds", AFFINITY_SECONDS)
        if spec.get("type") != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec.get("type") == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def before_create(self, body: Body) -> None:
        """The address follows from the identity: nothing in a sandbox listens to it."""
        body["status"] = {"loadBalancer": {}}
        spec = body["spec"]
        if spec.get("type") == "ExternalName":
            return
        if not spec.get("clusterIP"):
            number = hash_of(body["metadata"].get("uid", "")) % (ADDRESSES.num_addresses - 2) + 1
            spec["clusterIP"] = str(ADDRESSES[number])
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        # Without address and selector, it is for others to say where it is, in both families.
        anywhere = spec["clusterIP"] == "None" and "selector" not in spec
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if anywhere else ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if anywhere else "SingleStack")

    def before_update(self, new: Body, old: Body) -> None:
        if new["spec"].get("type") == old["spec"].get("type"):
            for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if name in old["spec"]:
                    new["spec"].setdefault(name, old["spec"][name])

    def check(self, body: Body) -> list[FieldError]:
        return list(_check_service(body["spec"]))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        addresses, before = new["spec"].get("clusterIPs", []), old["spec"].get("clusterIPs", [])
        errors = list[FieldError]()
        if (
            before
            and addresses
            and addresses[0] != before[0]
            and "ExternalName" not in (_type(new), _type(old))
        ):
            errors.append(invalid("spec.clusterIPs[0]", addresses, "may not change once set"))
        return [*errors, *self.check(new)]


SERVICES = Services()


def hash_of(identity: str) -> int:
    return int.from_bytes(identity.encode()[-8:], "big")


def _type(body: Body) -> str:
    return str(body["spec"].get("type", ""))


def _check_service(spec: Body) -> Iterator[FieldError]:
    ports, kind = spec.get("ports", ()), spec.get("type", "")
    headless = spec.get("clusterIPs", [""])[0] == "None"
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if headless and kind in ("LoadBalancer", "NodePort"):
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    for index, port in enumerate(ports if len(ports) > 1 else ()):
        if not port.get("name"):
            yield required(f"spec.ports[{index}].name")
