"""ResourceClaims: which one a pod means, who it is reserved for, and what has been allocated to it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .devices import Device, DeviceId, parsed
from .fields import Doc
from .objects import Cluster, Node
from .pods import DeviceUse, Pod
from .requests import Amounts, Request, Wish, read_wish
from .selectors import NodeTerms, node_terms

GROUPS = "scheduling.k8s.io"
Consumer = tuple[str, str, str, str]  # API group, resource, name, uid


@dataclass(frozen=True, eq=False)
class Result:
    """One device of an allocation."""

    doc: Doc

    @property
    def device(self) -> DeviceId:
        return self.doc.text("driver"), self.doc.text("pool"), self.doc.text("device")

    @property
    def request(self) -> str:
        return self.doc.text("request")

    @property
    def admin(self) -> bool:
        return self.doc.flag("adminAccess")

    @property
    def share(self) -> str:
        """What tells the users of a shared device apart; empty where one claim has it whole."""
        return self.doc.text("shareID")

    @property
    def consumed(self) -> Amounts:
        amounts = self.doc.doc("consumedCapacity")
        return {name: parsed(amounts, name) for name in amounts.raw}


@dataclass(frozen=True, eq=False)
class Use:
    """A pod on a node that uses a claim, and for whom the claim has to be reserved: it or its PodGroup."""

    pod: Pod
    node: Node
    consumer: Consumer


def results_of(allocation: Doc) -> list[Result]:
    return [Result(doc) for doc in allocation.doc("devices").docs("results")]


def reach_of(allocation: Doc) -> NodeTerms | None:
    return node_terms(allocation, "nodeSelector")


def claim_key(cluster: Cluster, pod: Pod, use: DeviceUse) -> str:
    """The claim that a pod means. One that has yet to be made from its template is assumed to be named after
    the pod, or after the PodGroup if it is for all of its members."""
    group = _group_of(cluster, pod, use)
    made = use.claim or use.made
    if not made and group is not None:
        statuses = group.doc("status").docs("resourceClaimStatuses")
        made = next((s.text("resourceClaimName") for s in statuses if s.text("name") == use.name), "")
    owner = pod.name if group is None else pod.group_name
    return f"{pod.namespace}/{made or f'{owner}-{use.name}'}"


def _group_of(cluster: Cluster, pod: Pod, use: DeviceUse) -> Doc | None:
    """The PodGroup, where it has the same claim under the same name."""
    group = cluster.pod_groups.get(f"{pod.namespace}/{pod.group_name}") if pod.group_name else None
    claims = [] if group is None else group.doc("spec").docs("resourceClaims")
    same = any(
        claim.text("name") == use.name
        and claim.text("resourceClaimName") == use.claim
        and claim.text("resourceClaimTemplateName") == use.template
        for claim in claims
    )
    return group if same else None


def consumer(cluster: Cluster, pod: Pod, use: DeviceUse) -> Consumer:
    group = _group_of(cluster, pod, use)
    if group is None:
        return "", "pods", pod.name, pod.uid
    return GROUPS, "podgroups", pod.group_name, group.doc("metadata").text("uid")


def consumers(owner: Doc) -> list[Consumer]:
    return [
        (one.text("apiGroup"), one.text("resource"), one.text("name"), one.text("uid"))
        for one in owner.docs("reservedFor")
    ]


def wish_of(cluster: Cluster, pod: Pod, use: DeviceUse) -> Wish | None:
    """What the claim asks for, or its template, if there is either."""
    classes = cluster.device_objects["DeviceClass"]
    claim = cluster.device_objects["ResourceClaim"].get(claim_key(cluster, pod, use))
    if claim is not None:
        return read_wish(claim.doc("spec"), classes)
    template = cluster.device_objects["ResourceClaimTemplate"].get(f"{pod.namespace}/{use.template}")
    made = use.claim or use.made
    return None if template is None or made else read_wish(template.doc("spec").doc("spec"), classes)


def why_not_usable(cluster: Cluster, pod: Pod, use: DeviceUse, node: Node) -> str | None:
    """Why a pod cannot use its claim on a node: it is not there, or its devices are out of reach."""
    key = claim_key(cluster, pod, use)
    claim = cluster.device_objects["ResourceClaim"].get(key)
    if claim is not None and claim.doc("metadata").given("deletionTimestamp"):
        return f"its resource claim {key} is being deleted"
    if wish_of(cluster, pod, use) is None:
        what = f"template {use.template}" if use.template and not use.made else key
        return f"its resource claim {use.name} is missing: there is no {what}"
    allocation = cluster.allocations.get(key)
    terms = None if allocation is None else reach_of(allocation)
    if terms is not None and not any(term.holds(node.labels, node.name) for term in terms):
        return f"the devices of its resource claim {key} cannot be reached from {node.name}"
    return None


def devices_of_class(cluster: Cluster, name: str, node: Node) -> Iterator[Device]:
    """Devices within reach of a node that a class selects, whoever has them."""
    class_doc = cluster.device_objects["DeviceClass"][name]
    request = Request("", "", Doc({"deviceClassName": name}, "request"), class_doc)
    for pool in cluster.pools.values():
        if pool.problem(node.name, node.labels) is None:
            for device in pool.devices.values():
                if device.reach.includes(node.name, node.labels) and request.why_not_chosen(device) is None:
                    yield device


def uses(cluster: Cluster, seats: Iterable[tuple[Pod, Node]]) -> Iterator[tuple[str, DeviceUse, Use]]:
    """The claims of pods on nodes."""
    for pod, node in seats:
        for use in pod.devices:
            yield claim_key(cluster, pod, use), use, Use(pod, node, consumer(cluster, pod, use))
