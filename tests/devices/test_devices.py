"""Devices that maitred allocates against those of the real kube-scheduler, on the same objects on the same
API server.

Where kube-scheduler places a lone pod with claims, maitred does; and what maitred allocates, kube-scheduler
allocates too when it has no other choice. MAITRED_DEVICE_SEED=N asks about one random cluster again,
MAITRED_DEVICE_CASES=N about so many.
"""

import asyncio
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from maitred.kube.client import Client
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from tests.devices.case import COMMON, ERROR, Case
from tests.devices.cases import CASES
from tests.devices.compare import PAUSES, Compared, compared
from tests.devices.made import World, space
from tests.devices.ours import decided
from tests.devices.random_world import make_world
from tests.devices.server import Outcome, Server

Tally = dict[str, Counter[str]]
SETTINGS = {"podMaxBackoffSeconds": 1}


@pytest.fixture
def devices(bare_control_plane: ControlPlane) -> ControlPlane:
    if bare_control_plane.release.name != "1.37.1" or not bare_control_plane.workload_gates:
        pytest.skip("devices are compared with kube-scheduler 1.37.1, with all that it knows of them")
    return bare_control_plane


@asynccontextmanager
async def asking(plane: ControlPlane) -> AsyncIterator[Server]:
    async with Client(plane.connection(ADMIN)) as client:
        server = Server(client, plane.release)
        await server.put_anew([space()])
        with plane.kube_scheduler(settings=SETTINGS):
            yield server


# -- cases made by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_made_by_hand_comes_to_the_node_that_the_rule_says(case: Case) -> None:
    world = case.world
    ours = decided([*COMMON, *world.objects, *world.claims, world.pod], "asking")
    assert (ours.node, ours.faults) == (case.node, ())


def test_cases_made_by_hand_come_to_the_same_node_in_kube_scheduler(devices: ControlPlane) -> None:
    async def compare() -> list[str]:
        async with asking(devices) as server, server.standing(World("common", COMMON)):
            return [told for case in CASES if (told := await unexpected(server, case))]

    found = asyncio.run(compare())
    assert not found, "\n".join(found)


async def unexpected(server: Server, case: Case) -> str:
    """What kube-scheduler does, if it is not what the case says, however often it is asked."""
    expected = (case.node or "") if case.kube is None else case.kube
    did, outcome = "", Outcome(None)
    for pause in PAUSES:
        async with server.standing(case.world), server.waiting(case.world) as waiting:
            outcome = await server.outcome(waiting, pause)
        did = ERROR if outcome.reason == "SchedulerError" else outcome.node or ""
        if did == expected:
            return ""
    return f"{case.name}: kube-scheduler does {did!r} instead of {expected!r}: {outcome.message}"


# -- random clusters -----------------------------------------------------------------------------------------


def seeds() -> list[int]:
    if chosen := os.environ.get("MAITRED_DEVICE_SEED"):
        return [int(seed) for seed in chosen.split(",")]
    first = int(os.environ.get("MAITRED_DEVICE_FIRST", "0"))
    return list(range(first, first + int(os.environ.get("MAITRED_DEVICE_CASES", "20"))))


def test_random_clusters_give_a_lone_pod_devices_as_in_kube_scheduler(
    devices: ControlPlane, tmp_path: Path
) -> None:
    async def compare() -> tuple[Tally, list[str]]:
        tally, found = defaultdict[str, Counter[str]](Counter), list[str]()
        async with asking(devices) as server:
            for seed in seeds():
                result = await compared(server, partial(make_world, seed))
                world = make_world(seed)
                for theme in ("all of them", *world.themes):
                    tally[theme][told(result)] += 1
                found += [f"seed {seed} ({', '.join(sorted(world.themes))}): {what}" for what in result.wrong]
                if result.wrong:
                    items = [*world.objects, *world.claims, world.pod]
                    manifests = {"kind": "List", "apiVersion": "v1", "items": items}
                    (tmp_path / f"seed-{seed}.json").write_text(json.dumps(manifests))
        return tally, found

    tally, found = asyncio.run(compare())
    sys.stdout.write(f"\n{len(seeds())} clusters from seed {seeds()[0]}: kube-scheduler, maitred\n")
    for theme, counts in sorted(tally.items()):
        sys.stdout.write(f"  {theme}: {', '.join(f'{n} {what}' for what, n in sorted(counts.items()))}\n")
    replay = f"ask again with MAITRED_DEVICE_SEED=N; the manifests are in {tmp_path}"
    assert not found, "\n".join([f"{len(found)} differences; {replay}", *found])


def told(result: Compared) -> str:
    theirs = "placed" if result.kube.node else {"SchedulerError": "failed"}.get(result.kube.reason, "waits")
    return f"{theirs}/{'placed' if result.ours.node else 'waits'}"
