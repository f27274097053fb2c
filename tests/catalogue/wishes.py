"""Groups that would fit but for what they ask of nodes, of other pods and of storage."""

from tests.catalogue.situation import PRODUCT, Chapter, Situation, crew, one, seated, volume_in
from tests.oracle import builders as b

CSI = "csi.example.com"
APP = {"app": "crew"}

AFFINITY = Chapter(
    "Affinity",
    [
        Situation(
            "A node selector",
            "Two members select nodes by `disk: ssd`; the one such node has room for one of them.",
            [b.node("n1", cpu=1, labels={"disk": "ssd"}), b.node("n2"), *crew(2, 1, where={"disk": "ssd"})],
            {"Affinity": {"excluded": {"node selector or affinity": 1}, "holds": 1, "needed": 2}},
            "Impossible",
            remedy="selector",
        ),
        Situation(
            "A model of GPU that is not there",
            "A pod selects nodes with a B300; there are nodes with an H100.",
            [
                *(b.node(f"n{i}", gpu=8, labels={PRODUCT: "H100"}) for i in range(2)),
                one(gpu=8, where={PRODUCT: "B300"}),
            ],
            {"Affinity": {"excluded": {"node selector or affinity": 2}, "holds": 0, "needed": 1}},
            "Impossible",
            remedy="selector",
        ),
        Situation(
            "Node affinity",
            "Required node affinity keeps a pod off the only node with the label `tier: spot`.",
            [
                b.node("n1", labels={"tier": "spot"}),
                one(1, node_affinity=[b.expr("tier", "NotIn", "spot", "edge")]),
            ],
            {"Affinity": {"excluded": {"node selector or affinity": 1}, "holds": 0, "needed": 1}},
            "Impossible",
            remedy="selector",
        ),
        Situation(
            "A taint that no member tolerates",
            "Two members of 8 cpu; one of two nodes is kept for another team by a taint.",
            [b.node("n1"), b.node("n2", taints=["team=red:NoSchedule"]), *crew(2, 8)],
            {"Affinity": {"excluded": {"taints": 1}, "holds": 1, "needed": 2}},
            "Impossible",
            remedy="taint",
        ),
        Situation(
            "Away from other pods",
            "Two members keep off nodes with pods of `app: noisy`, and there is one on each node.",
            [
                b.node("n1"),
                b.node("n2"),
                *(seated(f"noisy-{n}", n, labels={"app": "noisy"}) for n in ("n1", "n2")),
                *crew(2, 1, anti_affinity=[b.near("hostname", {"app": "noisy"})]),
            ],
            {"Affinity": {"excluded": {"other pods": 2}, "holds": 0, "needed": 2}},
            remedy="pods",
        ),
        Situation(
            "Away from each other",
            "Three members must be on different nodes, and there are two nodes.",
            [
                b.node("n1"),
                b.node("n2"),
                *crew(3, 1, labels=APP, anti_affinity=[b.near("hostname", APP)]),
            ],
            {"Affinity": {"terms": [f"pod anti-affinity by {b.HOSTNAME}"], "holds": 2, "needed": 3}},
            "Impossible",
            remedy="pods",
        ),
        Situation(
            "Near a pod that is not there",
            "A pod must be in one zone with a pod of `app: cache`, and none runs.",
            [b.node("n1", zone="z1"), one(1, affinity=[b.near("zone", {"app": "cache"})])],
            {"Affinity": {"excluded": {"other pods": 1}, "holds": 0, "needed": 1}},
            remedy="pods",
        ),
        Situation(
            "Near a pod whose node is full",
            "A pod must be on the node of a cache, which has no room; the other node has.",
            [
                b.node("n1", cpu=2),
                b.node("n2", cpu=2),
                seated("cache", "n1", 2, labels={"app": "cache"}),
                one(1, affinity=[b.near("hostname", {"app": "cache"})]),
            ],
            {"Affinity": {"excluded": {"other pods": 1}, "holds": 0, "needed": 1}},
            remedy="pods",
        ),
        Situation(
            "An even spread",
            "Four members must be spread evenly over two zones, and one zone has room for one of them.",
            [
                b.node("n1", cpu=8, zone="z1"),
                b.node("n2", cpu=1, zone="z2"),
                *crew(4, 1, labels=APP, spread=[b.spread("zone", APP)]),
            ],
            {
                "Affinity": {
                    "terms": [f"topology spread over {b.ZONE} with maxSkew 1"],
                    "holds": 3,
                    "needed": 4,
                }
            },
            "Impossible",
            remedy="spread",
        ),
        Situation(
            "A running pod that keeps the group away",
            "A pod on the only node keeps pods of `app: crew` off it.",
            [
                b.node("n1"),
                seated("shy", "n1", anti_affinity=[b.near("hostname", APP)]),
                one(1, labels=APP),
            ],
            {"Affinity": {"excluded": {"other pods": 1}, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
    ],
)

VOLUME = Chapter(
    "Volume",
    [
        Situation(
            "A claim that does not exist",
            "Two members mount the claim `data`, which does not exist.",
            [b.node("n1"), *crew(2, 1, claims=["data"])],
            {"Volume": {"problems": ["claim default/data does not exist"], "holds": 0, "needed": 2}},
            remedy="claims",
        ),
        Situation(
            "A claim that is not bound yet",
            "The class of the claim binds immediately, and the volume controller has not done so.",
            [
                b.node("n1"),
                b.storage_class("fast", wait=False),
                b.pvc("disk", storage_class="fast"),
                one(1, claims=["disk"]),
            ],
            {
                "Volume": {
                    "problems": ["claim default/disk is not bound yet (class fast binds immediately)"],
                    "holds": 0,
                }
            },
            remedy="claims",
        ),
        Situation(
            "A class that does not exist",
            "The claim names a storage class that does not exist.",
            [b.node("n1"), b.pvc("disk", storage_class="gone"), one(1, claims=["disk"])],
            {
                "Volume": {
                    "problems": ["claim default/disk is not bound, and storage class gone does not exist"],
                    "holds": 0,
                }
            },
            remedy="claims",
        ),
        Situation(
            "A volume in another zone",
            "The volume is in zone z2, whose only node is full; zone z1 has room.",
            [
                b.node("n1", zone="z1"),
                b.node("n2", zone="z2", cpu=1),
                seated("old", "n2", 1),
                *volume_in("z2"),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 1, "full": 0, "holds": 0, "needed": 1}},
            remedy="volumes",
        ),
        Situation(
            "Volumes can be made in another zone only",
            "The class waits for its first consumer and makes volumes in zone z2, where there is no node.",
            [
                b.node("n1", zone="z1"),
                b.storage_class("late", zones=["z2"]),
                b.pvc("disk", storage_class="late"),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 0, "full": 0, "holds": 0, "needed": 1}},
            "Impossible",
            remedy="volumes",
        ),
        Situation(
            "Nodes can attach no more",
            "Each node attaches one volume of the driver, and the one node has one already.",
            [
                b.node("n1", zone="z1"),
                b.csi_node("n1", {CSI: 1}),
                *volume_in("z1", "theirs", CSI),
                seated("old", "n1", claims=["theirs"]),
                *volume_in("z1", "disk", CSI),
                one(1, claims=["disk"]),
            ],
            {"Volume": {"problems": [], "reached": 1, "full": 1, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "No local volume is left",
            "Two members want a local volume each; one is left, on n1.",
            [
                b.node("n1"),
                b.storage_class("local", "kubernetes.io/no-provisioner"),
                b.pv("pv-1", storage_class="local", on=[b.expr(b.HOSTNAME, "In", "n1")]),
                *(b.pvc(f"disk-{i}", storage_class="local") for i in range(2)),
                b.pod_group("crew", 2),
                *(b.pod(f"crew-{i}", 1, group="crew", index=i, claims=[f"disk-{i}"]) for i in range(2)),
            ],
            {"Volume": {"problems": [], "reached": 1, "holds": 1, "needed": 2}},
            "Impossible",
            remedy="volumes",
        ),
        Situation(
            "A claim for one pod at a time",
            "The claim is ReadWriteOncePod, and another pod uses it.",
            [
                b.node("n1"),
                b.pvc("disk", volume="pv-disk", modes=["ReadWriteOncePod"]),
                b.pv("pv-disk", claim="default/disk", modes=["ReadWriteOncePod"]),
                seated("old", "n1", claims=["disk"]),
                one(1, claims=["disk"]),
            ],
            {
                "Volume": {
                    "problems": [],
                    "exclusive": ["default/disk"],
                    "reached": 1,
                    "holds": 0,
                    "needed": 1,
                }
            },
        ),
    ],
)
