"""What the server says to an object beyond its own kind's rules: it looks at other objects for it."""

from typing import Any

from maitred.sandbox.apiserver.authorization import Authorizer
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.devicerules import results_of
from maitred.sandbox.apiserver.kinds.fielderrors import forbidden as field_forbidden
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.pods import NOT_READY
from maitred.sandbox.apiserver.kinds.priorities import PREEMPT
from maitred.sandbox.apiserver.kinds.volumes import default_class
from maitred.sandbox.apiserver.refusals import Refusal, forbidden, invalid, not_found
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item, Key, Shelf, Store

NOT_READY_TAINT = {"key": NOT_READY, "effect": "NoSchedule"}
PROTECTED = {
    "PodGroup": "scheduling.k8s.io/podgroup-protection",
    "PersistentVolume": "kubernetes.io/pv-protection",
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
}
"""Finalizers that keep an object for as long as it is used."""
RANKED = {"Pod": "pod spec", "PodGroup": "pod group", "CompositePodGroup": "composite pod group"}
"""Kinds with a priority, and what messages call the place of it."""
TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""A pod gets them from its node."""
ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
IMMORTAL = ("default", "kube-system", "kube-public")


class Admission:
    def __init__(self, store: Store, authorizer: Authorizer) -> None:
        self._store = store
        self._authorizer = authorizer

    def admit(self, kind: Kind, namespace: str, body: Body) -> None:
        """A new object: refuse it, or complete it."""
        if kind.namespaced:
            self._check_namespace(kind, namespace, body)
        self._protect(body)
        if kind.name in RANKED:
            self._rank(kind, body)
        match kind.name:
            case "Pod":
                check_runtime(kind, body)
                self._locate(body)
            case "Node":
                taint_as_not_ready(body)
            case "PriorityClass":
                self._check_default_priority(kind, body)
            case "PersistentVolumeClaim":
                self._choose_class(body)
            case "ResourceClaim" | "ResourceClaimTemplate":
                self._check_admin_access(kind, body, requested_access(body))

    def review(self, kind: Kind, body: Body, old: Body, part: str, call: Call) -> None:
        """A change: refuse it, or complete it."""
        if kind.name == "ResourceClaim" and part == "status":
            self._check_admin_access(kind, body, granted_access(body, old))
            self._check_claim_binding(kind, body, old, call)
        if part:
            return
        if kind.name == "PriorityClass":
            self._check_default_priority(kind, body)
        elif kind.name == "Pod":
            for name in ("priority", "preemptionPolicy"):
                if name in old["spec"]:
                    body["spec"].setdefault(name, old["spec"][name])
            self._locate(body)

    def review_deletion(self, kind: Kind, name: str) -> None:
        if kind.name == "Namespace" and name in IMMORTAL:
            raise forbidden(kind.group, kind.plural, name, "this namespace may not be deleted")

    def topology_of(self, node_name: str) -> dict[str, str]:
        """The labels that a pod on this node gets."""
        node = self._shelf("nodes").get(Key("", node_name))
        labels = node.body["metadata"].get("labels", {}) if node else {}
        return {key: labels[key] for key in TOPOLOGY_LABELS if key in labels}

    def _shelf(self, plural: str, group: str = "") -> Shelf:
        return self._store.shelf(f"{plural}.{group}")

    # -- namespaces ----------------------------------------------------------------------------------------

    def _check_namespace(self, kind: Kind, namespace: str, body: Body) -> None:
        found = self._shelf("namespaces").get(Key("", namespace))
        if found is None:
            raise not_found("", "namespaces", namespace)
        if found.body.get("status", {}).get("phase") == "Terminating":
            raise terminating(kind, body["metadata"].get("name", ""), namespace)

    # -- priority ------------------------------------------------------------------------------------------

    def _rank(self, kind: Kind, body: Body) -> None:
        """A priority comes from its class, and from nothing else."""
        spec, name = body["spec"], body["metadata"].get("name", "")
        chosen, value, policy = self._class_of(kind, name, spec.get("priorityClassName", ""))
        if spec.get("priority", value) != value:
            raise forbidden(kind.group, kind.plural, name, wrong_priority(kind, spec["priority"], value))
        if spec.get("preemptionPolicy", policy) != policy:
            raise forbidden(
                kind.group, kind.plural, name, wrong_policy(kind, spec["preemptionPolicy"], policy)
            )
        spec.update(priority=value, preemptionPolicy=policy)
        if chosen:
            spec["priorityClassName"] = chosen

    def _class_of(self, kind: Kind, name: str, wanted: str) -> tuple[str, int, str]:
        if not wanted:
            default = self._default_priority()
            return said_by(default) if default else ("", 0, PREEMPT)
        found = self._shelf("priorityclasses", "scheduling.k8s.io").get(Key("", wanted))
        if found is None:
            raise forbidden(kind.group, kind.plural, name, f"no PriorityClass with name {wanted} was found")
        return said_by(found)

    def _default_priority(self) -> Item | None:
        shelf = self._shelf("priorityclasses", "scheduling.k8s.io")
        defaults = [item for item in shelf if item.body.get("globalDefault")]
        return min(defaults, key=lambda item: item.body["value"], default=None)

    def _check_default_priority(self, kind: Kind, body: Body) -> None:
        default, name = self._default_priority(), body["metadata"].get("name", "")
        if body.get("globalDefault") and default is not None and default.key.name != name:
            why = f"PriorityClass {default.key.name} is already marked as default. Only one default can exist"
            raise forbidden(kind.group, kind.plural, name, why)

    # -- claims to devices ---------------------------------------------------------------------------------

    def _check_admin_access(self, kind: Kind, body: Body, path: str) -> None:
        """Who watches over devices may have them beside others, in namespaces that are marked for it."""
        namespace = self._shelf("namespaces").get(Key("", body["metadata"].get("namespace", "")))
        labels = namespace.body["metadata"].get("labels", {}) if namespace else {}
        if path and labels.get(ADMIN_ACCESS) != "true":
            why = f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the namespace"
            raise invalid(
                kind.group, kind.name, body["metadata"].get("name", ""), [field_forbidden(path, why)]
            )

    def _check_claim_binding(self, kind: Kind, body: Body, old: Body, call: Call) -> None:
        """Who allocates and reserves needs a right of its own, beside that to write the status."""
        status, before = body.get("status", {}), old.get("status", {})
        if all(status.get(name) == before.get(name) for name in ("allocation", "reservedFor")):
            return
        refusal = self._authorizer.refusal(call.user, call.verb, kind.group, f"{kind.plural}/binding")
        if refusal is not None:
            why = (
                "changing status.allocation or status.reservedFor requires "
                f'resource="resourceclaims/binding", verb="{call.verb}" permission: {refusal}'
            )
            name = old["metadata"]["name"]
            raise invalid(kind.group, kind.name, name, [field_forbidden("status.allocation", why)])

    # -- the rest ------------------------------------------------------------------------------------------

    def _protect(self, body: Body) -> None:
        finalizer = PROTECTED.get(body["kind"])
        if finalizer is not None:
            finalizers = body["metadata"].setdefault("finalizers", [])
            if finalizer not in finalizers:
                finalizers.append(finalizer)

    def _locate(self, body: Body) -> None:
        labels = self.topology_of(body["spec"].get("nodeName", ""))
        if labels:
            body["metadata"].setdefault("labels", {}).update(labels)

    def _choose_class(self, body: Body) -> None:
        """The default, where the claim names none at all."""
        if "storageClassName" in body["spec"]:
            return
        chosen = default_class(item.body for item in self._shelf("storageclasses", "storage.k8s.io"))
        if chosen:
            body["spec"]["storageClassName"] = chosen


def requested_access(body: Body) -> str:
    """The path of the first request with admin access, in a claim or a template; empty for none."""
    spec, path = body.get("spec", {}), "spec.devices.requests"
    for index, request in enumerate(spec.get("spec", spec).get("devices", {}).get("requests") or ()):
        if request.get("exactly", {}).get("adminAccess"):
            return f"{path}[{index}].adminAccess"
    return ""


def granted_access(body: Body, old: Body) -> str:
    if any(result.get("adminAccess") for result in results_of(old.get("status", {}))):
        return ""
    for index, result in enumerate(results_of(body.get("status", {}))):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{index}].adminAccess"
    return ""


def check_runtime(kind: Kind, pod: Body) -> None:
    """There are no RuntimeClasses here, nor the overhead that comes from one."""
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    if "runtimeClassName" in spec:
        why = f'pod rejected: RuntimeClass "{spec["runtimeClassName"]}" not found'
        raise forbidden(kind.group, kind.plural, name, why)
    if "overhead" in spec:
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise forbidden(kind.group, kind.plural, name, why)


def said_by(priority_class: Item) -> tuple[str, int, str]:
    body = priority_class.body
    return priority_class.key.name, body["value"], body.get("preemptionPolicy", PREEMPT)


def wrong_priority(kind: Kind, given: Any, computed: int) -> str:
    if kind.name == "Pod":
        return (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {computed} from the given PriorityClass name"
        )
    return (
        f"priority set in the {RANKED[kind.name]} ({given}) must match the priority computed ({computed}) "
        "based on the priority class set in the spec"
    )


def wrong_policy(kind: Kind, given: Any, computed: str) -> str:
    place = RANKED[kind.name].removesuffix(" spec")
    return (
        f"the string value of PreemptionPolicy ({given}) must not be provided in {place} spec; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )


def taint_as_not_ready(body: Body) -> None:
    """Until its kubelet says otherwise."""
    taints = body.setdefault("spec", {}).setdefault("taints", [])
    if not any(taint.get("key") == NOT_READY for taint in taints):
        taints.append(dict(NOT_READY_TAINT))


def terminating(kind: Kind, name: str, namespace: str) -> Refusal:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    refusal = forbidden(kind.group, kind.plural, name, why)
    refusal.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return refusal
