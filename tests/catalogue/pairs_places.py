"""Two causes: constraints of which either, or only both, would have to be lifted."""

from tests.catalogue.situation import Chapter, Situation, claiming, crew, one, seated, shared_volume_in
from tests.oracle import builders as b

SSD = {"disk": "ssd"}
FIRST = b.pod("first", 3, priority=5, created=1)

EITHER = Chapter(
    "Either is in the way, and without one of them it would fit",
    [
        Situation(
            "Others went first, or a cordoned node",
            "Two members: a pod of higher priority took room on n1, and n2 is cordoned.",
            [
                b.node("n1", cpu=2),
                b.node("n2", cpu=2, cordoned=True),
                b.pod("first", 1, priority=5, created=1),
                *crew(2, 1),
            ],
            {
                "Priority": {"ahead": ["default/first"], "holds": 1, "needed": 2},
                "Health": {"nodes": ["n2"], "unwell": 1, "holds": 1, "needed": 2},
            },
        ),
        Situation(
            "Others went first, or a rack",
            "Three members must be in one rack; a pod of higher priority took most of the larger rack.",
            [
                b.node("n1", cpu=4, rack="r1"),
                b.node("n2", cpu=2, rack="r2"),
                FIRST,
                *crew(3, 1, level="rack"),
            ],
            {
                "Priority": {"ahead": ["default/first"], "holds": 2, "needed": 3},
                "Topology": {"domain": "r2", "domains": 2, "holds": 2, "needed": 3},
            },
        ),
        Situation(
            "Others went first, or a selector",
            "Three members select `disk: ssd`; a pod of higher priority took most of the node that has it.",
            [b.node("n1", cpu=4, labels=SSD), b.node("n2", cpu=2), FIRST, *crew(3, 1, where=SSD)],
            {
                "Priority": {"ahead": ["default/first"], "holds": 1, "needed": 3},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "holds": 1, "needed": 3},
            },
        ),
        Situation(
            "Others went first, or a volume elsewhere",
            "Three members share a volume in zone z1, where a pod of higher priority took most of the room.",
            [
                b.node("n1", cpu=4, zone="z1"),
                b.node("n2", cpu=2, zone="z2"),
                FIRST,
                *shared_volume_in("z1"),
                *crew(3, 1, claims=["disk"]),
            ],
            {
                "Priority": {"ahead": ["default/first"], "holds": 1, "needed": 3},
                "Volume": {"problems": [], "reached": 1, "holds": 1, "needed": 3},
            },
        ),
        Situation(
            "A rack, or a cordoned node in it",
            "Four members must be in one rack of 2 cpu; with a cordoned node the first rack would hold them.",
            [
                b.node("n1", cpu=2, rack="r1"),
                b.node("n2", cpu=2, rack="r2"),
                b.node("n3", cpu=4, rack="r1", cordoned=True),
                *crew(4, 1, level="rack"),
            ],
            {
                "Topology": {"domains": 2, "holds": 2, "needed": 4},
                "Health": {"nodes": ["n3"], "unwell": 1, "holds": 2, "needed": 4},
            },
        ),
        Situation(
            "A rack, or a selector",
            "Three members in one rack with `disk: ssd`: two racks have one such node, and one has another.",
            [
                b.node("n1", cpu=2, rack="r1", labels=SSD),
                b.node("n2", cpu=2, rack="r2", labels=SSD),
                b.node("n3", cpu=2, rack="r1"),
                *crew(3, 1, level="rack", where=SSD),
            ],
            {
                "Topology": {"domains": 2, "holds": 2, "needed": 3},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "holds": 2, "needed": 3},
            },
            "Impossible",
        ),
        Situation(
            "A rack, or a volume elsewhere",
            "Three members in one rack share a volume in zone z1, in which each rack has one node.",
            [
                b.node("n1", cpu=2, rack="r1", zone="z1"),
                b.node("n2", cpu=2, rack="r2", zone="z1"),
                b.node("n3", cpu=2, rack="r1", zone="z2"),
                *shared_volume_in("z1"),
                *crew(3, 1, level="rack", claims=["disk"]),
            ],
            {
                "Topology": {"domains": 2, "holds": 2, "needed": 3},
                "Volume": {"problems": [], "reached": 2, "holds": 2, "needed": 3},
            },
            "Impossible",
        ),
        Situation(
            "A cordoned node, or a selector",
            "Two members select `disk: ssd`; the node that has it is cordoned, another one is free.",
            [b.node("n1", cpu=2, labels=SSD, cordoned=True), b.node("n2", cpu=2), *crew(2, 1, where=SSD)],
            {
                "Health": {"nodes": ["n1"], "unwell": 1, "holds": 0, "needed": 2},
                "Affinity": {
                    "excluded": {"node selector or affinity": 1, "cordon": 1},
                    "holds": 0,
                    "needed": 2,
                },
            },
        ),
        Situation(
            "A cordoned node, or a volume elsewhere",
            "Three members share a volume in zone z1, one of whose two nodes is cordoned; z2 is free.",
            [
                b.node("n1", cpu=2, zone="z1"),
                b.node("n2", cpu=2, zone="z2"),
                b.node("n3", cpu=2, zone="z1", cordoned=True),
                *shared_volume_in("z1"),
                *crew(3, 1, claims=["disk"]),
            ],
            {
                "Health": {"nodes": ["n3"], "unwell": 1, "holds": 2, "needed": 3},
                "Volume": {"problems": [], "reached": 2, "holds": 2, "needed": 3},
            },
        ),
        Situation(
            "A selector, or a volume elsewhere",
            "A pod selects `disk: ssd`, in zone z1, and its volumes are made in zone z2.",
            [
                b.node("n1", zone="z1", labels=SSD),
                b.node("n2", zone="z2"),
                b.storage_class("late", zones=["z2"]),
                b.pvc("disk", storage_class="late"),
                one(1, claims=["disk"], where=SSD),
            ],
            {
                "Affinity": {
                    "excluded": {"node selector or affinity": 1, "volumes": 1},
                    "holds": 0,
                    "needed": 1,
                },
                "Volume": {"problems": [], "reached": 1, "holds": 0, "needed": 1},
            },
            "Impossible",
        ),
    ],
)

