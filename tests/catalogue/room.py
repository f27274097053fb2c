"""Groups for which there is too little room, or whose room others took."""

from tests.catalogue.situation import Chapter, Situation, crew, one, seated
from tests.oracle import builders as b

CAPACITY = Chapter(
    "Capacity",
    [
        Situation(
            "Too little cpu",
            "Three members of 4 cpu each, on two nodes of 8 cpu that are half full.",
            [b.node("n1"), b.node("n2"), seated("a", "n1", 4), seated("c", "n2", 4), *crew(3, 4)],
            {
                "Capacity": {
                    "resource": "cpu",
                    "requested": "12",
                    "free": "8",
                    "eligibleNodes": 2,
                    "holds": 2,
                    "needed": 3,
                }
            },
            remedy="members",
        ),
        Situation(
            "Too little memory",
            "A pod asks for 20Gi of memory; both nodes have 32Gi and 24Gi of it are taken on each.",
            [
                *(b.node(n, memory="32Gi") for n in ("n1", "n2")),
                *(seated(f"old-{n}", n, memory="24Gi") for n in ("n1", "n2")),
                one(memory="20Gi"),
            ],
            {
                "Capacity": {
                    "resource": "memory",
                    "requested": "20Gi",
                    "free": "16Gi",
                    "eligibleNodes": 2,
                    "holds": 0,
                    "needed": 1,
                }
            },
            remedy="request",
        ),
        Situation(
            "Too few GPUs",
            "Eight members of eight GPUs each, and seven such nodes, all of them empty.",
            [*(b.node(f"n{i}", gpu=8) for i in range(7)), *crew(8, gpu=8)],
            {
                "Capacity": {
                    "resource": b.GPU,
                    "requested": "64",
                    "free": "56",
                    "eligibleNodes": 7,
                    "holds": 7,
                    "needed": 8,
                }
            },
            "Impossible",
            remedy="nodes",
        ),
        Situation(
            "A node takes no more pods",
            "The node has cpu to spare, but runs eight of the ten pods that it may run; three members wait.",
            [
                b.node("n1", cpu=64, pods=10),
                *(seated(f"old-{i}", "n1", "100m") for i in range(8)),
                *crew(3, "100m"),
            ],
            {
                "Capacity": {
                    "resource": "pods",
                    "requested": "3",
                    "free": "2",
                    "eligibleNodes": 1,
                    "holds": 2,
                    "needed": 3,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "Too little scratch space",
            "Two members of 60Gi of ephemeral storage; the node has 100Gi.",
            [
                b.node("n1", allocatable={"ephemeral-storage": "100Gi"}),
                *crew(2, requests={"ephemeral-storage": "60Gi"}),
            ],
            {
                "Capacity": {
                    "resource": "ephemeral-storage",
                    "requested": "120Gi",
                    "free": "100Gi",
                    "eligibleNodes": 1,
                    "holds": 1,
                    "needed": 2,
                }
            },
            "Impossible",
            remedy="members",
        ),
        Situation(
            "No room for late members",
            "Two of four members run; the other two need a node that other pods have filled.",
            [
                b.node("n1", cpu=4),
                b.node("n2", cpu=4),
                b.pod_group("crew", 4),
                *b.pods("crew", 2, 2, group="crew", node="n1"),
                seated("old", "n2", 3),
                *b.pods("crew", 2, 2, group="crew", start=2),
            ],
            {"Capacity": {"resource": "cpu", "requested": "4", "free": "1", "holds": 0, "needed": 2}},
            remedy="quorum",
        ),
        Situation(
            "A full cluster",
            "A lone pod of 1 cpu; the only node is full.",
            [b.node("n1", cpu=4), seated("old", "n1", 4), one(1)],
            {"Capacity": {"resource": "cpu", "requested": "1", "free": "0", "eligibleNodes": 1, "holds": 0}},
            remedy="nodes",
        ),
        Situation(
            "Members of two shapes",
            "A launcher of 1 cpu and two workers of 4 cpu; the node has 8 cpu, all of it free.",
            [
                b.node("n1", cpu=8),
                *crew(1, 1, quorum=3),
                *b.pods("crew", 2, 4, group="crew", start=1, created=10),
            ],
            {"Capacity": {"resource": "cpu", "requested": "9", "free": "8", "holds": 2, "needed": 3}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "Pods that are still leaving",
            "The node will have room when a pod that is being deleted has left.",
            [b.node("n1", cpu=4), seated("old", "n1", 3, deleted=True), *crew(2, 1)],
            {"Capacity": {"resource": "cpu", "requested": "2", "free": "1", "holds": 1, "needed": 2}},
            remedy="members",
        ),
        Situation(
            "An elastic gang below its quorum",
            "Six of eight members are needed, and there is room for four.",
            [b.node("n1", cpu=4), *crew(8, 1, quorum=6)],
            {"Capacity": {"resource": "cpu", "requested": "6", "free": "4", "holds": 4, "needed": 6}},
            "Impossible",
            remedy="quorum",
        ),
        Situation(
            "A host port that is taken everywhere",
            "A pod wants host port 8080, and on both nodes another pod has it.",
            [
                b.node("n1"),
                b.node("n2"),
                *(seated(f"web-{n}", n, ports=[8080]) for n in ("n1", "n2")),
                one(1, ports=[8080]),
            ],
            {"Capacity": {"eligibleNodes": 0, "excluded": {"host ports": 2}, "holds": 0, "needed": 1}},
            remedy="port",
        ),
        Situation(
            "No node is managed",
            "The policy gives maitred only nodes with the label `pool: ours`, and no node has it.",
            [b.node("n1"), b.node("n2"), one(1)],
            {"Capacity": {"eligibleNodes": 0, "excluded": {"nodes.managed of the policy": 2}, "holds": 0}},
            "Impossible",
            policy={"nodes": {"managed": {"matchLabels": {"pool": "ours"}}}},
        ),
    ],
)

FRAGMENTATION = Chapter(
    "Fragmentation",
    [
        Situation(
            "A little on every node",
            "A pod of 2 cpu; three nodes have 1 cpu free each.",
            [
                *(b.node(n, cpu=2) for n in ("n1", "n2", "n3")),
                *(seated(f"old-{n}", n, 1) for n in ("n1", "n2", "n3")),
                one(2),
            ],
            {
                "Fragmentation": {
                    "resource": "cpu",
                    "requested": "2",
                    "free": "3",
                    "eligibleNodes": 3,
                    "shortOf": "cpu",
                    "holds": 0,
                    "needed": 1,
                }
            },
            remedy="request",
        ),
        Situation(
            "GPUs in sixes",
            "Three members of eight GPUs; four nodes have six of their eight free.",
            [
                *(b.node(f"n{i}", gpu=8) for i in range(4)),
                *(seated(f"old-{i}", f"n{i}", gpu=2) for i in range(4)),
                *crew(3, gpu=8),
            ],
            {
                "Fragmentation": {
                    "resource": b.GPU,
                    "requested": "24",
                    "free": "24",
                    "eligibleNodes": 4,
                    "shortOf": b.GPU,
                    "holds": 0,
                    "needed": 3,
                }
            },
            remedy="request",
        ),
        Situation(
            "Cpu here, memory there",
            "A pod of 4 cpu and 16Gi; one node has the cpu, the other the memory.",
            [
                b.node("n1", cpu=8, memory="32Gi"),
                b.node("n2", cpu=8, memory="32Gi"),
                seated("a", "n1", memory="24Gi"),
                seated("c", "n2", 7),
                one(4, "16Gi"),
            ],
            {"Fragmentation": {"shortOf": "memory", "node": "n1", "holds": 0, "needed": 1}},
            remedy="request",
        ),
        Situation(
            "One host port per node",
            "Three members want the same host port, and there are two nodes.",
            [b.node("n1"), b.node("n2"), *crew(3, 1, ports=[8080])],
            {"Fragmentation": {"eligibleNodes": 2, "holds": 2, "needed": 3}},
            "Impossible",
            remedy="port",
        ),
    ],
)

PRIORITY = Chapter(
    "Priority",
    [
        Situation(
            "A group of higher priority",
            "Three members fit, until a pod of higher priority takes its place in the same cycle.",
            [b.node("n1", cpu=4), b.pod("first", 2, priority=5, created=11), *crew(3, 1)],
            {"Priority": {"ahead": ["default/first"], "holds": 2, "needed": 3}},
            remedy="priority",
        ),
        Situation(
            "An older group",
            "Of two gangs of one priority the older takes the room.",
            [
                b.node("n1", cpu=4),
                b.pod_group("first", 3, created=1),
                *b.pods("first", 3, 1, group="first", created=1),
                *crew(2, 1),
            ],
            {"Priority": {"ahead": ["default/first"], "holds": 1, "needed": 2}},
            remedy="priority",
        ),
        Situation(
            "First come, first served",
            "The policy orders by age alone, so an older pod of lower priority goes first.",
            [b.node("n1", cpu=4), b.pod("first", 3, created=1), *crew(2, 1, priority=9)],
            {"Priority": {"ahead": ["default/first"], "holds": 1, "needed": 2}},
            policy={"order": "fifo"},
            remedy="members",
        ),
        Situation(
            "Places that were promised",
            "A pod of high priority preempts a pod of lower priority, and the room beside it is held too.",
            [
                b.node("n1", cpu=8),
                seated("lesser", "n1", 4, priority=0),
                b.pod("urgent", 8, priority=10, created=11),
                one(4),
            ],
            {"Priority": {"ahead": ["default/urgent"], "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
    ],
)
