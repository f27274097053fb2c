"""Groups that wait because devices or nodes are unwell, or pods do not leave when they should."""

from tests.catalogue.situation import Chapter, Situation, crew, one, seated, without_plugin
from tests.oracle import builders as b
from tests.oracle.builders import Obj

COUNT, PRESENT = "nvidia.com/gpu.count", "nvidia.com/gpu.present"


def broken(node: str, unwell: int, of: int = 8) -> Obj:
    cause = "NotAnswering" if unwell == of else "Unhealthy"
    return {"node": node, "resource": b.GPU, "unwell": unwell, "of": of, "cause": cause}


def unregistered(node: str, of: int | None = 8, label: str = COUNT) -> Obj:
    found = {"node": node, "resource": b.GPU, "unwell": of, "of": of, "cause": "NotRegistered"}
    return {**found, "label": label}


BROKEN = Chapter(
    "Broken devices",
    [
        Situation(
            "Broken GPUs on the only node",
            "A pod asks for eight GPUs; the node has eight, of which three are not allocatable.",
            [b.node("n1", gpu=8, broken=3), one(gpu=8)],
            {"Health": {"devices": [broken("n1", 3)], "nodes": [], "unwell": 0, "holds": 0, "needed": 1}},
            remedy="request",
        ),
        Situation(
            "Broken GPUs on one of two nodes",
            "Two members of eight GPUs; of two such nodes one has three that are not allocatable.",
            [b.node("n1", gpu=8, broken=3), b.node("n2", gpu=8), *crew(2, gpu=8)],
            {"Health": {"devices": [broken("n1", 3)], "unwell": 0, "holds": 1, "needed": 2}},
            remedy="members",
        ),
        Situation(
            "All GPUs of the node are broken",
            "A pod asks for four GPUs; the only node has eight, and none is allocatable.",
            [b.node("n1", gpu=8, broken=8), one(gpu=4)],
            {"Health": {"devices": [broken("n1", 8)], "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "A device plugin that is gone",
            "The node still has its GPUs as capacity, but no longer offers any.",
            [without_plugin(b.node("n1", gpu=8)), one(gpu=8)],
            {"Health": {"devices": [broken("n1", 8)], "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "A device plugin that is not registered",
            "The node has no GPUs in its status yet; its label says that it has eight.",
            [b.node("n1", labels={COUNT: "8"}), one(gpu=8)],
            {"Health": {"devices": [unregistered("n1")], "nodes": [], "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "A device plugin that is not registered, and GPUs that nobody has counted",
            "The node has no GPUs in its status yet; its labels say that it has some.",
            [b.node("n1", labels={PRESENT: "true"}), one(gpu=8)],
            {"Health": {"devices": [unregistered("n1", None, PRESENT)], "holds": 0, "needed": 1}},
        ),
        Situation(
            "More GPUs than the label of the node says",
            "A pod asks for nine GPUs; the plugin is not registered, and the label says eight.",
            [b.node("n1", labels={COUNT: "8"}), one(gpu=9)],
            {"Request": {"resource": b.GPU, "requested": "9", "largest": "8", "node": "n1"}},
            "Impossible",
        ),
        Situation(
            "Device plugins that are restarted everywhere",
            "Two members of eight GPUs; after a restart of the device plugins no node offers any.",
            [*(b.node(f"n{i}", gpu=8, broken=8) for i in (1, 2)), *crew(2, gpu=8)],
            {"Health": {"devices": [broken("n1", 8), broken("n2", 8)], "holds": 0, "needed": 2}},
            remedy="nodes",
        ),
        Situation(
            "Broken GPUs in another rack",
            "Two members of eight GPUs in one rack; each rack has a broken GPU, and one rack runs others.",
            [
                b.node("n1", gpu=8, broken=1, rack="r1"),
                b.node("n2", gpu=8, rack="r1"),
                seated("old", "n2", gpu=8),
                b.node("n3", gpu=8, broken=1, rack="r2"),
                b.node("n4", gpu=8, rack="r2"),
                *crew(2, gpu=8, level="rack"),
            ],
            {"Health": {"devices": [broken("n3", 1)], "holds": 1, "needed": 2}},
            remedy="members",
        ),
        Situation(
            "Broken GPUs in the only rack",
            "Two members of eight GPUs in one rack; one GPU there is broken.",
            [
                b.node("n1", gpu=8, broken=1, rack="r1"),
                b.node("n2", gpu=8, rack="r1"),
                *crew(2, gpu=8, level="rack"),
            ],
            {"Health": {"devices": [broken("n1", 1)], "holds": 1, "needed": 2}},
            remedy="members",
        ),
        Situation(
            "A cordon and broken GPUs",
            "Two members of eight GPUs; one node is cordoned, the other has three that are broken.",
            [b.node("n1", gpu=8, broken=3), b.node("n2", gpu=8, cordoned=True), *crew(2, gpu=8)],
            {
                "Health": {
                    "devices": [broken("n1", 3)],
                    "nodes": ["n2"],
                    "unwell": 1,
                    "holds": 0,
                    "needed": 2,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "A cordon that is not the reason",
            "A pod asks for eight GPUs, three of the only eight are broken; a node without any is cordoned.",
            [b.node("n1", gpu=8, broken=3), b.node("n2", cordoned=True), one(gpu=8)],
            {"Health": {"devices": [broken("n1", 3)], "nodes": [], "unwell": 0, "holds": 0, "needed": 1}},
            remedy="request",
        ),
        Situation(
            "Broken GPUs that are not the reason",
            "A pod asks for eight GPUs; one of two nodes has a broken one, and both run others.",
            [
                b.node("n1", gpu=8, broken=1),
                b.node("n2", gpu=8),
                seated("a", "n1", gpu=2),
                seated("c", "n2", gpu=1),
                one(gpu=8),
            ],
            {
                "Fragmentation": {
                    "resource": b.GPU,
                    "requested": "8",
                    "free": "12",
                    "eligibleNodes": 2,
                    "shortOf": b.GPU,
                    "holds": 0,
                    "needed": 1,
                }
            },
            remedy="request",
        ),
        Situation(
            "More GPUs than the node has when it is whole",
            "A pod asks for nine GPUs; the node has eight, of which three are broken.",
            [b.node("n1", gpu=8, broken=3), one(gpu=9)],
            {"Request": {"resource": b.GPU, "requested": "9", "largest": "8", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "Taken GPUs beside broken ones",
            "A pod asks for eight GPUs; both nodes are taken, and one has three broken ones besides.",
            [
                b.node("n1", gpu=8, broken=3),
                b.node("n2", gpu=8),
                seated("a", "n1", gpu=5),
                seated("c", "n2", gpu=8),
                one(gpu=8),
            ],
            {"Capacity": {"requested": "8", "free": "0", "eligibleNodes": 2, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
    ],
)


def started(pod: Obj, at: str) -> Obj:
    return {**pod, "status": {**pod["status"], "startTime": at}}


MIN_RUNTIME = {"maitred.dev/min-runtime": "4h"}
LOST = Chapter(
    "Lost nodes, and pods that stay",
    [
        Situation(
            "A rack that has failed",
            "Two members in one rack; one rack is silent, the other is taken.",
            [
                *(b.node(f"n{i}", gpu=8, rack="r1", ready=None) for i in (1, 2)),
                *(b.node(f"n{i}", gpu=8, rack="r2") for i in (3, 4)),
                *(seated(f"old-{i}", f"n{i}", gpu=8) for i in (3, 4)),
                *crew(2, gpu=8, level="rack"),
            ],
            {"Health": {"nodes": ["n1", "n2"], "unwell": 2, "holds": 0, "needed": 2}},
            remedy="health",
        ),
        Situation(
            "A rack that has failed with all that ran there",
            "The pods of the silent rack still count as running, and the other rack is taken.",
            [
                *(b.node(f"n{i}", gpu=8, rack="r1", ready=None) for i in (1, 2)),
                *(b.node(f"n{i}", gpu=8, rack="r2") for i in (3, 4)),
                *(seated(f"old-{i}", f"n{i}", gpu=8) for i in (1, 2, 3, 4)),
                *crew(2, gpu=8, level="rack"),
            ],
            {
                "Capacity": {
                    "resource": b.GPU,
                    "requested": "16",
                    "free": "0",
                    "eligibleNodes": 2,
                    "excluded": {"health": 2},
                    "holds": 0,
                    "needed": 2,
                }
            },
            remedy="nodes",
        ),
        Situation(
            "A member on a node that is silent",
            "One of two members runs on a silent node; the node for the other is taken.",
            [
                b.node("n1", gpu=8, ready=None),
                b.node("n2", gpu=8),
                seated("old", "n2", gpu=8),
                b.pod_group("crew", 2),
                *b.pods("crew", 1, gpu=8, group="crew", node="n1"),
                *b.pods("crew", 1, gpu=8, group="crew", start=1),
            ],
            {"Capacity": {"free": "0", "eligibleNodes": 1, "excluded": {"health": 1}, "needed": 1}},
            remedy="quorum",
        ),
        Situation(
            "A member whose node is gone",
            "One of two members was on a node that no longer exists; both nodes that do are taken.",
            [
                *(b.node(n, gpu=8) for n in ("n1", "n2")),
                *(seated(f"old-{n}", n, gpu=8) for n in ("n1", "n2")),
                b.pod_group("crew", 2),
                *b.pods("crew", 1, gpu=8, group="crew", node="n9"),
                *b.pods("crew", 1, gpu=8, group="crew", start=1),
            ],
            {"Capacity": {"requested": "8", "free": "0", "eligibleNodes": 2, "holds": 0, "needed": 1}},
            remedy="quorum",
        ),
        Situation(
            "A pod that should have left",
            "The pod on the only node should have left long ago, and is still there.",
            [b.node("n1", gpu=8), seated("old", "n1", gpu=8, deleted=True), one(gpu=8)],
            {"Capacity": {"requested": "8", "free": "0", "eligibleNodes": 1, "holds": 0, "needed": 1}},
            remedy="nodes",
        ),
        Situation(
            "Protected until it has run for a while",
            "A pod of lower priority may keep its place for four hours, two of which have passed.",
            [
                b.node("n1", gpu=8),
                started(b.pod("low", gpu=8, node="n1", annotations=MIN_RUNTIME), "2026-01-31T10:00:00Z"),
                one(gpu=8, priority=10),
            ],
            {
                "Capacity": {
                    "free": "0",
                    "holds": 0,
                    "needed": 1,
                    "preemption": "1 pod could make room, but may not be evicted yet; the first may be "
                    "from 2026-01-31T14:00:00Z on",
                }
            },
            remedy="nodes",
        ),
        Situation(
            "Protected and not started",
            "A pod of lower priority may keep its place for four hours from its start, and has not started.",
            [
                b.node("n1", gpu=8),
                b.pod("low", gpu=8, node="n1", annotations=MIN_RUNTIME),
                one(gpu=8, priority=10),
            ],
            {
                "Capacity": {
                    "free": "0",
                    "holds": 0,
                    "needed": 1,
                    "preemption": "1 pod could make room, but no pod may be evicted before it has "
                    "started and run for its minimum time",
                }
            },
            remedy="nodes",
        ),
    ],
)
