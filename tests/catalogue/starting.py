"""Groups that may not start yet, or ask for what there can never be."""

from tests.catalogue.situation import GATE, Chapter, Situation, crew, one
from tests.oracle import builders as b

MEMBERS = Chapter(
    "Members",
    [
        Situation(
            "A member is not created",
            "The gang needs four members, its controller has made three, and there is room for all.",
            [b.node("n1"), b.pod_group("crew", 4), *b.pods("crew", 3, 1, group="crew")],
            {"Members": {"created": 3, "quorum": 4}},
            remedy="create",
        ),
        Situation(
            "A late member is not created",
            "Two of four members run and a third waits; the fourth is missing.",
            [
                b.node("n1"),
                b.pod_group("crew", 4),
                *b.pods("crew", 2, 1, group="crew", node="n1"),
                *b.pods("crew", 1, 1, group="crew", start=2),
            ],
            {"Members": {"created": 3, "quorum": 4}},
            remedy="quorum",
        ),
        Situation(
            "A member failed and is not made again",
            "Three members are needed, and one has failed. A failed member does not count for the quorum.",
            [
                b.node("n1"),
                b.pod_group("crew", 3),
                *b.pods("crew", 2, 1, group="crew"),
                *b.pods("crew", 1, 1, group="crew", start=2, phase="Failed", node="n1"),
            ],
            {"Members": {"created": 2, "quorum": 3}},
            remedy="create",
        ),
        Situation(
            "The quorum on the pods is larger than the number of pods",
            "The group is declared on its pods, with a `maitred.dev/min-count` of 4, and there are two.",
            [b.node("n1"), *b.pods("crew", 2, 1, annotations=b.gang("crew", 4))],
            {"Members": {"created": 2, "quorum": 4}},
            remedy="quorum",
        ),
        Situation(
            "The PodGroup does not exist",
            "Two pods name a PodGroup that does not exist.",
            [b.node("n1"), *b.pods("crew", 2, 1, group="crew")],
            {"Members": {"created": 2, "podGroup": "default/crew"}},
            remedy="group",
        ),
    ],
)

GATED = Chapter(
    "Gated",
    [
        Situation(
            "One member has a gate",
            "One of four members has a scheduling gate, which holds all of them back.",
            [
                b.node("n1"),
                *crew(3, 1, quorum=4),
                *b.pods("crew", 1, 1, group="crew", start=3, gates=[GATE], created=10),
            ],
            {"Gated": {"gated": 1, "gates": [GATE], "pods": ["default/crew-3"]}},
            remedy="gates",
        ),
        Situation(
            "All members have two gates",
            "A queue and a data loader hold three members back.",
            [b.node("n1"), *crew(3, 1, gates=[GATE, "example.com/data"])],
            {"Gated": {"gated": 3, "gates": ["example.com/data", GATE]}},
            remedy="gates",
        ),
        Situation(
            "A lone pod with a gate",
            "A lone pod has a scheduling gate.",
            [b.node("n1"), one(1, gates=[GATE])],
            {"Gated": {"gated": 1, "gates": [GATE]}},
            remedy="gates",
        ),
    ],
)

REQUEST = Chapter(
    "Request",
    [
        Situation(
            "More cpu than any node has",
            "Each member asks for 16 cpu; the largest node has 8.",
            [b.node("n1", cpu=8), b.node("n2", cpu=4), *crew(2, 16, quorum=1)],
            {"Request": {"resource": "cpu", "requested": "16", "largest": "8", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "More memory than any node has",
            "A pod asks for 40Gi of memory where nodes have 32Gi.",
            [b.node("n1", memory="32Gi"), one(memory="40Gi")],
            {"Request": {"resource": "memory", "requested": "40Gi", "largest": "32Gi", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "Too few devices per node",
            "Each of two members asks for eight GPUs, and nodes have four.",
            [b.node("n1", gpu=4), b.node("n2", gpu=4), *crew(2, gpu=8)],
            {"Request": {"resource": b.GPU, "requested": "8", "largest": "4", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "A resource that no node has",
            "A pod asks for `example.com/fpga`, which no node offers: a misspelt name, or no device plugin.",
            [b.node("n1"), one(requests={"example.com/fpga": 1})],
            {"Request": {"resource": "example.com/fpga", "requested": "1", "largest": "0", "node": None}},
            "Impossible",
        ),
        Situation(
            "More scratch space than any node has",
            "A pod asks for 200Gi of ephemeral storage where the node has 100Gi.",
            [
                b.node("n1", allocatable={"ephemeral-storage": "100Gi"}),
                one(requests={"ephemeral-storage": "200Gi"}),
            ],
            {
                "Request": {
                    "resource": "ephemeral-storage",
                    "requested": "200Gi",
                    "largest": "100Gi",
                    "node": "n1",
                }
            },
            "Impossible",
            remedy="request",
        ),
        Situation(
            "One large member among small ones",
            "Three workers are small, the launcher asks for 16 cpu, and all four are needed.",
            [
                b.node("n1", cpu=8),
                *crew(3, 1, quorum=4),
                *b.pods("crew", 1, 16, group="crew", start=3, created=10),
            ],
            {"Request": {"resource": "cpu", "requested": "16", "largest": "8", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "An init container that is too large",
            "The pod itself is small, but an init container asks for 12 cpu.",
            [b.node("n1", cpu=8), one(1, init=[b.container("copy", {"cpu": "12"})])],
            {"Request": {"resource": "cpu", "requested": "12", "largest": "8", "node": "n1"}},
            "Impossible",
            remedy="request",
        ),
    ],
)
