"""What claims of a Plan look like, word for word: as kube-scheduler would have written them."""

from tests.oracle.builders import Obj, node, pod, pod_group
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    consumer,
    device,
    device_class,
    exactly,
    first_available,
    opaque,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.support import decide

GPU, SHARES, FABRIC = "gpu.example.com", "share.example.com", "fabric.example.com"
MODE, SIZE = opaque(GPU, mode={"of": "class"}), opaque(GPU, ["gpu/b"], size={"of": "claim"})
CLASSES = [
    device_class("gpu", f'device.driver == "{GPU}"', config=[MODE]),
    device_class("share", f'device.driver == "{SHARES}"'),
    device_class("channel", f'device.driver == "{FABRIC}"'),
]
STEPS = {"value": "16Gi", "requestPolicy": {"default": "4Gi", "validRange": {"min": "4Gi", "step": "4Gi"}}}
IN_RACK = {"key": "rack", "operator": "In", "values": ["r1"]}


def model(name: str) -> str:
    return f'device.attributes["{GPU}"].model == "{name}"'


def on(name: str) -> Obj:
    here = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [here]}]}


def test_alternatives_shares_and_what_a_group_shares() -> None:
    """There is none of the preferred model. The other is tainted and not ready. The share is rounded up."""
    card = device(
        "gpu-0",
        {"model": "a100"},
        taints=["ill:NoSchedule"],
        bindingConditions=["example.com/ready"],
        bindingFailureConditions=["example.com/broken"],
        bindsToNode=True,
    )
    own = claim_spec(
        first_available(
            "gpu",
            wish("gpu", 1, model("h100")),
            wish("gpu", 1, model("a100"), tolerations=["ill:NoSchedule"]),
        ),
        exactly("part", wish("share", capacity={"memory": "5Gi"})),
        config=[SIZE],
    )
    group = pod_group("crew", 1)
    group["spec"]["resourceClaims"] = [use("link", claim="link")]
    member = pod(
        "crew-0",
        group="crew",
        spec={"resourceClaims": [use("own", template="own"), use("link", claim="link")]},
    )
    plan = decide(
        [
            *CLASSES,
            node("n1", labels={"rack": "r1"}),
            resource_slice("n1-gpus", GPU, [card], node="n1"),
            resource_slice(
                "n1-shares", SHARES, [device("s0", capacity={"memory": STEPS}, shared=True)], node="n1"
            ),
            resource_slice("r1", FABRIC, [device("c0")], nodes=[IN_RACK]),
            claim_template("own", own),
            resource_claim("link", claim_spec(exactly("channel", wish("channel")))),
            group,
            member,
        ]
    )
    mine, link = plan["claims"]
    assert (link["claim"], mine["claim"]) == ("default/link", "default/crew-0-own")
    channel = {"request": "channel", "driver": FABRIC, "pool": "r1", "device": "c0"}
    rack = {"nodeSelectorTerms": [{"matchExpressions": [IN_RACK]}]}
    assert link["allocation"] == {"devices": {"results": [channel]}, "nodeSelector": rack}
    assert link["reservedFor"] == [consumer(group)]
    gpu, part = mine["allocation"]["devices"]["results"]
    assert gpu == {
        "request": "gpu/b",
        "driver": GPU,
        "pool": "n1",
        "device": "gpu-0",
        "tolerations": [{"key": "ill", "operator": "Exists", "effect": "NoSchedule"}],
        "bindingConditions": ["example.com/ready"],
        "bindingFailureConditions": ["example.com/broken"],
    }
    share = part.pop("shareID")
    assert [len(one) for one in share.split("-")] == [8, 4, 4, 4, 12]
    assert part == {
        "request": "part",
        "driver": SHARES,
        "pool": "n1",
        "device": "s0",
        "consumedCapacity": {"memory": "8Gi"},
    }
    assert mine["allocation"]["devices"]["config"] == [
        {"source": "FromClass", "requests": ["gpu/b"], "opaque": MODE["opaque"]},
        {"source": "FromClaim", "requests": ["gpu/b"], "opaque": SIZE["opaque"]},
    ]
    assert mine["allocation"]["nodeSelector"] == on("n1")
    assert mine["reservedFor"] == [consumer(member)]
