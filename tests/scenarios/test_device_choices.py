"""Gangs that can be served in more than one way, or are after the same devices: who gets what, who waits, and
that nothing is left when they are gone."""

from pathlib import Path

import pytest
import yaml

from tests.scenarios.api import Json
from tests.scenarios.devices import (
    DRIVER,
    KINDS_OF_DEVICES,
    OWN,
    asks_for,
    declare,
    device,
    device_class,
    gpu,
    results,
    selects,
    slice_of,
    template,
    users,
    with_claims,
)
from tests.scenarios.objects import RACK, Group, Pods, members, node, nodes
from tests.scenarios.on_devices import FIRST, SECOND, THIRD, leave, on_devices
from tests.scenarios.server import Server
from tests.scenarios.stage import Stage
from tests.scenarios.steps import Bound, Create, NotBound, Told

BACKTRACKING = Path(__file__).parents[2] / "examples" / "devices" / "backtracking"
CREW = {"resourceClaims": [OWN]}


def crew(group: Group) -> Pods:
    return members(group, 2, spec=CREW)


# -- alternatives --------------------------------------------------------------------------------------------

ALTERNATIVES = [
    {"name": model.lower(), "deviceClassName": "gpu", "selectors": selects("model", model)}
    for model in ("H100", "A100")
]
EITHER = {"devices": {"requests": [{"name": "gpu", "firstAvailable": ALTERNATIVES}]}}


def test_the_first_gang_gets_what_it_prefers_the_next_what_is_left_and_the_third_waits(
    server: Server,
) -> None:
    models = ("H100", "A100")
    things = [
        device_class("gpu"),
        template("gpu", EITHER),
        *(
            slice_of(f"n{number}", [gpu(0, model=model), gpu(1, model=model)])
            for number, model in enumerate(models)
        ),
    ]

    async def given(stage: Stage, who: Pods) -> set[tuple[str, str]]:
        """The alternative that each member has got, and its node."""
        found = {(one["request"], one["pool"]) for each in (await results(stage)).values() for one in each}
        assert {pod.spec.node_name for pod in stage.pods(who.names)} <= {pool for _, pool in found}
        return found

    async def act(stage: Stage) -> None:
        await stage.play(Create(FIRST, crew(FIRST)), Bound(crew(FIRST)))
        assert await given(stage, crew(FIRST)) == {("gpu/h100", "n0")}
        await stage.play(Create(SECOND, crew(SECOND)), Bound(crew(SECOND)))
        assert await given(stage, crew(SECOND)) == {("gpu/h100", "n0"), ("gpu/a100", "n1")}
        await stage.play(Create(THIRD, crew(THIRD)), Told(crew(THIRD), "Waiting: Devices: "))
        await stage.play(NotBound(crew(THIRD)))
        await leave(stage, crew(FIRST))
        await stage.play(Bound(crew(THIRD)))
        assert await given(stage, crew(THIRD)) == {("gpu/h100", "n0"), ("gpu/a100", "n1")}

    on_devices(server, nodes(2), things, act)


def test_a_gang_that_fits_only_if_a_choice_is_taken_back(server: Server) -> None:
    """kube-scheduler leaves it pending, as `tests/devices/test_backtracking.py` shows."""
    shown = [
        item for name in ("cluster", "crew") for item in yaml.safe_load_all(example(name)) if "spec" in item
    ]
    things = [item for item in shown if item["kind"] in ("DeviceClass", "ResourceSlice")]
    [half] = [item for item in shown if item["kind"] == "ResourceClaimTemplate"]
    things.append(template("gpu", half["spec"]["spec"]))

    async def act(stage: Stage) -> None:
        await stage.play(Create(FIRST, crew(FIRST)), Bound(crew(FIRST)))
        assert {one["device"]: one["request"] for [one] in (await results(stage)).values()} == {
            "half-0": "gpu/half",
            "half-1": "gpu/half",
        }

    on_devices(server, [node("n1")], things, act)


def example(name: str) -> str:
    return (BACKTRACKING / f"{name}.yaml").read_text()


# -- links ---------------------------------------------------------------------------------------------------

LINK = f"{DRIVER}/link"
LINKED: Json = {
    "devices": {
        "requests": [{"name": "pair", "exactly": {"deviceClassName": "gpu", "count": 2}}],
        "constraints": [{"requests": ["pair"], "matchAttribute": LINK}],
    }
}


def test_two_gangs_after_the_only_devices_with_a_common_link(server: Server) -> None:
    """Both nodes have four free devices. On one of them each has a link of its own."""
    things = [
        device_class("gpu"),
        template("gpu", LINKED),
        slice_of("n0", [gpu(number, link="island") for number in range(4)]),
        slice_of("n1", [gpu(number, link=f"lone-{number}") for number in range(4)]),
    ]

    async def act(stage: Stage) -> None:
        await stage.play(Create(FIRST, crew(FIRST)), Bound(crew(FIRST)))
        await stage.play(Create(SECOND, crew(SECOND)), Told(crew(SECOND), "Waiting: Devices: "))
        for pod in stage.pods(crew(SECOND).names):
            assert pod.told is not None
            assert LINK in pod.told.message
        await stage.play(NotBound(crew(SECOND)))
        assert {each.partition("/")[0] for each in await users(stage)} == {"n0"}
        await leave(stage, crew(FIRST))
        await stage.play(Bound(crew(SECOND)))
        assert sorted(await users(stage)) == [f"n0/gpu-{number}" for number in range(4)]

    on_devices(server, nodes(2), things, act)


def test_two_groups_after_a_domain_of_several_nodes(server: Server) -> None:
    """Each group claims a domain for itself and each member a device. Only one domain has enough of them."""
    racks = {"big": ("b0", "b1"), "small": ("s0",)}
    machines = [node(name, rack=rack) for rack, names in racks.items() for name in names]
    things = [
        *map(device_class, KINDS_OF_DEVICES),
        *(template(kind, asks_for(kind)) for kind in KINDS_OF_DEVICES),
        *(slice_of(machine.name, [gpu(0)]) for machine in machines),
        *(slice_of(rack, [device("domain", "switch")], nodeSelector=in_rack(rack)) for rack in racks),
    ]
    first, second = (with_claims(group, 2) for group in (FIRST, SECOND))

    async def act(stage: Stage) -> None:
        if stage.served.groups is None:
            pytest.skip("only PodGroups have claims that their members share")
        await declare(stage, FIRST)
        await stage.play(Create(first), Bound(first, on={RACK: "big"}))
        await declare(stage, SECOND)
        await stage.play(Create(second), Told(second, "Waiting: Devices: "), NotBound(second))
        assert sorted(await users(stage)) == ["b0/gpu-0", "b1/gpu-0", "big/domain"]
        await leave(stage, first)
        await stage.play(Bound(second, on={RACK: "big"}))
        assert (await users(stage))["big/domain"] == [SECOND.name]

    on_devices(server, machines, things, act)


def in_rack(name: str) -> Json:
    wanted = {"key": RACK, "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
