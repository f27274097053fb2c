"""What `plan` says of groups whose members ask for devices by resource claims."""

from typing import Any

import pytest

from maitred.explain.proposal.answer import Proposal, Proposals
from maitred.explain.proposal.supposition import Supposition, WantedDevices, gang_objects
from maitred.model.manifest import InputError
from tests.explain.supposing import plan, planned
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    consumer,
    device,
    device_class,
    exactly,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.support import read, state_of

GPU = "gpu.example.com"
CLASSES = [device_class("gpu", f'device.driver == "{GPU}"'), device_class("nic", 'device.driver == "nic"')]
GIVEN = ("--gang", "--device-class", "--count", "--model", "--within")


def node(name: str, gpus: int = 4, model: str = "h100", rack: str = "r1") -> list[Obj]:
    devices = [device(f"gpu-{i}", {"model": model}) for i in range(gpus)]
    return [b.node(name, cpu=64, rack=rack), resource_slice(f"{name}-gpus", GPU, devices, node=name)]


def cluster(*nodes: list[Obj]) -> list[Obj]:
    return [*CLASSES, *(item for one in nodes for item in one)]


def gang(objects: list[Obj], members: int, count: int, of: str = "gpu", **wishes: Any) -> Proposal:
    made = gang_objects("gang", "default", members, members, {}, devices=WantedDevices(of, count))
    return only(planned(state_of(read(objects)), Supposition(made, options=GIVEN, **wishes)))


def only(answer: Proposals) -> Proposal:
    (proposal,) = answer.proposals
    return proposal


def offered(proposal: Proposal) -> list[tuple[str, str]]:
    return [(offer.words, offer.change) for offer in proposal.offers]


# -- gangs that options describe ---------------------------------------------------------------------------


def test_each_member_has_a_claim_for_so_many_devices() -> None:
    two = cluster(node("n1"), node("n2"))
    assert gang(two, 4, 2).words == "A gang of 4 members fits now: all 4 members on 2 nodes"
    short = gang(two, 5, 2)
    assert (short.outcome, short.placed) == ("never", 0)
    assert "devices for 4 of 5 members" in short.words
    assert offered(short) == [
        ("now with 4 of 5 members", "--gang 4"),
        ("now with 1 instead of 2 devices for each member", "--count 1"),
    ]


def test_the_model_is_that_of_the_devices() -> None:
    mixed = cluster(node("n1", model="h100"), node("n2", model="a100-80gb"), node("n3", model="a100-80gb"))
    assert set(gang(mixed, 2, 4, model="A100").where.nodes) == {"n2", "n3"}
    other = gang(mixed, 2, 4, model="h100")
    assert other.outcome == "never"
    assert ("now with devices of model a100-80gb", "--model a100-80gb") in offered(other)
    each = cluster(node("n1", model="h100"), node("n2", model="a100"))
    assert ("now with devices of any model", "leave out --model") in offered(gang(each, 2, 4, model="h100"))


def test_another_class_is_offered_as_an_option() -> None:
    """But for one of another driver: a network interface is no GPU."""
    large = device_class("large", f'device.driver == "{GPU}" && device.attributes["{GPU}"].model == "h200"')
    nics = resource_slice("n1-nics", "nic", [device("nic-0"), device("nic-1")], node="n1", pool="nics")
    found = gang([*cluster(node("n1")), large, nics], 2, 1, of="large")
    assert offered(found) == [("now with devices of class gpu instead of large", "--device-class gpu")]


def test_members_stay_within_one_domain() -> None:
    racks = cluster(node("n1"), node("n2", rack="r2"), node("n3", rack="r2"))
    assert set(gang(racks, 2, 4, within="rack").where.nodes) == {"n2", "n3"}


@pytest.mark.parametrize(
    ("wishes", "what"),
    [
        ({"of": "gpus"}, "--device-class: no DeviceClass is called 'gpus'; did you mean gpu?"),
        ({"of": "tpu-v9"}, "--device-class: no DeviceClass is called 'tpu-v9'; there is gpu, nic"),
        ({"model": "tpu"}, "--model: no device of the class has 'tpu' in its model; there is h100, h200"),
        ({"model": "h"}, "--model: 'h' matches several models: h100, h200; give more of the name"),
    ],
)
def test_what_there_is_not_is_refused(wishes: dict[str, str], what: str) -> None:
    two = cluster(node("n1", model="h100"), node("n2", model="h200"))
    with pytest.raises(InputError) as refused:
        gang(two, 1, 1, **wishes)
    assert str(refused.value) == what


