"""Cases made by hand, each with the node that the pod must come to, worked out from the rule before it was
run. Nodes are n1 and n2, pools are called as their node or as said, and the pod is called asking."""

from typing import Any

from tests.devices.case import ALL, ERROR, LINK, LINKS, ON_N2, OWN, Case, gpu, gpus, held, one
from tests.devices.cases_of_shares import SHARES
from tests.devices.made import (
    GPUS,
    NICS,
    allocated,
    alternatives,
    claim,
    consuming,
    device,
    distinct,
    either_rack,
    in_rack,
    matching,
    named,
    pod,
    pool_slice,
    request,
    result,
    taint,
    taint_rule,
    template,
    version,
)

Obj = dict[str, Any]


# -- selectors and counts ------------------------------------------------------------------------------------

KINDS = [
    gpu("d0", model="a", index=1, fast=False, firmware=version("1.2.3"), capacity={"memory": "10Gi"}),
    gpu("d1", model="b", index=2, fast=True, firmware=version("2.0.0"), capacity={"memory": "40Gi"}),
]


def selected(expression: str, expected: str | None, kube: str | None = None) -> Case:
    return Case(f"selector {expression}", [gpus(*KINDS)], one(expression), expected, kube)


SELECTORS = [
    Case("one device", [gpus(gpu())], one(), "n1"),
    Case("no device", [], one(), None),
    Case("a class that does not exist", [gpus(gpu())], [claim("claim", request("r", "none"))], None),
    Case("a device of another class", [gpus(gpu(), driver=NICS)], one(), None),
    selected(f'{OWN}.model == "b"', "n1"),
    selected(f'{OWN}.model == "c"', None),
    selected(f"{OWN}.index > 1", "n1"),
    selected(f"{OWN}.fast", "n1"),
    selected(f'{OWN}.firmware.isGreaterThan(semver("1.10.0"))', "n1"),
    selected(f'device.capacity["{GPUS}"].memory.compareTo(quantity("20Gi")) > 0', "n1"),
    selected(f'device.capacity["{GPUS}"].memory == quantity("40960Mi")', "n1"),
    selected('"some" in device.attributes["unknown.example.com"]', None),
    selected(f'{OWN}.?missing.orValue("b") == "b"', "n1"),
    selected(f'{OWN}.missing == "b"', None, ERROR),
    selected(f'cel.bind(d, {OWN}, d.model == "a" && d.index == 1)', "n1"),
    Case("two of two", [gpus(*KINDS)], one(count=2), "n1"),
    Case("two of one", [gpus(gpu())], one(count=2), None),
    Case("two, one on each node", [gpus(gpu()), gpus(gpu(), on="n2")], one(count=2), None),
    Case(
        "more than a claim can have", [gpus(*(gpu(f"d{n}") for n in range(40)))], one(count=33), None, ERROR
    ),
    Case("as many as a claim can have", [gpus(*(gpu(f"d{n}") for n in range(40)))], one(count=32), "n1"),
    Case("a device that another pod has", [gpus(gpu()), *held("d0")], one(), None),
    Case("the other device", [gpus(gpu(), gpu("d1")), *held("d0")], one(), "n1"),
    Case("a claim that asks for nothing", [gpus(gpu())], [claim("claim")], "n2", pod=ON_N2),
    Case(
        "a claim that asks for nothing, beside one that does",
        [gpus(gpu(), on="n2")],
        [claim("nothing"), *one()],
        "n2",
    ),
    Case(
        "a claim from a template",
        [gpus(gpu()), template("t", request("r", "gpu"))],
        [],
        "n1",
        pod={"templates": ["t"]},
    ),
    Case(
        "two claims for one device",
        [gpus(gpu())],
        [claim("a", request("r", "gpu")), claim("b", request("r", "gpu"))],
        None,
    ),
]

# -- all devices ---------------------------------------------------------------------------------------------

EVERY = [
    Case("all devices", [gpus(gpu(), gpu("d1"))], one(**ALL), "n1"),
    Case("all of none", [gpus(gpu(), driver=NICS)], one(**ALL), None),
    Case("all, and one is taken", [gpus(gpu(), gpu("d1")), *held("d0")], one(**ALL), None),
    Case(
        "all that are selected, and another is taken",
        [gpus(*KINDS), *held("d0")],
        one(f'{OWN}.model == "b"', **ALL),
        "n1",
    ),
    Case("all of a pool that is incomplete", [gpus(gpu(), count=2)], one(**ALL), None, ERROR),
    Case(
        "all, with a pool of another driver that is incomplete",
        [gpus(gpu()), pool_slice("nics", [gpu()], driver=NICS, count=2, nodeName="n1")],
        one(**ALL),
        None,
        ERROR,
    ),
    Case(
        "all, with an incomplete pool of all nodes",
        [gpus(gpu()), pool_slice("nics", [gpu()], driver=NICS, count=2, allNodes=True)],
        one(**ALL),
        None,
        ERROR,
    ),
    Case(
        "all, with an incomplete pool of another rack",
        [
            gpus(gpu()),
            pool_slice("fabric", [gpu()], driver=NICS, allNodes=True),
            pool_slice("nics", [gpu()], driver=NICS, count=2, nodeSelector=in_rack("r2")),
        ],
        one(**ALL),
        "n1",
        ERROR,
    ),
]

