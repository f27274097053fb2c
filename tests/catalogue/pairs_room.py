"""Two causes: what keeps a group from starting, or the room, and something else."""

from tests.catalogue.situation import GATE, Chapter, Situation, claiming, crew, one, seated, shared_volume_in
from tests.oracle import builders as b

APP = {"app": "crew"}

STARTING = Chapter(
    "It may not start, or asks for too much, and more is wrong",
    [
        Situation(
            "A member is missing, another has a gate",
            "Three of four members are created, and one of them has a gate.",
            [
                b.node("n1"),
                *crew(2, 1, quorum=4),
                *b.pods("crew", 1, 1, group="crew", start=2, gates=[GATE], created=10),
            ],
            {"Members": {"created": 3, "quorum": 4}, "Gated": {"gated": 1, "gates": [GATE]}},
        ),
        Situation(
            "No PodGroup, and gates",
            "Two pods with gates name a PodGroup that does not exist.",
            [b.node("n1"), *b.pods("crew", 2, 1, group="crew", gates=[GATE])],
            {"Members": {"created": 2, "podGroup": "default/crew"}, "Gated": {"gated": 2}},
        ),
        Situation(
            "Gates, and too little room",
            "Three members have gates, and only one would have room without them.",
            [b.node("n1", cpu=2), seated("old", "n1", 1), *crew(3, 1, gates=[GATE])],
            {"Gated": {"gated": 3}, "Capacity": {"requested": "3", "free": "1", "holds": 1, "needed": 3}},
        ),
        Situation(
            "Gates, and a request that is too large",
            "A pod with a gate asks for 16 cpu where nodes have 8.",
            [b.node("n1", cpu=8), one(16, gates=[GATE])],
            {"Gated": {"gated": 1}, "Request": {"resource": "cpu", "requested": "16", "largest": "8"}},
        ),
        Situation(
            "Gates, and no rack is large enough",
            "Two members with gates must be in one rack; each rack has room for one.",
            [
                b.node("n1", cpu=1, rack="r1"),
                b.node("n2", cpu=1, rack="r2"),
                *crew(2, 1, level="rack", gates=[GATE]),
            ],
            {"Gated": {"gated": 2}, "Topology": {"domains": 2, "holds": 1, "needed": 2}},
        ),
        Situation(
            "Gates, and a selector",
            "A pod with a gate selects nodes that do not exist.",
            [b.node("n1"), one(1, gates=[GATE], where={"disk": "ssd"})],
            {"Gated": {"gated": 1}, "Affinity": {"excluded": {"node selector or affinity": 1}}},
        ),
        Situation(
            "Gates, and a claim that does not exist",
            "A pod with a gate mounts a claim that does not exist.",
            [b.node("n1"), one(1, gates=[GATE], claims=["data"])],
            {"Gated": {"gated": 1}, "Volume": {"problems": ["claim default/data does not exist"]}},
        ),
        Situation(
            "Gates, and a cordoned node",
            "A pod with a gate, and the only node is cordoned.",
            [b.node("n1", cordoned=True), one(1, gates=[GATE])],
            {"Gated": {"gated": 1}, "Health": {"nodes": ["n1"], "unwell": 1, "holds": 0, "needed": 1}},
        ),
        Situation(
            "Gates, and a little on every node",
            "A pod of 2 cpu with a gate; two nodes have 1 cpu free each.",
            [
                *(b.node(n, cpu=2) for n in ("n1", "n2")),
                *(seated(f"old-{n}", n, 1) for n in ("n1", "n2")),
                one(2, gates=[GATE]),
            ],
            {
                "Gated": {"gated": 1},
                "Fragmentation": {"requested": "2", "free": "2", "holds": 0, "needed": 1},
            },
        ),
        Situation(
            "Too large, and a selector",
            "A pod asks for 16 cpu, which no node has, on nodes that do not exist.",
            [b.node("n1"), one(16, where={"disk": "ssd"})],
            {
                "Request": {"resource": "cpu", "requested": "16", "largest": "8"},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Request"]},
            },
            "Impossible",
        ),
        Situation(
            "Too large, and a claim that does not exist",
            "A pod asks for 16 GPUs, which no node has, and for a claim that does not exist.",
            [b.node("n1", gpu=8), one(gpu=16, claims=["data"])],
            {
                "Request": {"resource": b.GPU, "requested": "16", "largest": "8"},
                "Volume": {"problems": ["claim default/data does not exist"], "besides": ["Request"]},
            },
            "Impossible",
        ),
        Situation(
            "Too large, and a label that no node has",
            "Two members of 16 cpu must be in one block, which is a label of no node.",
            [b.node("n1"), *crew(2, 16, level="example.com/block")],
            {
                "Request": {"resource": "cpu", "requested": "16", "largest": "8"},
                "Topology": {"level": "example.com/block", "domains": 0, "besides": ["Request"]},
            },
            "Impossible",
        ),
        Situation(
            "Too large, and a device claim",
            "A pod asks for 64Gi of memory, which no node has, and for a GPU by a resource claim.",
            [b.node("n1"), one(spec={**claiming(), "overhead": {"memory": "64Gi"}})],
            {
                "Request": {"resource": "memory", "requested": "64Gi", "largest": "32Gi"},
                "Devices": {"claims": ["gpu"], "besides": ["Request"]},
            },
            "Impossible",
        ),
    ],
)

