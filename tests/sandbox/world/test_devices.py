"""The devices of a world: as drivers would publish them, and as the API server takes them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from maitred.model.manifest import InputError
from maitred.model.world import World, read_world
from maitred.sandbox.apiserver.judging import judged
from maitred.sandbox.world.devices import all_slices, classes

Json = dict[str, Any]

WORLD = Path(__file__).parents[3] / "examples" / "worlds" / "devices.yaml"
CLAIMS = WORLD.parents[1] / "devices" / "claims"
KIND = "kinds: [{name: a, resources: {}}]"
GPU = "name: gpu, driver: g.example"


def example() -> World:
    return read_world(WORLD.read_bytes(), WORLD.name)


def pool(name: str, driver: str) -> list[Json]:
    found = (body["spec"] for body in all_slices(example()))
    return [spec for spec in found if (spec["pool"]["name"], spec["driver"]) == (name, driver)]


def devices(name: str, driver: str) -> dict[str, Json]:
    return {device["name"]: device for spec in pool(name, driver) for device in spec.get("devices", ())}


def test_the_api_server_takes_all_of_it() -> None:
    bodies = [*classes(example()), *all_slices(example())]
    assert len({body["metadata"]["name"] for body in bodies}) == len(bodies)
    for body in bodies:
        judgement = judged(body["apiVersion"], body["kind"], body, "")
        assert judgement is not None
        assert (judgement.faults, judgement.unknown) == ((), ())


def test_whole_devices_say_where_they_are() -> None:
    gpus = devices("b1-r1-n01", "gpu.example.com")
    assert list(gpus) == [f"gpu-{n}" for n in range(8)]
    roots = [gpu["attributes"]["resource.kubernetes.io/pcieRoot"]["string"] for gpu in gpus.values()]
    assert roots == [f"pci0000:0{n}" for n in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert {gpu["attributes"]["nvlinkDomain"]["string"] for gpu in gpus.values()} == {"r1"}
    everywhere = [each["uuid"]["string"] for each in all_attributes()]
    assert len(set(everywhere)) == len(everywhere)


def all_attributes() -> list[Json]:
    published = (body["spec"].get("devices", ()) for body in all_slices(example()))
    return [device["attributes"] for devices in published for device in devices]


def test_a_nic_shares_its_root_with_two_gpus() -> None:
    [nic] = [nic for name, nic in devices("b1-r1-n01", "nic.example.com").items() if name == "nic-1"]
    assert nic["attributes"]["resource.kubernetes.io/pcieRoot"] == {"string": "pci0000:01"}


def test_devices_of_a_rack_are_one_pool_for_its_nodes() -> None:
    [published] = pool("r2", "fabric.example.com")
    assert len(published["devices"]) == 16
    [term] = published["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "example.com/rack", "operator": "In", "values": ["r2"]}]


def test_partitions_use_up_the_counters_of_their_device() -> None:
    counters, published = pool("b3-r4-n01", "mig.example.com")
    assert [each["name"] for each in counters["sharedCounters"]] == [f"mig-{n}" for n in range(4)]
    assert counters["pool"] == published["pool"]
    assert counters["pool"]["resourceSliceCount"] == 2
    found = devices("b3-r4-n01", "mig.example.com")
    assert len(found) == 4 * (1 + 7 + 2)
    assert found["mig-2-3g-1"]["consumesCounters"] == [
        {"counterSet": "mig-2", "counters": {"memory": {"value": "40Gi"}, "slices": {"value": "3"}}}
    ]
    assert found["mig-2"]["consumesCounters"][0]["counters"]["slices"] == {"value": "7"}


def test_shares_of_a_device_are_any_part_of_it() -> None:
    device = devices("b4-r5-n01", "slice.example.com")["slice-0"]
    assert device["allowMultipleAllocations"]
    assert device["capacity"]["memory"]["requestPolicy"]["default"] == "48Gi"


def test_classes_have_the_devices_of_all_models() -> None:
    names = [body["metadata"]["name"] for body in classes(example())]
    assert sorted(names) == ["channel", "gpu", "mig", "mig-partition", "nic", "slice"]


@pytest.mark.parametrize("file", sorted(CLAIMS.iterdir()), ids=lambda file: file.stem)
def test_the_examples_ask_for_devices_that_this_world_has(file: Path) -> None:
    known = {body["metadata"]["name"] for body in classes(example())}
    asked = set[str]()
    for body in yaml.safe_load_all(file.read_text()):
        judgement = judged(body["apiVersion"], body["kind"], body, "default")
        assert judgement is not None
        assert (judgement.faults, judgement.unknown) == ((), ())
        for request in body["spec"].get("spec", {}).get("devices", {}).get("requests", ()):
            choices = request.get("firstAvailable") or [request["exactly"]]
            asked |= {choice["deviceClassName"] for choice in choices}
    assert asked
    assert asked <= known


@pytest.mark.parametrize(
    ("devices", "error"),
    [
        ("{name: gpu}", "devices[0].driver: is required"),
        ("{name: GPU, driver: g.example}", "devices[0].name: 'GPU' is not a name"),
        (f"{{{GPU}, kinds: [b]}}", "devices[0].kinds: 'b' is none of the kinds: a"),
        (f"{{{GPU}, count: 0}}", "devices[0].count: must be at least 1, not 0"),
        (f"{{{GPU}, attributes: {{a-b: 1}}}}", "devices[0].attributes: 'a-b' is not a name"),
        (f"{{{GPU}, capacity: {{memory: much}}}}", "devices[0].capacity.memory: 'much' is not a quantity"),
        (f"{{{GPU}, per: rack, numaNodes: 2}}", "devices[0]: only devices of nodes have PCIe roots"),
        (
            f"{{{GPU}}}, {{{GPU}}}",
            "devices[1].kinds: another entry has devices named 'gpu' on the same nodes",
        ),
        (
            f"{{{GPU}, capacity: {{m: 1}}, partitions: [{{name: p, capacity: {{m: 2}}}}]}}",
            "devices[0].partitions[0].capacity.m: 2 is more than the device has",
        ),
    ],
)
def test_what_a_world_may_not_say_of_devices(devices: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        read_world(f"{KIND}\ndevices: [{devices}]\n".encode(), "world.yaml")
    assert error in str(refused.value)