# -- pools and places ----------------------------------------------------------------------------------------

POOLS = [
    Case("a pool that is incomplete", [gpus(gpu(), count=2)], one(), None),
    Case(
        "a complete pool beside it",
        [gpus(gpu(), count=2), pool_slice("more", [gpu()], nodeName="n1")],
        one(),
        "n1",
    ),
    Case(
        "an older generation",
        [
            gpus(gpu(model="a"), generation=2),
            pool_slice("old", [gpu("d1", model="b")], pool="n1", nodeName="n1"),
        ],
        one(f'{OWN}.model == "b"'),
        None,
    ),
    Case(
        "a newer generation on another node",
        [
            pool_slice("old", [gpu()], pool="p", nodeName="n1", count=2),
            pool_slice("new", [gpu()], pool="p", nodeName="n2", generation=2),
        ],
        one(),
        "n2",
    ),
    Case(
        "one name for two devices",
        [
            pool_slice("s1", [gpu()], pool="p", nodeName="n1", count=2),
            pool_slice("s2", [gpu()], pool="p", nodeName="n1", count=2),
        ],
        one(),
        None,
    ),
    Case(
        "one name for two devices, on two nodes",
        [
            pool_slice("s1", [gpu()], pool="p", nodeName="n1", count=2),
            pool_slice("s2", [gpu(model="b")], pool="p", nodeName="n2", count=2),
        ],
        one(f'{OWN}.?model.orValue("") == "b"'),
        None,
        kube="n2",
    ),
    Case(
        "an older generation that is complete on its node",
        [
            pool_slice("old", [gpu(model="a")], pool="p", nodeName="n1"),
            pool_slice("new", [gpu(model="b")], pool="p", nodeName="n2", generation=2),
        ],
        one(f'{OWN}.model == "a"'),
        None,
        kube="n1",
    ),
    Case("counters that no slice has", [gpus(gpu(more=consuming("card", slots="1")))], one(), None),
    Case("a pool of a rack", [pool_slice("p", [gpu()], nodeSelector=in_rack("r2"))], one(), "n2"),
    Case(
        "a pool of all nodes",
        [pool_slice("p", [gpu()], allNodes=True)],
        one(),
        "n2",
        pod={"nodeSelector": {"example.com/rack": "r2"}},
    ),
    Case(
        "devices with places of their own",
        [
            pool_slice(
                "p",
                [
                    gpu("d0", model="a", more={"nodeName": "n1"}),
                    gpu("d1", model="b", more={"nodeSelector": in_rack("r2")}),
                ],
                perDeviceNodeSelection=True,
            )
        ],
        one(f'{OWN}.model == "b"'),
        "n2",
    ),
    Case(
        "a device with a selector of two terms",
        [
            pool_slice(
                "p",
                [gpu(more={"nodeSelector": either_rack("r1", "r2")})],
                perDeviceNodeSelection=True,
            )
        ],
        one(),
        None,
        ERROR,
    ),
]

# -- alternatives and constraints ----------------------------------------------------------------------------

A, B = (request(model, "gpu", f'{OWN}.model == "{model}"') for model in "ab")


def claims(*requests: Obj, **devices: Any) -> list[Obj]:
    return [claim("claim", *requests, **devices)]


def linked(name: str, *links: str) -> Obj:
    attributes: Obj = {LINKS: list(links)}
    return device(name, **attributes)


