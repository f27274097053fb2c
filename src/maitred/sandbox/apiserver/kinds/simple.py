"""Kinds of which there is little to say beyond their types. Of them, scheduling reads nodes and budgets."""

import base64
import re
from collections.abc import Iterator
from ipaddress import IPv4Network

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required
from maitred.sandbox.apiserver.kinds.placement import check_taints
from maitred.sandbox.apiserver.kinds.resources import check_quantity
from maitred.sandbox.apiserver.kinds.rules import check_conditions
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

OWN_NAME = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
"""Of a namespace: gone when all that was in it is."""
ADDRESSES = IPv4Network("10.0.0.0/16")
"""Of services."""
RBAC = "rbac.authorization.k8s.io"


class Sealable(Strategy):
    """ConfigMaps and Secrets, which can be sealed."""

    def set_defaults(self, body: Body) -> None:
        """The plain text of a Secret is for writers only: it is stored, and read, as data."""
        for key, text in body.pop("stringData", {}).items():
            body.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        sealed = ("immutable", "data", "binaryData") if old.get("immutable") else ()
        why = "field is immutable when `immutable` is set"
        return [forbidden(name, why) for name in sealed if new.get(name) != old.get(name)]


class Nodes(Strategy):
    def set_defaults(self, body: Body) -> None:
        status = body.get("status", {})
        if "capacity" in status:
            status.setdefault("allocatable", dict(status["capacity"]))

    def check(self, body: Body) -> list[FieldError]:
        return [*check_taints(body.get("spec", {}).get("taints", ()), "spec.taints"), *_check_amounts(body)]

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return list(_check_amounts(new))


def _check_amounts(body: Body) -> Iterator[FieldError]:
    for which in ("capacity", "allocatable"):
        for name, quantity in body.get("status", {}).get(which, {}).items():
            yield from check_quantity(name, quantity, f"status.{which}.{name}")


class Namespaces(Strategy):
    def set_defaults(self, body: Body) -> None:
        if body["metadata"].get("name"):
            body["metadata"].setdefault("labels", {})[OWN_NAME] = body["metadata"]["name"]

    def before_create(self, body: Body) -> None:
        self.set_defaults(body)  # for a name that was generated
        finalizers = body.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        body["status"] = {"phase": "Active"}

    def before_update(self, new: Body, old: Body) -> None:
        new["spec"] = dict(old.get("spec", {}))


class Services(Strategy):
    def set_defaults(self, body: Body) -> None:
        spec = body.setdefault("spec", {})
        for port in spec.get("ports", ()):
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        spec.setdefault("internalTrafficPolicy", "Cluster")

    def before_create(self, body: Body) -> None:
        """The address follows from the identity: nothing in a sandbox listens to it."""
        body["status"] = {"loadBalancer": {}}
        spec, identity = body["spec"], body["metadata"].get("uid", "").encode()[-8:]
        if not spec.get("clusterIP"):
            number = int.from_bytes(identity, "big") % (ADDRESSES.num_addresses - 2) + 1
            spec["clusterIP"] = str(ADDRESSES[number])
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")

    def before_update(self, new: Body, old: Body) -> None:
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            new["spec"].setdefault(name, old["spec"][name])

    def check(self, body: Body) -> list[FieldError]:
        ports = body["spec"].get("ports", ())
        if not ports and body["spec"].get("clusterIP") != "None":
            return [required("spec.ports")]
        nameless = [index for index, port in enumerate(ports) if len(ports) > 1 and not port.get("name")]
        return [required(f"spec.ports[{index}].name") for index in nameless]


class RoleBindings(Strategy):
    def set_defaults(self, body: Body) -> None:
        """The server knows users and groups by name only; they belong to the API group of the roles."""
        for subject in body.get("subjects", []):
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", RBAC)


class DisruptionBudgets(Strategy):
    def before_create(self, body: Body) -> None:
        counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        body["status"] = dict.fromkeys(counts, 0)

    def check(self, body: Body) -> list[FieldError]:
        spec = body.get("spec", {})
        bounds = {name: spec[name] for name in ("minAvailable", "maxUnavailable") if name in spec}
        errors = [
            invalid(f"spec.{name}", bound, "must be a number of pods, or a share of them from 0% to 100%")
            for name, bound in bounds.items()
            if not re.fullmatch(r"\d+|\d{1,2}%|100%", str(bound))
        ]
        if len(bounds) > 1:
            errors.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
        return errors

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return check_conditions(new)
