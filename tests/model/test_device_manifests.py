"""Objects of `resource.k8s.io` that no API server has: the file, the object, the field and what is wrong."""

import pytest

from maitred.model.manifest import InputError
from tests.devices.case import gpu, gpus, one
from tests.devices.cases_of_shares import shared
from tests.devices.made import (
    Obj,
    alternatives,
    claim,
    either_rack,
    matching,
    pool_slice,
    request,
    taint,
    taint_rule,
    template,
    version,
)
from tests.oracle.builders import pod, pod_group
from tests.support import read

TOO_LARGE = "is out of range"
ONE_SOURCE = "needs exactly one of resourceClaimName and resourceClaimTemplateName"
FROM_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


def naming(*claims: Obj, kind: str = "Pod") -> Obj:
    made = pod("p") if kind == "Pod" else pod_group("p", 1)
    made["spec"]["resourceClaims"] = list(claims)
    return made


WRONG: dict[str, tuple[Obj, str, str]] = {
    "a count below zero": (
        one(count=-1)[0],
        "spec.devices.requests[0].exactly.count",
        "-1 is not a number of devices",
    ),
    "a count of all": (
        one(count=2, allocationMode="All")[0],
        "spec.devices.requests[0].exactly.count",
        "is not allowed with allocationMode All",
    ),
    "no class": (
        claim("c", request("r", "")),
        "spec.devices.requests[0].exactly.deviceClassName",
        "is required",
    ),
    "no kind of request": (
        claim("c", {"name": "r"}),
        "spec.devices.requests[0]",
        "needs exactly one of exactly and firstAvailable",
    ),
    "two kinds of request": (
        claim("c", {**request("r", "gpu"), **alternatives("r", request("a", "gpu"))}),
        "spec.devices.requests[0]",
        "needs exactly one of exactly and firstAvailable",
    ),
    "two requests of one name": (
        template("t", request("r", "gpu"), request("r", "gpu")),
        "spec.spec.devices.requests[1].name",
        "'r' is there twice",
    ),
    "an alternative without a name": (
        claim("c", alternatives("r", request("", "gpu"))),
        "spec.devices.requests[0].firstAvailable[0].name",
        "is required",
    ),
    "no expression": (
        one("")[0],
        "spec.devices.requests[0].exactly.selectors[0].cel.expression",
        "is required",
    ),
    "an amount that is none": (
        one(capacity={"requests": {"memory": "lots"}})[0],
        "spec.devices.requests[0].exactly.capacity.requests.memory",
        "'lots' is not a quantity, such as 500m, 4, 1.5Gi or 2e3",
    ),
    "no constraint": (
        claim("c", request("r", "gpu"), constraints=[{"requests": ["r"]}]),
        "spec.devices.constraints[0]",
        "needs matchAttribute or distinctAttribute",
    ),
    "a constraint without a domain": (
        claim("c", request("r", "gpu"), constraints=[matching("model")]),
        "spec.devices.constraints[0]",
        "'model' has no domain: write DOMAIN/NAME",
    ),
    "a constraint for another claim": (
        claim("c", request("r", "gpu"), constraints=[matching("example.com/link", "s")]),
        "spec.devices.constraints[0].requests[0]",
        "there is no request 's'",
    ),
    "a slice of no node": (
        pool_slice("p", [gpu()]),
        "spec",
        "needs exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection",
    ),
    "a selector of two terms": (
        pool_slice("p", [gpu()], nodeSelector=either_rack("r1", "r2")),
        "spec.nodeSelector.nodeSelectorTerms",
        "must have exactly one term",
    ),
    "a pool of no slices": (gpus(gpu(), count=0), "spec.pool.resourceSliceCount", "must be at least 1"),
    "two devices of one name": (gpus(gpu(), gpu()), "spec.devices[1].name", "'d0' is there twice"),
    "a version that is none": (
        gpus(gpu(firmware=version("new"))),
        "spec.devices[0].attributes.firmware",
        "'new' is not a semantic version, such as 1.2.3",
    ),
    "a number that is too large": (
        gpus(gpu(index=2**63)),
        "spec.devices[0].attributes.index",
        f"{2**63} {TOO_LARGE}",
    ),
    "an attribute with two values": (
        gpus(gpu(index={"int": 1, "string": "1"})),
        "spec.devices[0].attributes.index",
        "needs exactly one value",
    ),
    "a capacity that is none": (
        gpus(gpu(capacity={"memory": "lots"})),
        "spec.devices[0].capacity.memory.value",
        "'lots' is not a quantity, such as 500m, 4, 1.5Gi or 2e3",
    ),
    "a range without a start": (
        shared(default="4Gi", validRange={"max": "6Gi"}),
        "spec.devices[0].capacity.memory.requestPolicy.validRange.min",
        "is required",
    ),
    "a range that is empty": (
        shared(default="4Gi", validRange={"min": "6Gi", "max": "2Gi"}),
        "spec.devices[0].capacity.memory.requestPolicy.validRange.max",
        "2Gi is less than min, 6Gi",
    ),
    "steps of nothing": (
        shared(default="4Gi", validRange={"min": "2Gi", "step": "0"}),
        "spec.devices[0].capacity.memory.requestPolicy.validRange.step",
        "must be more than 0",
    ),
    "two claims of one name": (
        naming(FROM_TEMPLATE, {"name": "gpu", "resourceClaimName": "c"}),
        "spec.resourceClaims[1].name",
        "'gpu' is there twice",
    ),
    "a claim from nowhere": (naming({"name": "gpu"}), "spec.resourceClaims[0]", ONE_SOURCE),
    "a claim of a group from two places": (
        naming({**FROM_TEMPLATE, "resourceClaimName": "c"}, kind="PodGroup"),
        "spec.resourceClaims[0]",
        ONE_SOURCE,
    ),
    "a taint without a key": (taint_rule("rule", taint("")), "spec.taint.key", "is required"),
}


@pytest.mark.parametrize(("item", "field", "wrong"), WRONG.values(), ids=WRONG)
def test_what_no_api_server_takes_is_refused(item: Obj, field: str, wrong: str) -> None:
    with pytest.raises(InputError) as refused:
        read([item])
    assert refused.value.args[2:] == (field, wrong)


def test_what_an_api_server_takes_is_read() -> None:
    """Odd, and yet it can be in any cluster."""
    odd = [
        one(count=0)[0],
        claim("less", request("r", "gpu", capacity={"requests": {"memory": "-1"}})),
        claim("nothing"),
        naming(FROM_TEMPLATE, {"name": "nic", "resourceClaimName": "c"}),
        gpus(gpu(capacity={"memory": "-1"})),
        pool_slice("p", [gpu(more={"nodeSelector": either_rack("a", "b")})], perDeviceNodeSelection=True),
    ]
    assert len(read(odd)) == len(odd)
