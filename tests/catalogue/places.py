"""Groups that would fit, but not where they have to be, or not while nodes are unwell."""

from collections.abc import Sequence

from tests.catalogue.situation import Chapter, Situation, claiming, crew, one, seated
from tests.oracle import builders as b
from tests.oracle import device_builders as d
from tests.oracle.builders import Obj

LEVELS = {"topology": {"levels": [{"name": "zone", "key": b.ZONE}, {"name": "rack", "key": "rack"}]}}
SLICES = {"maitred.dev/slice-size": "4", "maitred.dev/slice-topology": "rack"}

TOPOLOGY = Chapter(
    "Topology",
    [
        Situation(
            "No rack has room for all",
            "Four members must be in one rack; one rack has room for two, the other for three.",
            [
                b.node("n1", cpu=4, rack="r1"),
                b.node("n2", cpu=4, rack="r2"),
                seated("a", "n1", 2),
                seated("c", "n2", 1),
                *crew(4, 1, level="rack"),
            ],
            {
                "Topology": {
                    "level": "rack",
                    "domains": 2,
                    "domain": "r2",
                    "node": "n2",
                    "resource": "cpu",
                    "holds": 3,
                    "needed": 4,
                }
            },
            remedy="topology",
        ),
        Situation(
            "The next wider level would do",
            "Three members must be in one rack of two nodes; the policy knows zones of two racks each.",
            [
                *(b.node(f"n{i}", gpu=8, rack=f"r{i // 2}", zone=f"z{i // 4}") for i in range(8)),
                *crew(3, gpu=8, level="rack"),
            ],
            {"Topology": {"level": "rack", "domains": 4, "holds": 2, "needed": 3}},
            "Impossible",
            policy=LEVELS,
            remedy="topology",
        ),
        Situation(
            "A zone that is too small",
            "Six members must be in one zone, by its name in the policy, and zones have four nodes.",
            [
                *(b.node(f"n{i}", gpu=8, rack=f"r{i // 2}", zone=f"z{i // 4}") for i in range(8)),
                *crew(6, gpu=8, level="zone"),
            ],
            {"Topology": {"level": "zone", "domains": 2, "domain": "z0", "holds": 4, "needed": 6}},
            "Impossible",
            policy=LEVELS,
            remedy="topology",
        ),
        Situation(
            "No node has the label",
            "Two members must be in one `example.com/block`, which is a label of no node.",
            [b.node("n1"), b.node("n2"), *crew(2, 1, level="example.com/block")],
            {"Topology": {"level": "example.com/block", "domains": 0, "holds": 0, "needed": 2}},
            "Impossible",
            remedy="topology",
        ),
        Situation(
            "Running members in two racks",
            "Two members run in different racks, so a third cannot be in one rack with both.",
            [
                b.node("n1", rack="r1"),
                b.node("n2", rack="r2"),
                b.pod_group("crew", 3, "rack"),
                b.pod("crew-0", 1, group="crew", node="n1"),
                b.pod("crew-1", 1, group="crew", node="n2"),
                b.pod("crew-2", 1, group="crew"),
            ],
            {"Topology": {"level": "rack", "domains": 2, "holds": 0, "needed": 1}},
            remedy="topology",
        ),
        Situation(
            "A late member whose rack is full",
            "Two members run in rack r1, which is full now; the third waits beside an empty rack.",
            [
                b.node("n1", cpu=2, rack="r1"),
                b.node("n2", cpu=2, rack="r2"),
                b.pod_group("crew", 3, "rack"),
                *b.pods("crew", 2, "500m", group="crew", node="n1"),
                seated("old", "n1", 1),
                *b.pods("crew", 1, 1, group="crew", start=2),
            ],
            {"Topology": {"domain": "r1", "resource": "cpu", "node": "n1", "holds": 0, "needed": 1}},
            remedy="topology",
        ),
        Situation(
            "All on one node",
            "Two members must share a node; each node has room for one.",
            [b.node("n1", cpu=4), b.node("n2", cpu=4), *crew(2, 3, level="hostname")],
            {"Topology": {"level": b.HOSTNAME, "domains": 2, "domain": "n1", "holds": 1, "needed": 2}},
            "Impossible",
            remedy="topology",
        ),
        Situation(
            "No rack holds a slice",
            "Eight members in slices of four, each within a rack; racks have room for three.",
            [
                *(b.node(f"n{i}", cpu=1, rack=f"r{i // 3}") for i in range(9)),
                *b.pods("crew", 8, 1, annotations={**b.gang("crew", 8), **SLICES}),
            ],
            {"Topology": {"level": "rack", "domains": 3, "domain": "r0", "holds": 0, "needed": 8}},
            "Impossible",
            remedy="topology",
        ),
        Situation(
            "Slices of a level that no node has",
            "Eight members of one zone in slices of four, each within a rack; no node says its rack.",
            [
                *(b.node(f"n{i}", cpu=1, zone="z1") for i in range(8)),
                *crew(8, 1, level="zone", marks=SLICES),
            ],
            {"Topology": {"level": "rack", "domains": 0, "holds": 0, "needed": 8}},
            "Impossible",
            remedy="topology",
        ),
    ],
)

