"""Filters of maitred against those of the real kube-scheduler, on the same objects on the same API server.

kube-scheduler asks an extender about the nodes that passed its own filters; this one is a test, and takes
none of them. What passed there must be what the engine, and the checker beside it, would allow the pod on,
were it alone. MAITRED_FILTER_SEED=N asks about one random cluster again, MAITRED_FILTER_CASES=N about so
many.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from maitred.kube.client import Client
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from tests.filters.cases import CASES, Case
from tests.filters.extender import extender
from tests.filters.ours import Checker, Engine
from tests.filters.random_disks import lasting
from tests.filters.random_world import DRA_GPU, NAMESPACES, OVERHEAD, World, make_world
from tests.filters.server import Server

Obj = dict[str, Any]
Ours = dict[str, frozenset[str]]
PAUSES = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
"""kube-scheduler hears of objects a little later than we do, so a difference is asked about again."""


def fixed() -> list[Obj]:
    """What is there in every case."""
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in NAMESPACES.items()
    ]
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "filters-gpu"},
        "spec": {"extendedResourceName": DRA_GPU},
    }
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": OVERHEAD},
        "handler": "any",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
    }
    return [*spaces, device_class, runtime, *lasting()]


@asynccontextmanager
async def asking(plane: ControlPlane) -> AsyncIterator[Server]:
    async with Client(plane.connection(ADMIN)) as client, extender() as asked:
        server = Server(client, asked)
        await server.put_anew(fixed())
        try:
            with plane.kube_scheduler(settings=asked.settings):
                yield server
        finally:
            await server.remove(fixed())


async def differences(server: Server, objects: list[Obj], probes: list[Obj]) -> list[str]:
    """What differed from kube-scheduler, however often it was asked."""
    await server.put(objects)
    listed = await server.listed()
    engine, checker = Engine(listed), Checker(listed)
    left, told = probes, dict[str, str]()
    for attempt, pause in enumerate(PAUSES):
        await asyncio.sleep(pause)
        answers, again = await server.ask([_renamed(pod, attempt) for pod in left]), []
        for pod, (made, passed) in zip(left, answers, strict=True):
            ours = {"the engine": engine.nodes_for(made), "the checker": checker.nodes_for(made)}
            told[_name(pod)] = _words(passed, ours)
            if told[_name(pod)]:
                again.append(pod)
        left = again
        if not left:
            break
    await server.remove(objects)
    return [f"{pod}: {what}" for pod, what in told.items() if what]


def _renamed(pod: Obj, attempt: int) -> Obj:
    return {**pod, "metadata": {**pod["metadata"], "name": f"{_name(pod)}-{attempt}"}}


def _name(pod: Obj) -> str:
    return str(pod["metadata"]["name"])


def _words(passed: frozenset[str], ours: Ours) -> str:
    wrong = [
        f"{who} adds {sorted(found - passed)} and lacks {sorted(passed - found)}"
        for who, found in ours.items()
        if found != passed
    ]
    return f"kube-scheduler passes {sorted(passed)}; {'; '.join(wrong)}" if wrong else ""


# -- cases made by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_made_by_hand_passes_the_nodes_that_the_rule_says(case: Case) -> None:
    objects, expected = [*fixed(), *case.objects], frozenset(case.passes.split())
    assert Engine(objects).nodes_for(case.pod) == expected
    lenient = frozenset((case.passes if case.kube is None else case.kube).split())
    assert Checker(objects).nodes_for(case.pod) in (expected, lenient)


def test_cases_made_by_hand_pass_the_same_nodes_in_kube_scheduler(bare_control_plane: ControlPlane) -> None:
    async def compare() -> list[str]:
        found = []
        async with asking(bare_control_plane) as server:
            for case in CASES:
                if case.on_server:
                    expected = frozenset((case.passes if case.kube is None else case.kube).split())
                    found += await unexpected(server, case, expected)
        return found

    found = asyncio.run(compare())
    assert not found, "\n".join(found)


async def unexpected(server: Server, case: Case, expected: frozenset[str]) -> list[str]:
    """What kube-scheduler passes, if it is not that, however often it is asked."""
    await server.put(case.objects)
    passed = frozenset[str]()
    for attempt, pause in enumerate(PAUSES):
        await asyncio.sleep(pause)
        [(_, passed)] = await server.ask([_renamed(case.pod, attempt)])
        if passed == expected:
            break
    await server.remove(case.objects)
    told = f"{case.name}: kube-scheduler passes {sorted(passed)}, expected {sorted(expected)}"
    return [] if passed == expected else [told]


# -- random clusters -----------------------------------------------------------------------------------------


def seeds() -> list[int]:
    if chosen := os.environ.get("MAITRED_FILTER_SEED"):
        return [int(seed) for seed in chosen.split(",")]
    first = int(os.environ.get("MAITRED_FILTER_FIRST", "0"))
    return list(range(first, first + int(os.environ.get("MAITRED_FILTER_CASES", "25"))))


def test_random_clusters_pass_the_same_nodes_in_kube_scheduler(
    bare_control_plane: ControlPlane, tmp_path: Path
) -> None:
    async def compare() -> tuple[int, list[str]]:
        pairs, found = 0, list[str]()
        async with asking(bare_control_plane) as server:
            for seed in seeds():
                world = make_world(seed)
                wrong = await differences(server, world.objects, world.probes)
                pairs += pairs_of(world)
                found += [f"seed {seed}: {what}" for what in wrong]
                if wrong:
                    manifests = {"kind": "List", "apiVersion": "v1", "items": world.objects + world.probes}
                    (tmp_path / f"seed-{seed}.json").write_text(json.dumps(manifests))
        return pairs, found

    pairs, found = asyncio.run(compare())
    sys.stdout.write(f"\n{len(seeds())} clusters from seed {seeds()[0]}: {pairs} pairs of pod and node\n")
    replay = f"ask again with MAITRED_FILTER_SEED=N; the manifests are in {tmp_path}"
    assert not found, "\n".join([f"{len(found)} differences; {replay}", *found])


def pairs_of(world: World) -> int:
    return len(world.probes) * len([item for item in world.objects if item["kind"] == "Node"])