TWO = (request("r", "gpu"), request("s", "gpu"))
XY, XX = [gpu("d0", "x"), gpu("d1", "y")], [gpu("d0", "x"), gpu("d1", "y"), gpu("d2", "x")]
LISTED = [linked("d0", "x", "y"), linked("d1", "y", "z"), linked("d2", "z")]
CHOICES = [
    Case("the first alternative", [gpus(*KINDS)], claims(alternatives("r", A, B)), "n1"),
    Case("the second alternative", [gpus(KINDS[1])], claims(alternatives("r", A, B)), "n1"),
    Case(
        "an alternative of a class that does not exist",
        [gpus(gpu())],
        claims(alternatives("r", request("none", "none"), request("gpu", "gpu"))),
        "n1",
        kube="",
    ),
    Case("no alternative", [gpus(gpu(model="c"))], claims(alternatives("r", A, B)), None),
    Case(
        "a first choice that is taken back for a later claim",
        [gpus(*KINDS)],
        [claim("claim", alternatives("r", A, B)), claim("other", A)],
        "n1",
    ),
    Case("two with one link", [gpus(*XX)], claims(*TWO, constraints=[matching(LINK)]), "n1"),
    Case("no two with one link", [gpus(*XY)], claims(*TWO, constraints=[matching(LINK)]), None),
    Case("a link for some requests", [gpus(*XY)], claims(*TWO, constraints=[matching(LINK, "r")]), "n1"),
    Case(
        "a link that devices do not have",
        [gpus(gpu(), gpu("d1"))],
        claims(*TWO, constraints=[matching(LINK)]),
        None,
    ),
    Case(
        "one link for devices of two drivers",
        [gpus(*XY), pool_slice("nics", [gpu("d0", "y")], driver=NICS, nodeName="n1")],
        claims(request("r", "gpu"), request("s", "nic"), constraints=[matching(LINK)]),
        "n1",
    ),
    Case(
        "an attribute that is called by its driver",
        [gpus(gpu(model="a"), gpu("d1", model="a"))],
        claims(*TWO, constraints=[matching(f"{GPUS}/model")]),
        "n1",
    ),
    Case(
        "lists that have one in common",
        [gpus(*LISTED)],
        claims(request("r", "gpu", count=2), constraints=[matching(LINKS)]),
        "n1",
    ),
    Case(
        "lists that have none in common",
        [gpus(LISTED[0], LISTED[2])],
        claims(request("r", "gpu", count=2), constraints=[matching(LINKS)]),
        None,
    ),
    Case(
        "three lists that have none in common",
        [gpus(*LISTED)],
        claims(request("r", "gpu", count=3), constraints=[matching(LINKS)]),
        None,
    ),
    Case("distinct links", [gpus(*XY)], claims(*TWO, constraints=[distinct(LINK)]), "n1"),
    Case(
        "no distinct links",
        [gpus(gpu("d0", "x"), gpu("d1", "x"))],
        claims(*TWO, constraints=[distinct(LINK)]),
        None,
    ),
    Case(
        "lists that differ",
        [gpus(LISTED[0], LISTED[2])],
        claims(request("r", "gpu", count=2), constraints=[distinct(LINKS)]),
        "n1",
    ),
    Case(
        "all devices, and they differ in a link",
        [gpus(*XY)],
        claims(request("r", "gpu", **ALL), constraints=[matching(LINK)]),
        None,
        ERROR,
    ),
]

# -- access, taints, conditions ------------------------------------------------------------------------------

