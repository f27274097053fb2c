"""The Policy: every field has a default, and what is misspelt is refused."""

import msgspec
import pytest
import yaml

from maitred.model.manifest import InputError, read_live_policy, read_policy
from maitred.model.node import HEALTH_TAINTS
from maitred.model.policy import (
    AnyOrder,
    Policy,
    device_model,
    health_taints,
    is_device,
    matches_model,
    order_rules,
    preempts,
    price_of,
)
from tests.oracle.builders import Obj


def read(raw: Obj) -> Policy:
    return msgspec.convert(raw, Policy)


def test_an_empty_policy_is_the_default_one() -> None:
    assert read({}) == read({"apiVersion": "maitred.dev/v1alpha1", "kind": "Policy"}) == Policy()


def test_the_defaults() -> None:
    assert msgspec.to_builtins(Policy()) == {
        "apiVersion": "maitred.dev/v1alpha1",
        "kind": "Policy",
        "order": "priority",
        "redecideSeconds": 300.0,
        "placement": "whole-groups",
        "topology": {"levels": ()},
        "nodes": {"managed": None},
        "nodeTemplates": (),
        "health": {"taints": ()},
        "healing": {
            "onFailure": "replace",
            "grace": "60s",
            "hold": "10m",
            "most": 5,
            "window": "1h",
            "lemons": {
                "halfLife": "7d",
                "above": 1.5,
                "taint": False,
                "level": "",
                "perDomain": None,
                "release": "3d",
            },
            "spares": {"level": "", "nodes": 0, "below": 0},
            "slow": {"replace": False, "again": "1d"},
        },
        "devices": {
            "resources": ("*/gpu", "*/gpu-*", "*/tpu", "*/npu", "*/gaudi", "*/neuron*", "*/mig-*"),
            "modelLabels": (
                "nvidia.com/gpu.product",
                "amd.com/gpu.product-name",
                "gpu.intel.com/product",
                "cloud.google.com/gke-accelerator",
                "cloud.google.com/gke-tpu-accelerator",
                "k8s.amazonaws.com/accelerator",
            ),
            "bindingTimeout": "10m",
        },
        "search": {"steps": 500_000, "cycleSteps": 1_000_000},
        "preemption": {
            "mode": "priority",
            "delay": "0s",
            "victims": "any",
            "jobs": "suspend",
            "graceLimit": "1h",
            "protection": {"namespaces": None, "devicesPerNamespace": None},
        },
        "workloads": {"jobs": "gang", "owners": "gang", "keepRoom": "30m"},
        "prices": {"currency": "USD", "devices": (), "hours": ()},
        "queues": (),
        "fairShare": {"reclaim": False, "halfLife": "none", "longestWait": "none"},
        "holds": {"depth": 0, "perQueue": None, "after": "none", "idle": 100.0},
        "bookings": 0,
        "reservations": (),
        "provisioning": {"class": "", "parameters": {}, "after": "30s", "keep": "30m"},
    }


def test_a_policy_in_full() -> None:
    policy = read(
        {
            "topology": {"levels": [{"name": "zone", "key": "z"}, {"name": "rack", "key": "r"}]},
            "nodes": {"managed": {"matchLabels": {"pool": "ml"}}},
            "nodeTemplates": [{"name": "gpu", "allocatable": {"cpu": "8"}, "max": 4}],
            "health": {"taints": ["example.com/sick"]},
            "devices": {"resources": ["example.com/*"]},
            "search": {"steps": 7},
        }
    )
    assert [level.name for level in policy.topology.levels] == ["zone", "rack"]
    assert (policy.node_templates[0].max, policy.search.steps) == (4, 7)


WRONG: dict[str, Obj] = {
    "a field that is misspelt": {"topolgy": {}},
    "a field that is misspelt inside": {"search": {"step": 3}},
    "another kind": {"kind": "Plan"},
    "another version": {"apiVersion": "maitred.dev/v2"},
    "a level without a key": {"topology": {"levels": [{"name": "rack"}]}},
    "an order that does not exist": {"order": "lifo"},
    "a rule of order that does not exist": {"order": ["priority", "size"]},
    "a negative time between decisions": {"redecideSeconds": -1},
    "a placement that does not exist": {"placement": "one-by-one"},
    "no steps": {"search": {"steps": 0}},
    "too many steps": {"search": {"steps": 10**9 + 1}},
    "a template without a name": {"nodeTemplates": [{"allocatable": {}}]},
    "a template of none": {"nodeTemplates": [{"name": "x", "allocatable": {}, "max": 0}]},
    "a list for a map": {"nodes": []},
    "a word for yes": {"healing": {"slow": {"replace": "checkpoint"}}},
}


