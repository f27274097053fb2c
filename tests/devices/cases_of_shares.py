"""Cases made by hand: devices that can be had in parts, and devices that are shared."""

from typing import Any

from tests.devices.case import ALL, OWN, Case, gpu, gpus, held, one
from tests.devices.made import claim, consuming, counters, pool_slice, request, template

Obj = dict[str, Any]

# -- partitions and shares -----------------------------------------------------------------------------------

CARD = pool_slice("card", [], pool="n1", nodeName="n1", count=2, sharedCounters=[counters("card", slots="2")])
PARTS = gpus(
    gpu("whole", profile="whole", more=consuming("card", slots="2")),
    gpu("half-0", profile="half", more=consuming("card", slots="1")),
    gpu("half-1", profile="half", more=consuming("card", slots="1")),
    count=2,
)
WHOLE, HALF = (f'{OWN}.profile == "{profile}"' for profile in ("whole", "half"))
SHARED_GPU: Obj = {"allowMultipleAllocations": True}


def shared(amount: str = "10Gi", **policy: Any) -> Obj:
    memory: Obj = {"value": amount, **({"requestPolicy": policy} if policy else {})}
    return gpus(gpu(capacity={"memory": memory}, more=SHARED_GPU))


def taking(*amounts: str, name: str = "memory") -> list[Obj]:
    """A claim for each amount."""
    return [
        claim(f"claim{index}", request("r", "gpu", capacity={"requests": {name: amount}}))
        for index, amount in enumerate(amounts)
    ]


def share(amount: str) -> Obj:
    return {"shareID": "00000000-0000-4000-8000-000000000001", "consumedCapacity": {"memory": amount}}


VALUES: Obj = {"default": "4Gi", "validValues": ["2Gi", "4Gi", "8Gi"]}
RANGE: Obj = {"default": "4Gi", "validRange": {"min": "2Gi", "max": "6Gi", "step": "2Gi"}}
SHARES = [
    Case("a whole card", [CARD, PARTS], one(WHOLE), "n1"),
    Case("a whole card of which a half is taken", [CARD, PARTS, *held("half-1")], one(WHOLE), None),
    Case("the other half", [CARD, PARTS, *held("half-0")], one(HALF), "n1"),
    Case("two halves", [CARD, PARTS], one(HALF, count=2), "n1"),
    Case(
        "a whole card and a half",
        [CARD, PARTS],
        [claim("claim", request("r", "gpu", WHOLE), request("s", "gpu", HALF))],
        None,
    ),
    Case("all parts of a card", [CARD, PARTS], one(**ALL), None),
    Case(
        "a share of a device without capacity, by a claim from a template",
        [gpus(gpu(more=SHARED_GPU)), template("t", request("r", "gpu"))],
        [],
        "n1",
        pod={"templates": ["t"]},
    ),
    Case("two shares of one device", [shared()], taking("4Gi", "6Gi"), "n1"),
    Case("two shares that are too large together", [shared()], taking("4Gi", "7Gi"), None),
    Case("a share beside another pod's", [shared(), *held("d0", **share("6Gi"))], taking("4Gi"), "n1"),
    Case(
        "a share for which another pod leaves too little",
        [shared(), *held("d0", **share("7Gi"))],
        taking("4Gi"),
        None,
    ),
    Case("a share that asks for nothing gets all", [shared(), *held("d0", **share("1Gi"))], one(), None),
    Case(
        "a share that asks for nothing gets the default",
        [shared(**VALUES), *held("d0", **share("6Gi"))],
        one(),
        "n1",
    ),
    Case("a share that is rounded up to a valid value", [shared(**VALUES)], taking("5Gi", "2Gi"), "n1"),
    Case("a share that is rounded up too far", [shared(**VALUES)], taking("5Gi", "3Gi"), None),
    Case("a share above all valid values", [shared(**VALUES)], taking("9Gi"), None),
    Case("a share that is rounded up to a step", [shared(**RANGE)], taking("3Gi", "5Gi"), "n1"),
    Case("a share that is rounded up to a step too far", [shared(**RANGE)], taking("5Gi", "5Gi"), None),
    Case("a share above the range", [shared(**RANGE)], taking("7Gi"), None),
    Case("a share of something that the device does not have", [shared()], taking("1", name="cores"), None),
    Case(
        "a capacity of a device that is not shared",
        [gpus(gpu(capacity={"memory": "10Gi"}))],
        taking("4Gi"),
        "n1",
    ),
    Case(
        "a capacity that a device does not have",
        [gpus(gpu(capacity={"memory": "10Gi"}))],
        taking("11Gi"),
        None,
    ),
]