ADMIN: Obj = {"adminAccess": True}
LOOKS = [request(name, "gpu", **ADMIN) for name in "rs"]
UNWELL: Obj = {"taints": [taint()]}
EXISTS: Obj = {"tolerations": [{"key": "unwell", "operator": "Exists"}]}
HEALTH = [
    Case("admin access to a device that is taken", [gpus(gpu()), *held("d0")], one(**ADMIN), "n1"),
    Case("a device that an administrator looks at", [gpus(gpu()), *held("d0", **ADMIN)], one(), "n1"),
    Case(
        "admin access in the first claim, and the same device in the second",
        [gpus(gpu())],
        [*one(**ADMIN), claim("other", request("r", "gpu"))],
        "n1",
        kube="",
    ),
    Case(
        "admin access in the second claim, and the same device in the first",
        [gpus(gpu())],
        [claim("other", request("r", "gpu")), *one(**ADMIN)],
        "n1",
    ),
    Case(
        "admin access in the first request, and the same device in the second",
        [gpus(gpu())],
        [claim("claim", request("r", "gpu", **ADMIN), request("s", "gpu"))],
        None,
    ),
    Case(
        "admin access in the second request, and the same device in the first",
        [gpus(gpu())],
        [claim("claim", request("r", "gpu"), request("s", "gpu", **ADMIN))],
        None,
    ),
    Case(
        "admin access to one of two in the first request, and the other in the second",
        [gpus(gpu(), gpu("d1"))],
        claims(LOOKS[0], TWO[1]),
        "n1",
    ),
    Case("admin access to two", [gpus(gpu(), gpu("d1"))], claims(*LOOKS), "n1"),
    Case(
        "admin access to a shared device in the first request, and a share of it in the second",
        [gpus(gpu(more={"allowMultipleAllocations": True}))],
        [claim("claim", request("r", "gpu", **ADMIN), request("s", "gpu"))],
        "n1",
    ),
    Case(
        "two requests of one claim for one shared device",
        [gpus(gpu(more={"allowMultipleAllocations": True}))],
        [claim("claim", request("r", "gpu"), request("s", "gpu"))],
        "n1",
    ),
    Case(
        "two shared devices of which there is one",
        [gpus(gpu(more={"allowMultipleAllocations": True}))],
        one(count=2),
        None,
    ),
    Case("admin access to one device twice in one claim", [gpus(gpu())], one(count=2, **ADMIN), None),
    Case(
        "admin access by a claim from a template",
        [gpus(gpu()), template("t", request("r", "gpu", **ADMIN))],
        [],
        "n1",
        pod={"templates": ["t"]},
    ),
    Case("a tainted device", [gpus(gpu(more=UNWELL))], one(), None),
    Case("a tainted device that is tolerated", [gpus(gpu(more=UNWELL))], one(**EXISTS), "n1"),
    Case(
        "a taint with another effect",
        [gpus(gpu(more={"taints": [taint(effect="NoExecute")]}))],
        one(tolerations=[{"key": "unwell", "operator": "Exists", "effect": "NoSchedule"}]),
        None,
    ),
    Case(
        "a taint with another value",
        [gpus(gpu(more={"taints": [taint(value="x")]}))],
        one(tolerations=[{"key": "unwell", "operator": "Equal", "value": "y"}]),
        None,
    ),
    Case("a taint that only tells", [gpus(gpu(more={"taints": [taint(effect="None")]}))], one(), "n1"),
    Case(
        "a rule for one device",
        [gpus(gpu(), gpu("d1")), taint_rule("rule", taint(), device="d0", pool="n1")],
        one(count=2),
        None,
    ),
    Case("a rule for another pool", [gpus(gpu()), taint_rule("rule", taint(), pool="n2")], one(), "n1"),
    Case("a rule for all devices", [gpus(gpu()), taint_rule("rule", taint(effect="NoExecute"))], one(), None),
    Case(
        "a rule for no device",
        [gpus(gpu()), named("DeviceTaintRule", "rule", spec={"taint": taint()})],
        one(),
        "n1",
    ),
    Case(
        "a rule that is tolerated",
        [gpus(gpu()), taint_rule("rule", taint(), driver=GPUS)],
        one(**EXISTS),
        "n1",
    ),
    Case(
        "a device that must be made ready",
        [gpus(gpu(more={"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}))],
        one(),
        "n1",
    ),
]

# -- claims that are allocated, and extended resources -------------------------------------------------------

BOTH = [gpus(gpu()), gpus(gpu(), on="n2")]
[ASKED] = one()
LATER = [
    Case(
        "a claim that is allocated elsewhere",
        BOTH,
        [allocated(ASKED, result("d0", "n2"), node_name="n2")],
        "n2",
    ),
    Case(
        "a claim that another pod uses too",
        [*BOTH, pod("holder", "claim", nodeName="n2")],
        [allocated(ASKED, result("d0", "n2"), to="holder", node_name="n2")],
        "n2",
    ),
    Case(
        "a claim that is allocated where another pod uses it and this one may not go",
        [*BOTH, pod("holder", "claim", nodeName="n2")],
        [allocated(ASKED, result("d0", "n2"), to="holder", node_name="n2")],
        None,
        pod={"nodeSelector": {"example.com/rack": "r1"}},
    ),
    Case(
        "a claim that nobody uses and that is allocated where the pod may not go",
        BOTH,
        [allocated(ASKED, result("d0", "n2"), node_name="n2")],
        None,
        kube="n1",
        pod={"nodeSelector": {"example.com/rack": "r1"}},
    ),
    Case(
        "a resource that a class serves",
        [gpus(gpu(), gpu("d1"))],
        [],
        "n1",
        pod={"resources": {"dra.example.com/gpu": "2"}},
    ),
    Case(
        "more of a resource than a class serves",
        [gpus(gpu())],
        [],
        None,
        pod={"resources": {"dra.example.com/gpu": "2"}},
    ),
    Case(
        "a resource that is named after its class",
        [gpus(gpu())],
        [],
        "n1",
        pod={"resources": {"deviceclass.resource.kubernetes.io/gpu": "1"}},
    ),
    Case(
        "a resource and a claim for one device",
        [gpus(gpu())],
        one(),
        None,
        pod={"resources": {"dra.example.com/gpu": "1"}},
    ),
]


CASES = [*SELECTORS, *EVERY, *POOLS, *CHOICES, *HEALTH, *SHARES, *LATER]