ROOM = Chapter(
    "There is too little room, and with more room something else would be in the way",
    [
        Situation(
            "A full cluster and small racks",
            "Four members must be in one rack: three cpus are free in all, and racks have two.",
            [
                b.node("n1", cpu=2, rack="r1"),
                b.node("n2", cpu=2, rack="r2"),
                seated("old", "n1", 1),
                *crew(4, 1, level="rack"),
            ],
            {
                "Capacity": {"requested": "4", "free": "3", "needed": 4},
                "Topology": {"level": "rack", "domain": "r2", "holds": 2, "besides": ["Capacity"]},
            },
            "Impossible",
        ),
        Situation(
            "A full cluster and few nodes with the label",
            "Three members select `disk: ssd`: all nodes are half full, and the one with the label is small.",
            [
                b.node("n1", cpu=2, labels={"disk": "ssd"}),
                b.node("n2", cpu=2),
                seated("a", "n1", 1),
                seated("c", "n2", 1),
                *crew(3, 1, where={"disk": "ssd"}),
            ],
            {
                "Capacity": {"requested": "3", "free": "1", "eligibleNodes": 1, "holds": 1, "needed": 3},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Capacity"]},
            },
            "Impossible",
        ),
        Situation(
            "A full cluster and a taint",
            "Three members: the open node is small and half full, the other one is full and tainted.",
            [
                b.node("n1", cpu=2),
                b.node("n2", cpu=2, taints=["team=red:NoSchedule"]),
                seated("a", "n1", 1),
                seated("c", "n2", 2),
                *crew(3, 1),
            ],
            {
                "Capacity": {"requested": "3", "free": "1", "eligibleNodes": 1, "holds": 1, "needed": 3},
                "Affinity": {"excluded": {"taints": 1}, "besides": ["Capacity"]},
            },
            "Impossible",
        ),
        Situation(
            "A full cluster and members that keep apart",
            "Three members must be on different nodes: there are two, and one of them is full.",
            [
                b.node("n1", cpu=2),
                b.node("n2", cpu=2),
                seated("a", "n1", 2),
                *crew(3, 1, labels=APP, anti_affinity=[b.near("hostname", APP)]),
            ],
            {
                "Capacity": {"requested": "3", "free": "2", "holds": 1, "needed": 3},
                "Affinity": {"terms": [f"pod anti-affinity by {b.HOSTNAME}"], "besides": ["Capacity"]},
            },
            "Impossible",
        ),
        Situation(
            "A full cluster and a claim that does not exist",
            "Two members and room for one; the claim that they mount is missing.",
            [b.node("n1", cpu=2), seated("old", "n1", 1), *crew(2, 1, claims=["data"])],
            {
                "Capacity": {"requested": "2", "free": "1", "eligibleNodes": 1, "holds": 1, "needed": 2},
                "Volume": {"problems": ["claim default/data does not exist"], "besides": ["Capacity"]},
            },
        ),
        Situation(
            "A full cluster and a volume in a small zone",
            "Three members share a volume in zone z1, which has 2 cpu; zone z2 is full.",
            [
                b.node("n1", cpu=2, zone="z1"),
                b.node("n2", cpu=2, zone="z2"),
                seated("old", "n2", 2),
                *shared_volume_in("z1"),
                *crew(3, 1, claims=["disk"]),
            ],
            {
                "Capacity": {"requested": "3", "free": "2", "eligibleNodes": 1, "holds": 2, "needed": 3},
                "Volume": {"problems": [], "reached": 1, "besides": ["Capacity"]},
            },
            "Impossible",
        ),
        Situation(
            "A full cluster and a device claim",
            "Two members with a device claim each, and room for one.",
            [b.node("n1", cpu=2), seated("old", "n1", 1), *crew(2, spec=claiming())],
            {
                "Capacity": {"requested": "2", "free": "1", "eligibleNodes": 1, "holds": 1, "needed": 2},
                "Devices": {"claims": ["gpu"], "besides": ["Capacity"]},
            },
        ),
        Situation(
            "A full cluster and a cordoned node",
            "Three members: one node is half full, the other is too, and cordoned.",
            [
                b.node("n1", cpu=2),
                b.node("n2", cpu=2, cordoned=True),
                seated("a", "n1", 1),
                seated("c", "n2", 1),
                *crew(3, 1),
            ],
            {
                "Capacity": {"requested": "3", "free": "1", "eligibleNodes": 1, "holds": 1, "needed": 3},
                "Health": {"nodes": ["n2"], "unwell": 1, "besides": ["Capacity"]},
            },
        ),
        Situation(
            "A full cluster and a label that no node has",
            "Two members must be in one block, which is a label of no node; the only node is full.",
            [b.node("n1", cpu=2), seated("old", "n1", 2), *crew(2, 1, level="example.com/block")],
            {
                "Capacity": {"requested": "2", "holds": 0, "needed": 2},
                "Topology": {"level": "example.com/block", "domains": 0, "besides": ["Capacity"]},
            },
            "Impossible",
        ),
        Situation(
            "Small nodes with the label, a full one without",
            "A pod of 2 cpu selects `disk: ssd`: such nodes have 1 cpu each, and a larger node is full.",
            [
                *(b.node(f"n{i}", cpu=1, labels={"disk": "ssd"}) for i in range(3)),
                b.node("n9", cpu=4),
                seated("old", "n9", 3),
                one(2, where={"disk": "ssd"}),
            ],
            {
                "Fragmentation": {"requested": "2", "free": "3", "eligibleNodes": 3, "holds": 0, "needed": 1},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Fragmentation"]},
            },
            "Impossible",
        ),
        Situation(
            "A little on every node, and a claim that does not exist",
            "A pod of 2 cpu; two nodes have 1 cpu free each, and its claim is missing.",
            [
                *(b.node(n, cpu=2) for n in ("n1", "n2")),
                *(seated(f"old-{n}", n, 1) for n in ("n1", "n2")),
                one(2, claims=["data"]),
            ],
            {
                "Fragmentation": {"requested": "2", "free": "2", "eligibleNodes": 2, "holds": 0, "needed": 1},
                "Volume": {"problems": ["claim default/data does not exist"], "besides": ["Fragmentation"]},
            },
        ),
        Situation(
            "A little on every node, and a device claim",
            "A pod of 1 cpu with a device claim; two nodes have half a cpu free each.",
            [
                *(b.node(n, cpu=1) for n in ("n1", "n2")),
                *(seated(f"old-{n}", n, "500m") for n in ("n1", "n2")),
                one(spec=claiming()),
            ],
            {
                "Fragmentation": {"requested": "1", "free": "1", "eligibleNodes": 2, "holds": 0, "needed": 1},
                "Devices": {"claims": ["gpu"], "besides": ["Fragmentation"]},
            },
        ),
    ],
)