BOTH = Chapter(
    "Both are in the way, and lifting one of them is not enough",
    [
        Situation(
            "A rack and a selector",
            "Three members in one rack with `disk: ssd`: racks have 2 cpu, and one of two has the label.",
            [
                b.node("n1", cpu=2, rack="r1", labels=SSD),
                b.node("n2", cpu=2, rack="r2"),
                *crew(3, 1, level="rack", where=SSD),
            ],
            {
                "Topology": {"domains": 2, "domain": "r1", "holds": 2, "needed": 3, "besides": ["Affinity"]},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Topology"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A rack and a cordoned node",
            "Three members in one rack: racks have 2 cpu, and one of two is cordoned.",
            [
                b.node("n1", cpu=2, rack="r1"),
                b.node("n2", cpu=2, rack="r2", cordoned=True),
                *crew(3, 1, level="rack"),
            ],
            {
                "Topology": {"domains": 2, "domain": "r1", "holds": 2, "needed": 3, "besides": ["Health"]},
                "Health": {"nodes": ["n2"], "unwell": 1, "besides": ["Topology"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A rack and a volume elsewhere",
            "Three members in one rack share a volume in zone z1: racks have 2 cpu, and one is in z1.",
            [
                b.node("n1", cpu=2, rack="r1", zone="z1"),
                b.node("n2", cpu=2, rack="r2", zone="z2"),
                *shared_volume_in("z1"),
                *crew(3, 1, level="rack", claims=["disk"]),
            ],
            {
                "Topology": {"domains": 2, "domain": "r1", "holds": 2, "needed": 3, "besides": ["Volume"]},
                "Volume": {"problems": [], "reached": 1, "besides": ["Topology"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A cordoned node and a selector",
            "Three members select `disk: ssd`: one node of 2 cpu has it, the other has not and is cordoned.",
            [b.node("n1", cpu=2, labels=SSD), b.node("n2", cpu=2, cordoned=True), *crew(3, 1, where=SSD)],
            {
                "Health": {"nodes": ["n2"], "unwell": 1, "holds": 2, "needed": 3, "besides": ["Affinity"]},
                "Affinity": {"holds": 2, "needed": 3, "besides": ["Health"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A cordoned node and pods that are in the way",
            "A pod keeps off `app: noisy`, which runs on the open node and on the cordoned one.",
            [
                b.node("n1", cpu=2),
                b.node("n2", cpu=2, cordoned=True),
                seated("noisy-1", "n1", 2, labels={"app": "noisy"}),
                seated("noisy-2", "n2", labels={"app": "noisy"}),
                one(1, anti_affinity=[b.near("hostname", {"app": "noisy"})]),
            ],
            {
                "Health": {"nodes": ["n2"], "unwell": 1, "holds": 0, "besides": ["Affinity"]},
                "Affinity": {"excluded": {"cordon": 1, "other pods": 1}, "besides": ["Health"]},
            },
            room="Capacity",
        ),
        Situation(
            "A cordoned node and a volume elsewhere",
            "Three members share a volume in zone z1, of 2 cpu; the node of zone z2 is cordoned.",
            [
                b.node("n1", cpu=2, zone="z1"),
                b.node("n2", cpu=2, zone="z2", cordoned=True),
                *shared_volume_in("z1"),
                *crew(3, 1, claims=["disk"]),
            ],
            {
                "Health": {"nodes": ["n2"], "unwell": 1, "holds": 2, "needed": 3, "besides": ["Volume"]},
                "Volume": {"problems": [], "reached": 1, "besides": ["Health"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A selector and a volume elsewhere",
            "Three members select `disk: ssd` and share a volume in zone z1; one node of 2 cpu has both.",
            [
                b.node("n1", cpu=2, zone="z1", labels=SSD),
                b.node("n2", cpu=2, zone="z2"),
                *shared_volume_in("z1"),
                *crew(3, 1, where=SSD, claims=["disk"]),
            ],
            {
                "Affinity": {"excluded": {"node selector or affinity": 1}, "holds": 2, "besides": ["Volume"]},
                "Volume": {"problems": [], "reached": 1, "holds": 2, "besides": ["Affinity"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "Others went first, and a cordoned node",
            "Five members: a pod of higher priority took most of n1, and n2 is cordoned.",
            [b.node("n1", cpu=4), b.node("n2", cpu=2, cordoned=True), FIRST, *crew(5, 1)],
            {
                "Priority": {"ahead": ["default/first"], "holds": 1, "needed": 5, "besides": ["Health"]},
                "Health": {"nodes": ["n2"], "unwell": 1, "besides": ["Priority"]},
            },
            room="Capacity",
        ),
        Situation(
            "Others went first, and a selector",
            "Five members select `disk: ssd`: the node that has it is small, and most of it was taken.",
            [b.node("n1", cpu=4, labels=SSD), b.node("n2", cpu=2), FIRST, *crew(5, 1, where=SSD)],
            {
                "Priority": {"ahead": ["default/first"], "holds": 1, "needed": 5, "besides": ["Affinity"]},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Priority"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "Others went first, and a rack",
            "Five members in one rack: the larger has 4 cpu, and a pod of higher priority took three.",
            [
                b.node("n1", cpu=4, rack="r1"),
                b.node("n2", cpu=2, rack="r2"),
                FIRST,
                *crew(5, 1, level="rack"),
            ],
            {
                "Priority": {"ahead": ["default/first"], "holds": 2, "needed": 5, "besides": ["Topology"]},
                "Topology": {"domains": 2, "domain": "r2", "holds": 2, "besides": ["Priority"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "Others went first, and a volume elsewhere",
            "Five members share a volume in zone z1, of 4 cpu, of which a higher priority took three.",
            [
                b.node("n1", cpu=4, zone="z1"),
                b.node("n2", cpu=2, zone="z2"),
                FIRST,
                *shared_volume_in("z1"),
                *crew(5, 1, claims=["disk"]),
            ],
            {
                "Priority": {"ahead": ["default/first"], "holds": 1, "needed": 5, "besides": ["Volume"]},
                "Volume": {"problems": [], "reached": 1, "holds": 1, "besides": ["Priority"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A device claim and a selector",
            "A pod asks for a GPU by a claim, on nodes that do not exist.",
            [b.node("n1"), one(spec={**claiming(), "nodeSelector": SSD})],
            {
                "Devices": {"claims": ["gpu"], "besides": ["Affinity"]},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Devices"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A device claim and a cordoned node",
            "A pod asks for a GPU by a claim, and the only node is cordoned.",
            [b.node("n1", cordoned=True), one(spec=claiming())],
            {
                "Devices": {"claims": ["gpu"], "besides": ["Health"]},
                "Health": {"nodes": ["n1"], "unwell": 1, "besides": ["Devices"]},
            },
            room="Capacity",
        ),
        Situation(
            "A device claim and a label that no node has",
            "Two members with device claims must be in one block, which is a label of no node.",
            [b.node("n1"), *crew(2, level="example.com/block", spec=claiming())],
            {
                "Topology": {"domains": 0, "holds": 0, "needed": 2, "besides": ["Devices"]},
                "Devices": {"claims": ["gpu"], "besides": ["Topology"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A device claim and a claim that does not exist",
            "A pod asks for a GPU by a claim, and mounts a volume claim that does not exist.",
            [
                b.node("n1"),
                {
                    **(pod := one(spec=claiming())),
                    "spec": {
                        **pod["spec"],
                        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
                    },
                },
            ],
            {
                "Devices": {"claims": ["gpu"], "besides": ["Volume"]},
                "Volume": {"problems": ["claim default/data does not exist"], "besides": ["Devices"]},
            },
            room="Capacity",
        ),
        Situation(
            "A taint and a claim that does not exist",
            "The only node has a taint that a pod does not tolerate, and its claim is missing.",
            [b.node("n1", taints=["team=red:NoSchedule"]), one(1, claims=["data"])],
            {
                "Affinity": {"excluded": {"taints": 1}, "holds": 0, "besides": ["Volume"]},
                "Volume": {"problems": ["claim default/data does not exist"], "besides": ["Affinity"]},
            },
            "Impossible",
            room="Capacity",
        ),
        Situation(
            "A cordoned node and a claim that does not exist",
            "The only node is cordoned, and the claim of a pod is missing.",
            [b.node("n1", cordoned=True), one(1, claims=["data"])],
            {
                "Health": {"nodes": ["n1"], "unwell": 1, "besides": ["Volume"]},
                "Volume": {"problems": ["claim default/data does not exist"], "besides": ["Health"]},
            },
            room="Capacity",
        ),
        Situation(
            "Two misspelt labels",
            "Two members select a label value, and must be in one block, that no node has.",
            [b.node("n1"), *crew(2, 1, where=SSD, level="example.com/block")],
            {
                "Topology": {"domains": 0, "holds": 0, "besides": ["Affinity"]},
                "Affinity": {"excluded": {"node selector or affinity": 1}, "besides": ["Topology"]},
            },
            "Impossible",
            room="Capacity",
        ),
    ],
)