@pytest.mark.parametrize("raw", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_refused(raw: Obj) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(raw)


@pytest.mark.parametrize(
    ("resource", "right"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("google.com/tpu", True),
        ("aws.amazon.com/neuroncore", True),
        ("aws.amazon.com/neuron", True),
        ("huawei.com/npu", True),
        ("habana.ai/gaudi", True),
        ("nvidia.com/gpu-memory", True),
        ("cpu", False),
        ("memory", False),
        ("pods", False),
        ("gpu", False),
        ("hugepages-2Mi", False),
        ("example.com/fpga", False),
    ],
)
def test_what_counts_as_a_device(resource: str, right: bool) -> None:
    assert is_device(Policy(), resource) is right


def test_a_policy_says_itself_what_counts_as_a_device() -> None:
    policy = read({"devices": {"resources": ["example.com/fpga"]}})
    assert is_device(policy, "example.com/fpga")
    assert not is_device(policy, "nvidia.com/gpu")


def test_a_policy_adds_taints_that_speak_of_health() -> None:
    assert health_taints(Policy()) == HEALTH_TAINTS
    assert health_taints(read({"health": {"taints": ["x"]}})) == HEALTH_TAINTS | {"x"}


def test_the_first_label_that_a_node_has_says_its_model() -> None:
    labels = {"cloud.google.com/gke-accelerator": "nvidia-l4", "amd.com/gpu.product-name": ""}
    assert device_model(Policy(), labels) == "nvidia-l4"
    assert device_model(Policy(), {"nvidia.com/gpu.product": "NVIDIA-L4", **labels}) == "NVIDIA-L4"
    assert device_model(Policy(), {"example.com/chip": "x1"}) == ""
    policy = read({"devices": {"modelLabels": ["example.com/chip"]}})
    assert device_model(policy, {"example.com/chip": "x1", **labels}) == "x1"


@pytest.mark.parametrize(
    ("pattern", "model", "right"),
    [
        ("H100", "NVIDIA-H100-80GB-HBM3", True),
        ("h100", "NVIDIA-H100-80GB-HBM3", True),
        ("H100", "nvidia-h100-80gb", True),
        ("H100-80GB", "NVIDIA-H100-80GB-HBM3", True),
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-80GB-HBM3", True),
        ("A100", "NVIDIA-A100_SXM4.80GB", True),
        ("L4", "NVIDIA-L40S", False),
        ("L4*", "NVIDIA-L40S", True),
        ("*", "", True),
        ("H100", "", False),
        ("H100-80GB", "NVIDIA-H100", False),
    ],
)
def test_a_pattern_of_models_matches_whole_words(pattern: str, model: str, right: bool) -> None:
    assert matches_model(pattern, model) is right


def test_the_first_price_that_matches_counts() -> None:
    policy = read(
        {
            "workloads": {"jobs": "gang"},
            "prices": {
                "devices": [
                    {"resource": "nvidia.com/gpu", "model": "H100", "perHour": 2.5},
                    {"resource": "nvidia.com/*", "perHour": 1},
                ]
            },
        }
    )
    assert price_of(policy, "nvidia.com/gpu", "NVIDIA-H100-80GB-HBM3") == 2.5
    assert price_of(policy, "nvidia.com/gpu", "") == 1
    assert price_of(policy, "amd.com/gpu", "") is None
    assert price_of(Policy(), "nvidia.com/gpu", "NVIDIA-H100-80GB-HBM3") is None


@pytest.mark.parametrize(
    ("order", "rules"),
    [
        ("priority", "priority fair-share age name"),
        ("fifo", "fair-share age name"),
        ("shortest", "priority fair-share age name"),
        (("priority",), "priority age name"),
        (("age", "fair-share", "name"), "age fair-share name"),
        (("name",), "age name"),
        (("priority", "deadline"), "priority deadline age name"),
    ],
)
def test_the_rules_of_an_order(order: AnyOrder, rules: str) -> None:
    assert " ".join(order_rules(order)) == rules


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("[]", "order: is empty; write priority, fair-share, deadline, age, name"),
        ("[size]", "order[0]: 'size' is not one of age, deadline, fair-share, name, priority"),
        (
            "[age, deadline]",
            "order[1]: age leaves no two groups for it to tell apart; move it before age",
        ),
        (
            "[deadline, fair-share]",
            "order[1]: deadlines, which tenants write, would go before shares; move deadline behind it",
        ),
        ("[age, age]", "order[1]: age is listed twice; remove one of the two"),
        ("[age, priority]", "order[1]: priority comes first or not at all; move it to the front"),
        ("[name, age]", "order[0]: name tells all groups apart; move it to the end"),
    ],
)
def test_an_order_that_contradicts_itself_is_refused(order: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        read_live_policy(f"order: {order}".encode(), "p.yaml")
    assert str(refused.value) == f"p.yaml: {told}"


def test_deadlines_come_behind_the_shares_of_queues() -> None:
    text = b"{order: [priority, deadline], queues: [{name: a}]}"
    with pytest.raises(InputError) as refused:
        read_live_policy(text, "p.yaml")
    told = "p.yaml: order[1]: deadline tells apart only groups of equal share; list fair-share before it"
    assert str(refused.value) == told


def test_only_an_order_with_priority_preempts_by_it() -> None:
    assert preempts(read({"order": ["priority", "age"]}))
    assert not preempts(read({"order": ["fair-share"]}))
    assert not preempts(read({"order": "shortest"}))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"order": "shortest"},
            "order: 'shortest' needs run times, which only simulations know; use priority and fifo",
        ),
        (
            {"placement": "pod-by-pod"},
            "placement: 'pod-by-pod' is for comparison in simulations only; leave it out",
        ),
    ],
)
def test_what_only_a_simulation_can_do_is_refused_for_a_cluster(fields: Obj, told: str) -> None:
    data = yaml.safe_dump(fields).encode()
    assert read_policy(data, "p.yaml")[0] != Policy()
    with pytest.raises(InputError) as refused:
        read_live_policy(data, "p.yaml")
    assert str(refused.value) == f"p.yaml: {told}"
