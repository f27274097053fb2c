"""Cases made by hand, each with the nodes that must pass, worked out from the rule before it was run."""

from dataclasses import dataclass
from typing import Any

from tests.filters.made import (
    BETA_ZONE,
    DELETED,
    EBS,
    GPU,
    SPACE,
    STRICT,
    ZONE,
    Obj,
    attachment,
    by_field,
    claim,
    csi,
    csi_node,
    ebs,
    in_zone,
    node,
    numbered,
    pod,
    running,
    spread,
    volume,
)


@dataclass(frozen=True)
class Case:
    """Nodes are called n1, n2 and so on, and `passes` says which of them take the pod."""

    name: str
    objects: list[Obj]
    pod: Obj
    passes: str
    kube: str | None = None
    """What passes in kube-scheduler, where that differs; docs/compatibility.md has a row with the reason."""
    on_server: bool = True
    """Whether an API server with its usual feature gates takes these objects."""


# -- 1. features that kubelets declare -----------------------------------------------------------------------

RESTARTS, NAMESPACED, OPTIONS = (
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
)


def restarting(where: str = "containers") -> Obj:
    asking = pod()
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
    ruled = {
        "name": "ruled",
        "image": "example.com/image",
        "restartPolicy": "Never",
        "restartPolicyRules": rules,
    }
    asking["spec"][where] = [*asking["spec"].get(where, []), ruled]
    return asking


