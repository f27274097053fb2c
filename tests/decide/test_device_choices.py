"""Of the alternatives of a request, the first that can be had."""

from tests.oracle.builders import Obj, node, pod
from tests.support import decide

DRIVER = "gpu.example.com"


def slice_of(name: str, model: str, devices: int) -> Obj:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"gpu-{number}", "attributes": {"model": {"string": model}}}
                for number in range(devices)
            ],
        },
    }


def alternative(model: str) -> Obj:
    expression = f'device.attributes["{DRIVER}"].model == "{model}"'
    return {
        "name": model.lower(),
        "deviceClassName": "gpu",
        "selectors": [{"cel": {"expression": expression}}],
    }


CLASS: Obj = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}


def either(*models: str) -> Obj:
    """A claim template: the first of these models that can be had."""
    requests = [{"name": "gpu", "firstAvailable": [alternative(model) for model in models]}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "either", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def members(count: int) -> list[Obj]:
    marks = {"maitred.dev/group": "g", "maitred.dev/min-count": str(count)}
    found = [pod(f"w{n}", cpu=1, annotations=marks) for n in range(count)]
    for one in found:
        one["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "either"}]
    return found


def served(count: int, h100: int, a100: int) -> list[str]:
    world = [node("a", cpu=64), node("h", cpu=64), slice_of("a", "A100", a100), slice_of("h", "H100", h100)]
    return chosen([*world, CLASS, either("H100", "A100"), *members(count)])


def chosen(objects: list[Obj]) -> list[str]:
    plan = decide(objects)
    return sorted(one["allocation"]["devices"]["results"][0]["request"] for one in plan["claims"])


def test_every_member_gets_the_first_where_there_are_enough() -> None:
    assert served(4, h100=4, a100=8) == ["gpu/h100"] * 4


def test_what_is_missing_is_made_up_by_the_next() -> None:
    assert served(4, h100=2, a100=8) == ["gpu/a100"] * 2 + ["gpu/h100"] * 2
    assert served(6, h100=4, a100=4) == ["gpu/a100"] * 2 + ["gpu/h100"] * 4


def test_nodes_for_an_earlier_alternative_come_first() -> None:
    """Nodes are called so that those for later alternatives have the first names."""
    world = [node(name, cpu=64) for name in ("a", "b", "c")]
    world += [slice_of("a", "A40", 4), slice_of("b", "A100", 2), CLASS, either("H100", "A100", "A40")]
    assert chosen([*world, *members(1)]) == ["gpu/a100"]
    assert chosen([*world, slice_of("c", "H100", 1), *members(3)]) == ["gpu/a100"] * 2 + ["gpu/h100"]
    assert chosen([*world, *members(5)]) == ["gpu/a100"] * 2 + ["gpu/a40"] * 3


def test_the_next_where_the_first_is_not_to_be_had() -> None:
    assert served(4, h100=0, a100=8) == ["gpu/a100"] * 4
