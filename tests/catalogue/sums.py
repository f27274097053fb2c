"""Groups for which the sum must be right: every node is told of, and every amount is the one that counts."""

from tests.catalogue.situation import Chapter, Situation, crew, one, seated, volume_in
from tests.oracle import builders as b

APP = {"app": "crew"}
PAGES = "hugepages-2Mi"
SUMS = Chapter(
    "Sums over nodes and amounts",
    [
        Situation(
            "Cordons and taints apart",
            "All nodes are full; beside an open one there are a cordoned and a tainted one.",
            [
                b.node("n1"),
                b.node("n2", cordoned=True),
                b.node("n3", taints=["team=red:NoSchedule"]),
                *(seated(f"old-{n}", n, 8) for n in ("n1", "n2", "n3")),
                one(8),
            ],
            {
                "Capacity": {
                    "free": "0",
                    "eligibleNodes": 1,
                    "excluded": {"taints": 1, "cordon": 1},
                    "holds": 0,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "Nodes that are not ready",
            "Both nodes are full, and one of them is not ready.",
            [
                b.node("n1"),
                b.node("n2", ready=False),
                *(seated(f"old-{n}", n, 8) for n in ("n1", "n2")),
                one(8),
            ],
            {"Capacity": {"free": "0", "eligibleNodes": 1, "excluded": {"health": 1}, "holds": 0}},
            remedy="nodes",
        ),
        Situation(
            "A selector and a cordon",
            "Two members select `disk: ssd`: one such node has room for one, the other is cordoned and full.",
            [
                b.node("n1", cpu=1, labels={"disk": "ssd"}),
                b.node("n2", labels={"disk": "ssd"}, cordoned=True),
                b.node("n3"),
                seated("old", "n2", 8),
                *crew(2, 1, where={"disk": "ssd"}),
            ],
            {
                "Affinity": {
                    "excluded": {"node selector or affinity": 1, "cordon": 1},
                    "holds": 1,
                    "needed": 2,
                }
            },
            remedy="selector",
        ),
        Situation(
            "Nodes out of reach of the volume",
            "The volume is in zone z1; the node there is full, and so is the one in zone z2.",
            [
                b.node("n1", zone="z1"),
                b.node("n2", zone="z2"),
                *(seated(f"old-{n}", n, 8) for n in ("n1", "n2")),
                *volume_in("z1"),
                one(8, claims=["disk"]),
            ],
            {"Capacity": {"free": "0", "eligibleNodes": 1, "excluded": {"volumes": 1}, "holds": 0}},
            remedy="nodes",
        ),
        Situation(
            "Nodes outside the rack of those that run",
            "One of two members runs in rack r1; all nodes there are full, and the one in rack r2 is too.",
            [
                b.node("n1", rack="r1"),
                b.node("n2", rack="r1"),
                b.node("n3", rack="r2"),
                *(seated(f"old-{n}", n, 8) for n in ("n2", "n3")),
                b.pod_group("crew", 2, "rack"),
                *b.pods("crew", 1, 8, group="crew", node="n1"),
                *b.pods("crew", 1, 8, group="crew", start=1),
            ],
            {
                "Capacity": {
                    "free": "0",
                    "eligibleNodes": 2,
                    "excluded": {"the domain of its other members": 1},
                    "holds": 0,
                    "needed": 1,
                }
            },
            remedy="quorum",
        ),
        Situation(
            "Overhead that the container does not show",
            "A container asks for 95 cpu, its runtime takes 2 more, and the node has 96.",
            [b.node("n1", cpu=96), one(95, overhead={"cpu": "2"})],
            {"Request": {"resource": "cpu", "requested": "97", "largest": "96", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "A sidecar that counts too",
            "A container of 6 cpu and a sidecar of 4; the node has 8.",
            [b.node("n1", cpu=8), one(6, init=[b.container("proxy", {"cpu": "4"}, sidecar=True)])],
            {"Request": {"resource": "cpu", "requested": "10", "largest": "8", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "Overhead on a node that is nearly full",
            "A container asks for 4 cpu with an overhead of 1; 4 of 8 cpu are free.",
            [b.node("n1", cpu=8), seated("old", "n1", 4), one(4, overhead={"cpu": "1"})],
            {"Capacity": {"resource": "cpu", "requested": "5", "free": "4", "holds": 0, "needed": 1}},
            remedy="request",
        ),
        Situation(
            "More domains than there are",
            "Three members ask for a spread over at least three zones, and there are two.",
            [
                b.node("n1", zone="z1"),
                b.node("n2", zone="z2"),
                *crew(3, 1, labels=APP, spread=[b.spread("zone", APP, min_domains=3)]),
            ],
            {
                "Affinity": {
                    "terms": [f"topology spread over {b.ZONE} with maxSkew 1 and minDomains 3 (there are 2)"],
                    "holds": 2,
                    "needed": 3,
                }
            },
            "Impossible",
            remedy="spread",
        ),
        Situation(
            "Huge pages that are taken",
            "A pod asks for 2Gi of huge pages; the node has cpu and memory to spare, but no pages.",
            [
                b.node("n0", allocatable={PAGES: "4Gi"}),
                seated("old", "n0", 1, requests={PAGES: "4Gi"}),
                one(1, requests={PAGES: "2Gi"}),
            ],
            {
                "Capacity": {
                    "resource": PAGES,
                    "requested": "2Gi",
                    "free": "0",
                    "eligibleNodes": 1,
                    "holds": 0,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "Too few huge pages for a gang",
            "Three members of 2Gi of huge pages each; the node has 4Gi.",
            [b.node("n0", allocatable={PAGES: "4Gi"}), *crew(3, 1, requests={PAGES: "2Gi"})],
            {"Capacity": {"resource": PAGES, "requested": "6Gi", "free": "4Gi", "holds": 2, "needed": 3}},
            "Impossible",
            remedy="members",
        ),
        Situation(
            "Nodes that may run no more pods",
            "Two nodes with cpu to spare have reached their limits, of two pods and of one.",
            [
                b.node("n1", cpu=64, pods=2),
                b.node("n2", cpu=64, pods=1),
                *(seated(f"old-{i}", "n1", "100m") for i in range(2)),
                seated("old", "n2", "100m"),
                one("100m"),
            ],
            {"Capacity": {"resource": "pods", "requested": "1", "free": "0", "eligibleNodes": 2, "holds": 0}},
            remedy="nodes",
        ),
        Situation(
            "Cpu here, a place for a pod there",
            "One node has cpu but may run no more pods, the other may, but has no cpu.",
            [
                b.node("n1", cpu=8, pods=1),
                b.node("n2", cpu=1),
                seated("a", "n1", "100m"),
                seated("c", "n2", 1),
                one(1),
            ],
            {
                "Fragmentation": {
                    "resource": "cpu",
                    "requested": "1",
                    "free": "7900m",
                    "shortOf": "pods",
                    "node": "n1",
                    "holds": 0,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "Five GPUs here and five there",
            "A pod asks for eight GPUs; two nodes have five free each.",
            [
                *(b.node(n, gpu=8) for n in ("n1", "n2")),
                *(seated(f"old-{n}", n, gpu=3) for n in ("n1", "n2")),
                one(gpu=8),
            ],
            {
                "Fragmentation": {
                    "resource": b.GPU,
                    "requested": "8",
                    "free": "10",
                    "shortOf": b.GPU,
                    "node": "n1",
                    "holds": 0,
                }
            },
            remedy="request",
        ),
    ],
)

TOGETHER = Chapter(
    "Sums where two things are wrong",
    [
        Situation(
            "A cordon and a taint",
            "Three members of 8 cpu; of three nodes one is cordoned and one tainted.",
            [
                b.node("n1"),
                b.node("n2", cordoned=True),
                b.node("n3", taints=["team=red:NoSchedule"]),
                *crew(3, 8),
            ],
            {
                "Health": {"nodes": ["n2"], "holds": 1, "needed": 3},
                "Affinity": {"excluded": {"taints": 1, "cordon": 1}, "holds": 1, "needed": 3},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A volume where the node is cordoned",
            "The volume is in zone z1, where the only node is cordoned; the node in zone z2 is free.",
            [
                b.node("n1", zone="z1", cordoned=True),
                b.node("n2", zone="z2"),
                *volume_in("z1"),
                one(8, claims=["disk"]),
            ],
            {
                "Health": {"nodes": ["n1"], "holds": 0, "needed": 1},
                "Volume": {"reached": 1, "holds": 0, "needed": 1},
            },
        ),
        Situation(
            "Gates before what its turn would find",
            "Four members with gates, on three nodes; a gang of lower priority is placed on these nodes.",
            [
                *(b.node(f"n{i}", gpu=8) for i in range(3)),
                *crew(4, gpu=8, priority=10, gates=["example.com/quota"]),
                b.pod_group("low", 3),
                *b.pods("low", 3, gpu=8, group="low", created=1),
            ],
            {
                "Gated": {"gated": 4},
                "Capacity": {"requested": "32", "free": "24", "holds": 3, "needed": 4},
            },
        ),
    ],
)