def test_other_pods_keep_what_they_have() -> None:
    pod = b.pod("old", node="n1", spec={"resourceClaims": [use("gpus", claim="held")]})
    results = [{"request": "r", "driver": GPU, "pool": "n1", "device": f"gpu-{i}"} for i in range(3)]
    held = resource_claim(
        "held",
        claim_spec(exactly("r", wish("gpu", 3))),
        allocation={"devices": {"results": results}},
        reserved=[consumer(pod)],
    )
    found = gang([*cluster(node("n1")), pod, held], 1, 2)
    assert found.outcome == "waits"
    assert offered(found)[0] == ("now with 1 instead of 2 devices for each member", "--count 1")


# -- manifests ---------------------------------------------------------------------------------------------


def job(members: int, *uses: Obj) -> Obj:
    pod = b.pod("", spec={"resourceClaims": list(uses)})["spec"]
    marks = {"annotations": b.gang("train", members)}
    spec = {"parallelism": members, "completions": members, "template": {"metadata": marks, "spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec}


def test_templates_come_with_the_manifest() -> None:
    template = claim_template("two", claim_spec(exactly("r", wish("gpu", 2))))
    found = only(plan(cluster(node("n1")), job(3, use("gpus", template="two")), template))
    assert found.outcome == "never"
    assert ("now with 2 of 3 members") in [words for words, _ in offered(found)]
    fewer = "count of request r in spec.devices.requests of the claim: 1"
    assert ("now if you ask for 1 instead of 2 devices in request r of claim gpus", fewer) in offered(found)


def test_a_template_of_the_same_name_in_the_cluster_is_another_one() -> None:
    """It cannot be changed there, and claims of others are made from it."""
    there = claim_template("t", claim_spec(exactly("r", wish("gpu", 4))))
    given = claim_template("t", claim_spec(exactly("r", wish("gpu", 1))))
    waiting = b.pod("old", spec={"resourceClaims": [use("gpus", template="t")]})
    found = only(plan([*cluster(node("n1", 5)), there, waiting], job(1, use("gpus", template="t")), given))
    assert (found.outcome, found.delayed) == ("fits", ())


def test_a_template_that_only_the_cluster_has_counts() -> None:
    there = claim_template("t", claim_spec(exactly("r", wish("gpu", 5))))
    assert only(plan([*cluster(node("n1", 4)), there], job(1, use("gpus", template="t")))).outcome == "never"


def test_a_claim_that_is_there_already_is_the_one_that_is_meant() -> None:
    spec = claim_spec(exactly("r", wish("gpu", 1)))
    results = [{"request": "r", "driver": GPU, "pool": "n2", "device": "gpu-0"}]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": terms}}
    there = resource_claim("shared", spec, allocation=allocation)
    members = job(2, use("gpus", claim="shared"))
    objects = cluster(node("n1"), node("n2"))
    assert only(plan([*objects, there], members, resource_claim("shared", spec))).where.nodes == {"n2": 2}
    assert only(plan(objects, members, resource_claim("shared", spec))).where.nodes == {"n1": 2}


def test_members_share_the_claim_of_their_group() -> None:
    template = claim_template("one", claim_spec(exactly("r", wish("gpu", 1))))
    entry = use("gpus", template="one")
    group = b.pod_group("train", 3)
    group["spec"]["resourceClaims"] = [entry]
    members = b.pods("train", 3, group="train", spec={"resourceClaims": [entry]})
    found = only(plan(cluster(node("n1", 1), node("n2", 1)), template, group, *members))
    assert (found.outcome, len(found.where.nodes)) == ("fits", 1)


def test_a_class_that_is_missing_is_a_reason() -> None:
    template = claim_template("t", claim_spec(exactly("r", wish("h200", 1))))
    found = only(plan(cluster(node("n1")), job(1, use("gpus", template="t")), template))
    assert found.outcome == "waits"
    assert "device class h200 does not exist" in found.words
