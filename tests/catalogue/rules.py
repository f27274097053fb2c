"""Groups that wait by the finer rules of kube-scheduler's filters: what it counts, and what it leaves out."""

from typing import Any

from tests.catalogue.situation import Chapter, Situation, crew, one, seated
from tests.oracle import builders as b
from tests.oracle.builders import Obj

CSI = "csi.example.com"
EBS = "ebs.csi.aws.com"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
DISK = "ephemeral-storage"
GENERATION = "example.com/generation"
RESTARTS = "RestartAllContainersOnContainerExits"
LOCAL = b.storage_class("local", "kubernetes.io/no-provisioner")


def beside(item: Obj, part: str, **fields: Any) -> Obj:
    """The object with these fields too, in its metadata or its spec."""
    return {**item, part: {**item[part], **fields}}


def disk(name: str, **source: Obj) -> list[Obj]:
    """A claim and the volume of this source that it is bound to."""
    volume = b.pv(f"pv-{name}", claim=f"default/{name}")
    del volume["spec"]["nfs"]
    return [b.pvc(name, volume=f"pv-{name}"), beside(volume, "spec", **source)]


def handle(name: str) -> Obj:
    return {"driver": CSI, "volumeHandle": name}


RULES = Chapter(
    "The finer rules of filters",
    [
        Situation(
            "A feature that the kubelet does not declare",
            "A container may restart all others; the node that declares this feature is full, n2 is free.",
            [
                b.node("n1", features=[RESTARTS]),
                b.node("n2"),
                seated("old", "n1", 8),
                one(1, restarts_all=True),
            ],
            {
                "Affinity": {
                    "excluded": {f"lack of the feature {RESTARTS}": 1},
                    "features": {RESTARTS: ["n2"]},
                    "holds": 0,
                    "needed": 1,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "A spread that counts no pods",
            "A spread over zones with an empty selector counts no pods, so three pods in zone z1 do not "
            "matter; neither zone has 4 cpu free.",
            [
                b.node("n1", zone="z1"),
                b.node("n2", cpu=1, zone="z2"),
                *(seated(f"old-{i}", "n1", 2) for i in range(3)),
                one(4, spread=[b.spread("zone", {})]),
            ],
            {"Capacity": {"requested": "4", "free": "3", "eligibleNodes": 2, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "A spread that asks for a label alone",
            "A spread with an empty selector still asks for the label; the one node that has it is full.",
            [
                b.node("n1", zone="z1"),
                b.node("n2"),
                seated("old", "n1", 8),
                one(1, spread=[b.spread("zone", {})]),
            ],
            {"Affinity": {"excluded": {f"lack of the label {b.ZONE}": 1}, "holds": 0, "needed": 1}},
            remedy="spread",
        ),
        Situation(
            "A volume of another class of attributes",
            "The claim wants a local volume; the only free one has `volumeAttributesClassName: gold`.",
            [
                b.node("n1"),
                LOCAL,
                beside(b.pv("pv-1", storage_class="local"), "spec", volumeAttributesClassName="gold"),
                b.pvc("disk", storage_class="local"),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 0, "full": 0, "holds": 0, "needed": 1}},
            "Impossible",
            remedy="volumes",
        ),
        Situation(
            "A volume that is being deleted",
            "The claim wants a local volume, and the only free one is being deleted.",
            [
                b.node("n1"),
                LOCAL,
                beside(
                    b.pv("pv-1", storage_class="local"), "metadata", deletionTimestamp="2026-01-01T00:00:00Z"
                ),
                b.pvc("disk", storage_class="local"),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 0, "full": 0, "holds": 0, "needed": 1}},
            "Impossible",
            remedy="volumes",
        ),
        Situation(
            "A shared claim whose volume has a zone",
            "Two members share a claim that waits for its first consumer; the volume is labelled with zone "
            "z1, where there is room for one of them.",
            [
                b.node("n1", cpu=1, zone="z1"),
                b.node("n2", zone="z2"),
                LOCAL,
                b.pv("pv-1", storage_class="local", modes=["ReadWriteMany"], labels={b.ZONE: "z1"}),
                b.pvc("disk", storage_class="local", modes=["ReadWriteMany"]),
                *crew(2, 1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 1, "full": 0, "holds": 1, "needed": 2}},
            "Impossible",
            remedy="volumes",
        ),
        Situation(
            "A volume that is still attached",
            "The node attaches one volume of the driver; one is attached to it that no pod uses any more.",
            [
                b.node("n1"),
                b.csi_node("n1", {CSI: 1}),
                *disk("theirs", csi=handle("h1")),
                b.attachment("theirs-n1", "n1", "pv-theirs", CSI),
                *disk("disk", csi=handle("h2")),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 1, "full": 1, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "A driver that is not installed",
            "The CSIDriver keeps pods from nodes that do not have it, and the only node does not.",
            [
                b.node("n1"),
                b.csi_node("n1", {"other.example.com": 5}),
                b.csi_driver(CSI, strict=True),
                *disk("disk", csi=handle("h1")),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "drivers": {CSI: 1}, "reached": 1, "holds": 0, "needed": 1}},
        ),
        Situation(
            "Volumes of a plugin that was built in",
            "The node attaches one volume of the AWS driver, and has one that is written the old way.",
            [
                b.node("n1"),
                b.csi_node("n1", {EBS: 1}),
                *disk("theirs", awsElasticBlockStore={"volumeID": "vol-1"}),
                seated("old", "n1", claims=["theirs"]),
                *disk("disk", csi={"driver": EBS, "volumeHandle": "vol-2"}),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 1, "full": 1, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "Volumes that are one disk",
            "The node attaches three volumes. Three members bring a disk of their own each, and a volume; "
            "these volumes have one handle, so they count as one, and two members fit.",
            [
                b.node("n1"),
                b.csi_node("n1", {CSI: 3}),
                *(part for i in range(3) for part in disk(f"same-{i}", csi=handle("same"))),
                *(part for i in range(3) for part in disk(f"own-{i}", csi=handle(f"own-{i}"))),
                b.pod_group("crew", 3),
                *(
                    b.pod(f"crew-{i}", 1, group="crew", index=i, claims=[f"same-{i}", f"own-{i}"])
                    for i in range(3)
                ),
            ],
            {"Volume": {"problems": [], "reached": 1, "holds": 2, "needed": 3}},
            "Impossible",
            remedy="nodes",
        ),
        Situation(
            "A node with the old zone label only",
            "The volume has the modern zone label; the only node has the beta label, which is not the same.",
            [
                b.node("n1", labels={BETA_ZONE: "z1"}),
                b.pvc("disk", volume="pv-disk"),
                b.pv("pv-disk", claim="default/disk", labels={b.ZONE: "z1"}),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 0, "full": 0, "holds": 0, "needed": 1}},
            "Impossible",
            remedy="volumes",
        ),
        Situation(
            "A volume that names its node by a field",
            "`matchFields` of a volume count for nothing, so both nodes reach it, and both are full.",
            [
                b.node("n1"),
                b.node("n2"),
                *(seated(f"old-{n}", n, 8) for n in ("n1", "n2")),
                b.pvc("disk", volume="pv-disk"),
                b.pv("pv-disk", claim="default/disk", on=[b.on_nodes("n2")]),
                one(8, claims=["disk"]),
            ],
            {"Capacity": {"requested": "8", "free": "0", "eligibleNodes": 2, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "Petabytes of memory",
            "A pod asks for 4Pi of memory; the node has 3Pi.",
            [b.node("n1", memory="3Pi"), one(1, memory="4Pi")],
            {"Request": {"resource": "memory", "requested": "4Pi", "largest": "3Pi", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "Petabytes of disk",
            "A pod asks for 2Pi of disk; of the 3Pi of the node, 1Pi is free.",
            [
                b.node("n1", allocatable={DISK: "3Pi"}),
                seated("old", "n1", 1, requests={DISK: "2Pi"}),
                one(1, requests={DISK: "2Pi"}),
            ],
            {"Capacity": {"resource": DISK, "requested": "2Pi", "free": "1Pi", "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "Numbers as Go reads them",
            "A pod wants a generation above 6: `007` is, but its node is full; 2^63 is no 64-bit integer.",
            [
                b.node("n1", labels={GENERATION: "007"}),
                b.node("n2", labels={GENERATION: str(2**63)}),
                seated("old", "n1", 8),
                one(1, node_affinity=[b.expr(GENERATION, "Gt", "6")]),
            ],
            {"Affinity": {"excluded": {"node selector or affinity": 1}, "holds": 0, "needed": 1}},
            remedy="selector",
        ),
        Situation(
            "A member that is terminating in another rack",
            "Two members must be in one rack, and a third terminates in rack r1, which is full. It does not "
            "tie the others to r1; racks r2 and r3 have room for one each.",
            [
                b.node("n1", cpu=4, rack="r1"),
                b.node("n2", cpu=2, rack="r2"),
                b.node("n3", cpu=2, rack="r3"),
                seated("old", "n1", 2),
                b.pod_group("crew", 2, "rack"),
                b.pod("crew-0", 2, group="crew", index=0, node="n1", deleted=True),
                *b.pods("crew", 2, 2, group="crew", start=1),
            ],
            {"Topology": {"level": "rack", "domains": 3, "domain": "r2", "holds": 1, "needed": 2}},
            remedy="topology",
        ),
    ],
)