def with_options() -> Obj:
    asking = pod()
    mounts = [{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]
    asking["spec"]["containers"][0]["volumeMounts"] = mounts
    return asking


TWO = [node("n1", features=(RESTARTS, "Other")), node("n2", features=("Other",))]
FEATURES = [
    Case("a container that restarts all others", TWO, restarting(), "n1"),
    Case("an init container that restarts all others", TWO, restarting("initContainers"), "n1"),
    Case("a pod that needs nothing special", TWO, pod(), "n1 n2"),
    Case(
        "the network of the host with users of its own",
        [node("n1", features=(NAMESPACED,)), node("n2")],
        pod(hostNetwork=True, hostUsers=False),
        "n1",
        on_server=False,
    ),
    Case("the users of the host are no feature", [node("n1")], pod(hostNetwork=True, hostUsers=True), "n1"),
    Case(
        "options of a bind mount",
        [node("n1", features=(OPTIONS,)), node("n2")],
        with_options(),
        "n1",
        on_server=False,
    ),
    Case(
        "spread does not look at features",
        [node("n1", features=(RESTARTS,), zone="a"), node("n2", zone="b"), running("r", "n1")],
        {**restarting(), "spec": {**restarting()["spec"], **spread({"matchLabels": {"app": "a"}})}},
        "",
    ),
]

# -- 2. resources that device classes serve ------------------------------------------------------------------

DEVICES = [
    Case(
        "only nodes that have the resource themselves are counted",
        [node("n1", {GPU: "2"}), node("n2"), node("n3", {GPU: "0"})],
        pod(requests={GPU: "1"}),
        "n1",
    ),
    Case(
        "a node that has too few is short, whatever classes there are",
        [node("n1", {GPU: "1"})],
        pod(requests={GPU: "2"}),
        "",
    ),
]

# -- 3. spread by an empty selector, or none -----------------------------------------------------------------

UNEVEN = [
    *(node("n1", zone="a"), node("n2", zone="b"), node("n3")),
    *(running("r1", "n1"), running("r2", "n1")),
]
SPREAD = [
    Case("an empty selector counts nobody", UNEVEN, pod(**spread({})), "n1 n2"),
    Case("no selector counts nobody", UNEVEN, pod(**spread(None)), "n1 n2"),
    Case("a selector counts whom it matches", UNEVEN, pod(**spread({"matchLabels": {"app": "a"}})), "n2"),
    Case("an empty selector with keys", UNEVEN, pod(**spread({}, matchLabelKeys=["app"])), "n2"),
    Case("an empty selector wants few domains too", UNEVEN, pod(**spread({}, minDomains=5)), "n1 n2"),
]

# -- 4. claims that wait for their first consumer ------------------------------------------------------------

ZONES = [node("n1", zone="a"), node("n2", zone="b")]
GOLD: Obj = {"volumeAttributesClassName": "gold"}
LOCAL: Obj = {"class_name": "filters-local"}


def deleting(item: Obj) -> Obj:
    return {**item, "metadata": {**item["metadata"], "deletionTimestamp": DELETED}}


def selected(item: Obj, name: str) -> Obj:
    annotations = {"volume.kubernetes.io/selected-node": name}
    return {**item, "metadata": {**item["metadata"], "annotations": annotations}}


WAITING = [
    Case(
        "the class of attributes must be the same",
        [*ZONES, claim("c", **LOCAL), volume("p", **LOCAL, nodeAffinity=in_zone("a"), csi=csi("h"), **GOLD)],
        pod(claims=("c",)),
        "",
    ),
    Case(
        "the same class of attributes",
        [
            *ZONES,
            claim("c", **LOCAL, **GOLD),
            volume("p", **LOCAL, nodeAffinity=in_zone("a"), csi=csi("h"), **GOLD),
        ],
        pod(claims=("c",)),
        "n1",
    ),
    Case(
        "a volume that is being deleted is not used",
        [*ZONES, claim("c", **LOCAL), deleting(volume("p", **LOCAL))],
        pod(claims=("c",)),
        "",
    ),
    Case(
        "a volume that is kept for the claim, and is being deleted, is not used",
        [*ZONES, claim("c"), deleting(volume("p", of="c"))],
        pod(claims=("c",)),
        "n1 n2",
    ),
    Case(
        "a volume that is kept for the claim shuts out others, not new ones",
        [*ZONES, claim("c"), volume("p", of="c", nodeAffinity=in_zone("a")), volume("q")],
        pod(claims=("c",)),
        "n1 n2",
    ),
    Case(
        "a volume that is kept for the claim shuts out others",
        [
            *ZONES,
            claim("c", **LOCAL),
            volume("p", of="c", **LOCAL, nodeAffinity=in_zone("a")),
            volume("q", **LOCAL),
        ],
        pod(claims=("c",)),
        "n1",
    ),
    Case(
        "a zone label does not count before the claim is bound",
        [*ZONES, claim("c", **LOCAL), volume("p", **LOCAL, labels={ZONE: "a"})],
        pod(claims=("c",)),
        "n1 n2",
    ),
    Case(
        "a zone label counts at once for a claim that others share",
        [*ZONES, claim("c", **LOCAL), volume("p", **LOCAL, labels={ZONE: "a"}), running("r", "n1", ("c",))],
        pod(claims=("c",)),
        "n1",
        kube="n1 n2",
    ),
    Case(
        "once a node is selected no other volume is taken",
        [*ZONES, selected(claim("c", **LOCAL), "n1"), volume("p", **LOCAL)],
        pod(claims=("c",)),
        "",
    ),
    Case(
        "once a node is selected the volume is made there",
        [*ZONES, selected(claim("c"), "n1"), volume("p")],
        pod(claims=("c",)),
        "n1",
    ),
    Case(
        "a claim that is mounted twice takes one volume",
        [*ZONES, claim("c", **LOCAL), volume("p", **LOCAL)],
        pod(claims=("c", "c")),
        "n1 n2",
        kube="",
    ),
    Case(
        "a claim that names its volume and is not bound to it",
        [
            *ZONES,
            {
                **claim("c", "p"),
                "metadata": {"name": "c", "namespace": SPACE},
                "status": {"phase": "Pending"},
            },
            volume("p", of="c"),
        ],
        pod(claims=("c",)),
        "",
    ),
]

# -- 5. attach limits ----------------------------------------------------------------------------------------


def mounted(number: int, **spec: Any) -> list[Obj]:
    """A claim with its volume, both of this number."""
    return [claim(f"c{number}", f"p{number}"), volume(f"p{number}", of=f"c{number}", **spec)]


PLAIN = [node("n1"), node("n2")]
LIMITS = [
    Case(
        "what is attached without a pod counts",
        [
            *PLAIN,
            csi_node("n1", disk=1),
            *mounted(1, csi=csi("h1")),
            *mounted(2, csi=csi("h2")),
            attachment("a", "n1", "p2"),
        ],
        pod(claims=("c1",)),
        "n2",
    ),
    Case(
        "what is attached with its pod counts once",
        [
            *PLAIN,
            csi_node("n1", disk=2),
            *mounted(1, csi=csi("h1")),
            *mounted(2, csi=csi("h2")),
            attachment("a", "n1", "p2"),
            running("r", "n1", ("c2",)),
        ],
        pod(claims=("c1",)),
        "n1 n2",
    ),
    Case(
        "the pod's own volume, still attached, counts beside it",
        [*PLAIN, csi_node("n1", disk=1), *mounted(1, csi=csi("h1")), attachment("a", "n1", "p1")],
        pod(claims=("c1",)),
        "n2",
    ),
    Case(
        "two volumes with one handle are one",
        [*PLAIN, csi_node("n1", disk=1), *mounted(1, csi=csi("h")), *mounted(2, csi=csi("h"))],
        pod(claims=("c1", "c2")),
        "n1 n2",
    ),
    Case(
        "a volume by another name, already there, is not new",
        [
            *PLAIN,
            csi_node("n1", disk=1),
            *mounted(1, csi=csi("h")),
            *mounted(2, csi=csi("h")),
            running("r", "n1", ("c2",)),
        ],
        pod(claims=("c1",)),
        "n1 n2",
    ),
    Case(
        "volumes of plugins that were built in count for the driver",
        [
            *PLAIN,
            csi_node("n1", ebs=1),
            *mounted(1, awsElasticBlockStore=ebs("vol-1")),
            *mounted(2, awsElasticBlockStore=ebs("aws://z/vol-2")),
            running("r", "n1", ("c2",)),
        ],
        pod(claims=("c1",)),
        "n2",
    ),
    Case(
        "the same disk in both ways of writing is one",
        [
            *PLAIN,
            csi_node("n1", ebs=1),
            *mounted(1, awsElasticBlockStore=ebs("vol-1")),
            *mounted(2, csi=csi("vol-1", EBS)),
            running("r", "n1", ("c2",)),
        ],
        pod(claims=("c1",)),
        "n1 n2",
    ),
    Case(
        "a claim whose volume is yet to be made counts by its old provisioner",
        [*PLAIN, csi_node("n1", ebs=0), claim("c1", class_name="filters-ebs")],
        pod(claims=("c1",)),
        "n2",
    ),
    Case(
        "nodes without a driver that asks for it",
        [
            *PLAIN,
            node("n3"),
            csi_node("n1", strict=None),
            csi_node("n2", disk=None),
            *mounted(1, csi=csi("h", STRICT)),
        ],
        pod(claims=("c1",)),
        "n1",
    ),
    Case(
        "nodes without a driver that asks for it, for a volume to be made",
        [*PLAIN, csi_node("n1", strict=None), claim("c", class_name="filters-strict")],
        pod(claims=("c",)),
        "n1",
    ),
    Case(
        "nodes without a driver that does not ask",
        [*PLAIN, csi_node("n1", disk=None), *mounted(1, csi=csi("h"))],
        pod(claims=("c1",)),
        "n1 n2",
    ),
    Case(
        "a node over its limit takes a pod that brings nothing new",
        [
            *PLAIN,
            csi_node("n1", disk=1),
            *mounted(1, csi=csi("h1")),
            *mounted(2, csi=csi("h2")),
            running("r1", "n1", ("c1",)),
            running("r2", "n1", ("c2",)),
        ],
        pod(claims=("c1",)),
        "n1 n2",
    ),
    Case(
        "a claim that is mounted twice is one volume",
        [*PLAIN, csi_node("n1", disk=1), *mounted(1, csi=csi("h1"))],
        pod(claims=("c1", "c1")),
        "n1 n2",
    ),
]

# -- 6. where volumes are ------------------------------------------------------------------------------------

OLD_AND_NEW = [
    *(node("n1", zone="a"), node("n2", beta="a"), node("n3", zone="b", beta="a"), node("n4")),
    node("n5", zone="a", beta="b"),
]
PLACES = [
    Case(
        "a modern label of a volume is not answered by an old one of a node",
        [*OLD_AND_NEW, claim("c", "p"), volume("p", of="c", labels={ZONE: "a"})],
        pod(claims=("c",)),
        "n1 n4 n5",
    ),
    Case(
        "an old label of a volume is answered by a modern one where the node has no old one",
        [*OLD_AND_NEW, claim("c", "p"), volume("p", of="c", labels={BETA_ZONE: "a"})],
        pod(claims=("c",)),
        "n1 n2 n3 n4",
    ),
    Case(
        "several zones",
        [*OLD_AND_NEW, claim("c", "p"), volume("p", of="c", labels={ZONE: "a__b"})],
        pod(claims=("c",)),
        "n1 n3 n4 n5",
    ),
    Case(
        "an empty zone among several says nothing",
        [*OLD_AND_NEW, claim("c", "p"), volume("p", of="c", labels={ZONE: "a____b"})],
        pod(claims=("c",)),
        "n1 n2 n3 n4 n5",
    ),
    Case(
        "fields alone say nothing of a volume",
        [
            *ZONES,
            claim("c", "p"),
            volume(
                "p",
                of="c",
                nodeAffinity={"required": {"nodeSelectorTerms": [{"matchFields": [by_field("n2")]}]}},
            ),
        ],
        pod(claims=("c",)),
        "n1 n2",
    ),
    Case(
        "fields beside labels say nothing of a volume",
        [
            *ZONES,
            claim("c", "p"),
            volume(
                "p",
                of="c",
                nodeAffinity={
                    "required": {
                        "nodeSelectorTerms": [
                            {
                                "matchFields": [by_field("n2")],
                                "matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}],
                            }
                        ]
                    }
                },
            ),
        ],
        pod(claims=("c",)),
        "n1",
    ),
]

# -- 7. amounts and numbers ----------------------------------------------------------------------------------

LARGE = [
    node("n1", {"memory": "4Pi", "ephemeral-storage": "2Pi"}),
    node("n2", {"memory": "1Ei", "ephemeral-storage": "1125899906842625"}),
    running("r", "n2", requests={"memory": "1023Pi"}),
]
COUNTED = [
    *(node("n1", number="5"), node("n2", number="00000000000000000000000000000000000000000000000007")),
    *(node("n3", number="9223372036854775807"), node("n4", number="9223372036854775808")),
    *(node("n5", number="x"), node("n6")),
]
AMOUNTS = [
    Case("petabytes of memory", LARGE, pod(requests={"memory": "3Pi"}), "n1"),
    Case("the last petabyte", LARGE, pod(requests={"memory": "1Pi"}), "n1 n2"),
    Case("one byte too much", LARGE, pod(requests={"memory": "1125899906842625"}), "n1"),
    Case("petabytes of disk", LARGE, pod(requests={"ephemeral-storage": "2Pi"}), "n1"),
    Case(
        "one byte more than a petabyte",
        LARGE,
        pod(requests={"ephemeral-storage": "1125899906842625"}),
        "n1 n2",
    ),
    Case("more than there can be", LARGE, pod(requests={"memory": "16Ei"}), ""),
    Case("leading zeros", COUNTED, pod(**numbered("Gt", "0000000000000000000000006")), "n2 n3"),
    Case("less than a number", COUNTED, pod(**numbered("Lt", "6")), "n1"),
    Case("the largest integer", COUNTED, pod(**numbered("Lt", "9223372036854775807")), "n1 n2"),
    Case("beyond the largest integer", COUNTED, pod(**numbered("Lt", "9223372036854775808")), ""),
    Case("no number at all", COUNTED, pod(**numbered("Gt", "x")), ""),
]

# -- nodes that are closed before anyone has tainted them ----------------------------------------------------


def closed(item: Obj) -> Obj:
    return {**item, "spec": {"unschedulable": True}}


def silent(item: Obj) -> Obj:
    ready = {"type": "Ready", "status": "Unknown"}
    return {**item, "status": {**item["status"], "conditions": [ready]}}


HONORED = spread({"matchLabels": {"app": "a"}}, nodeTaintsPolicy="Honor")
CLOSED = [
    Case("a cordon counts by itself", [node("n1"), closed(node("n2"))], pod(), "n1"),
    Case(
        "a cordon that is tolerated",
        [closed(node("n1"))],
        pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
        "n1",
    ),
    Case("a node that is not ready", [node("n1"), silent(node("n2"))], pod(), "n1", kube="n1 n2"),
    Case(
        "a cordoned domain is not spread over",
        [node("n1", zone="a"), closed(node("n2", zone="b")), running("r", "n1")],
        pod(**HONORED),
        "n1",
        kube="",
    ),
]

CASES = [*FEATURES, *CLOSED, *DEVICES, *SPREAD, *WAITING, *LIMITS, *PLACES, *AMOUNTS]