DRIVER = "gpu.example.com"
GPU_CLASS = d.device_class("gpu", resource="example.com/gpu")
CLAIMING: Obj = {"resourceClaims": [d.use("gpu", claim="wanted")]}
TWO_GPUS = d.resource_claim("wanted", d.claim_spec(d.exactly("gpu", d.wish("gpu", 2))))
ONE_GPU = d.resource_claim("wanted", d.claim_spec(d.exactly("gpu", d.wish("gpu"))))
LINKED = d.resource_claim(
    "wanted",
    d.claim_spec(
        d.exactly("gpus", d.wish("gpu", 2)), constraints=[d.constraint("gpus", match=f"{DRIVER}/link")]
    ),
)
H100 = d.resource_claim(
    "wanted",
    d.claim_spec(d.exactly("gpu", d.wish("gpu", 1, f'device.attributes["{DRIVER}"].model == "H100"'))),
)


def gpus(node: str, *devices: Obj) -> Obj:
    return d.resource_slice(node, DRIVER, devices, node=node)


def gpu(number: int, taints: Sequence[str] = (), **attributes: str) -> Obj:
    return d.device(f"gpu-{number}", attributes, taints=taints)


DEVICES = Chapter(
    "Devices",
    [
        Situation(
            "Fewer devices than a pod claims",
            "A pod claims two GPUs; there is one.",
            [GPU_CLASS, TWO_GPUS, b.node("n1"), gpus("n1", gpu(0)), one(spec=CLAIMING)],
            {"Devices": {"claims": ["gpu"], "holds": 0, "needed": 1}},
            "Impossible",
            remedy="deviceCount",
        ),
        Situation(
            "No device of the model",
            "A pod claims a GPU and selects the model H100; the only GPU is an A100.",
            [GPU_CLASS, H100, b.node("n1"), gpus("n1", gpu(0, model="A100")), one(spec=CLAIMING)],
            {"Devices": {"claims": ["gpu"], "holds": 0, "needed": 1}},
            "Impossible",
            remedy="deviceSelector",
        ),
        Situation(
            "Devices without a common link",
            "A pod claims two GPUs with a common link; no two have one.",
            [
                *(GPU_CLASS, LINKED, b.node("n1"), gpus("n1", gpu(0, link="a"), gpu(1, link="b"))),
                one(spec=CLAIMING),
            ],
            {"Devices": {"claims": ["gpu"], "holds": 0, "needed": 1}},
            "Impossible",
            remedy="deviceConstraint",
        ),
        Situation(
            "More of a resource than a class serves",
            "A pod asks for two GPUs by an extended resource, which a device class serves with one device.",
            [GPU_CLASS, b.node("n1"), gpus("n1", gpu(0)), one(requests={"example.com/gpu": 2})],
            {"Devices": {"resource": "example.com/gpu", "holds": 0, "needed": 1}},
            "Impossible",
            remedy="request",
        ),
        Situation(
            "A claim template that is missing",
            "A lone pod asks for a GPU by a claim from a template that does not exist.",
            [b.node("n1"), one(spec=claiming())],
            {"Devices": {"claims": ["gpu"], "holds": 0, "needed": 1}},
        ),
    ],
)

HEALTH = Chapter(
    "Health",
    [
        Situation(
            "A device with a taint",
            "A pod claims a GPU; the only one is tainted by its driver.",
            [GPU_CLASS, ONE_GPU, b.node("n1"), gpus("n1", gpu(0, ["ecc:NoSchedule"])), one(spec=CLAIMING)],
            {"Health": {"taintedDevices": 1, "holds": 0, "needed": 1}},
            remedy="devices",
        ),
        Situation(
            "A cordoned node",
            "Two members of 8 cpu; of two nodes one is cordoned.",
            [b.node("n1"), b.node("n2", cordoned=True), *crew(2, 8)],
            {"Health": {"nodes": ["n2"], "unwell": 1, "holds": 1, "needed": 2}},
            remedy="health",
        ),
        Situation(
            "A node that is not ready",
            "Two members of 8 cpu; the kubelet of one of two nodes says that it is not ready.",
            [b.node("n1"), b.node("n2", ready=False), *crew(2, 8)],
            {"Health": {"nodes": ["n2"], "unwell": 1, "holds": 1, "needed": 2}},
            remedy="health",
        ),
        Situation(
            "A node that is not heard from",
            "The kubelet of the only node with GPUs has gone silent.",
            [b.node("n1"), b.node("n2", gpu=8, ready=None), one(gpu=8)],
            {"Health": {"nodes": ["n2"], "unwell": 1, "holds": 0, "needed": 1}},
            remedy="health",
        ),
        Situation(
            "A taint of the GPU monitor",
            "The policy counts `example.com/gpu-ecc` as a health taint, and one of two nodes has it.",
            [
                b.node("n1", gpu=8),
                b.node("n2", gpu=8, taints=["example.com/gpu-ecc:NoSchedule"]),
                *crew(2, gpu=8),
            ],
            {"Health": {"nodes": ["n2"], "unwell": 1, "holds": 1, "needed": 2}},
            policy={"health": {"taints": ["example.com/gpu-ecc"]}},
            remedy="health",
        ),
        Situation(
            "More nodes are unhealthy than are needed",
            "Three members of 8 cpu, one node is open and four are cordoned: two of them would do.",
            [b.node("n0"), *(b.node(f"n{i}", cordoned=True) for i in range(1, 5)), *crew(3, 8)],
            {"Health": {"unwell": 4, "holds": 1, "needed": 3}},
            remedy="health",
        ),
        Situation(
            "A cordoned node in the rack",
            "Two members must be in one rack; of the two nodes of the only rack one is cordoned.",
            [
                b.node("n1", cpu=4, rack="r1"),
                b.node("n2", cpu=4, rack="r1", cordoned=True),
                *crew(2, 4, level="rack"),
            ],
            {"Health": {"nodes": ["n2"], "unwell": 1, "holds": 1, "needed": 2}},
            remedy="health",
        ),
    ],
)
