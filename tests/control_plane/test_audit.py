"""An audit of a real API server whose scheduler seats pod by pod: it finds what was set up, and no more."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.cli.audit import cluster as live
from maitred.cli.manifest import manifests
from maitred.explain.audit.auditing import audit
from maitred.kube.resources import JOBS, PODS, Resource
from maitred.model.kinds import DUMPED
from maitred.model.policy import Policy
from maitred.sandbox.apiserver.users import User, service_account
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import Machine
from tests.control_plane.cluster import Cluster, cluster
from tests.control_plane.waiting import DEADLINE_SECONDS
from tests.oracle.builders import gang

Json = dict[str, Any]

AUDITOR = service_account("maitred-audit", "maitred-audit")
STRANGER = User("stranger")
GPU = "nvidia.com/gpu"
HAS = {"cpu": "16", "memory": "64Gi", GPU: "8"}
MACHINES = [Machine(f"{pool}{number}", HAS, {"pool": pool}) for number, pool in enumerate("aaabbbcc")]
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
LATER = timedelta(minutes=10)
"""When what is under way now has been so for longer than any start takes."""

HALF = {"indexed": (2, 3, 16), "marked": (2, 3, 16), "counted": (1, 2, 4)}
"""Gangs that are set up to get a part of their places: how many, of how many, with how many devices."""


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without the workload API: there are no gangs for its scheduler."""
    users = (AUDITOR, STRANGER)
    with (
        ControlPlane(control_plane.release, workload_gates=False, users=users, say=print) as plane,
        plane.controller_manager(),
        plane.kube_scheduler(),
    ):
        plane.kubectl("apply", "-k", str(manifests() / "audit"))
        yield plane


def pod(gpus: int, pool: str, **about: Any) -> Json:
    spec = {"containers": [container(gpus)], "nodeSelector": {"pool": pool}, "restartPolicy": "Never"}
    return {"metadata": about, "spec": spec}


def container(gpus: int, cpu: int = 1) -> Json:
    requests = {"cpu": str(cpu), **({GPU: str(gpus)} if gpus else {})}
    return {"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}


def job(name: str, template: Json, **spec: Any) -> Json:
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


INDEXED = {"completionMode": "Indexed"}
QUICK = {"maitred.dev/run-seconds": "0"}


async def set_up(place: Cluster) -> None:
    """Of the three nodes of pools a and b one each is taken; pool c has room for everyone else."""
    jobs, pods = JOBS.path(place.namespace), PODS.path(place.namespace)
    for pool in "ab":
        await place.send("POST", pods, pod(8, pool, name=f"taken-{pool}"))
        await place.phase(f"taken-{pool}", "Running")
    await place.send("POST", jobs, job("indexed", pod(8, "a"), parallelism=3, completions=3, **INDEXED))
    for number in range(3):
        await place.send("POST", pods, pod(8, "b", name=f"marked-{number}", annotations=gang("marked", 3)))
    counts = {"labels": {"kueue.x-k8s.io/pod-group-name": "counted"}}
    counts["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    for number, pool in enumerate("ca"):
        await place.send("POST", pods, pod(4, pool, name=f"counted-{number}", **counts))
    # None of these is a gang that runs in part.
    await place.send("POST", jobs, job("whole", pod(1, "c"), parallelism=2, completions=2, **INDEXED))
    done = pod(1, "c", annotations=QUICK)
    await place.send("POST", jobs, job("done", done, parallelism=2, completions=2, **INDEXED))
    await place.send("POST", jobs, job("queue", pod(4, "a"), parallelism=2, completions=9))
    alone = {"backoffLimitPerIndex": 1, **INDEXED}
    await place.send("POST", jobs, job("alone", pod(4, "b"), parallelism=2, completions=2, **alone))
    await place.send("POST", pods, pod(8, "a", name="waits"))
    await place.send("POST", pods, pod(1, "c", name="runs"))
    await place.send("POST", pods, pod(16, "c", name="never"))
    await place.send("POST", DEPLOYMENTS.path(place.namespace), deployment("web", 3))
    await settled(place)
    # A rolling update that cannot go on: what is new does not fit, what is old stays.
    change = {"spec": {"template": {"spec": {"containers": [container(0, cpu=16)]}}}}
    await patch(place, f"{DEPLOYMENTS.path(place.namespace)}/web", change)
    await place.poll(pods, lambda found: phases(found, "web") == ["Pending", "Running", "Running", "Running"])


def deployment(name: str, replicas: int) -> Json:
    template = pod(0, "c", labels={"app": name})
    del template["spec"]["restartPolicy"]
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "selector": selector, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


async def patch(place: Cluster, path: str, change: Json) -> None:
    body = json.dumps(change).encode()
    await place.client.request("PATCH", path, body=body, content_type="application/merge-patch+json")


async def settled(place: Cluster) -> None:
    """Everyone who fits runs."""
    wanted = {"indexed": 2, "marked": 2, "counted": 1, "whole": 2, "runs": 1, "web": 3}

    def is_so(found: Json | None) -> bool:
        running = {name: phases(found, name).count("Running") for name in wanted}
        return running == wanted and phases(found, "done") == ["Succeeded"] * 2

    await place.poll(PODS.path(place.namespace), is_so)


def phases(found: Json | None, name: str) -> list[str]:
    items = found["items"] if found else []
    return sorted(one["status"]["phase"] for one in items if one["metadata"]["name"].startswith(name))


def told(story: Callable[[Cluster], Awaitable[None]], plane: ControlPlane) -> None:
    async def whole() -> None:
        async with cluster(plane, MACHINES) as place:
            await set_up(place)
            await story(place)

    asyncio.run(asyncio.wait_for(whole(), 3 * DEADLINE_SECONDS))


def half_started(found: list[Json], namespace: str) -> dict[str, tuple[int, int, int]]:
    return {
        gang["group"].removeprefix(f"{namespace}/"): (gang["seated"], gang["quorum"], int(gang["devices"]))
        for gang in found
    }


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["audit", *arguments])


def as_data(*arguments: str) -> Json:
    return dict(json.loads(run(*arguments, "-o", "json").stdout))


def test_it_finds_the_half_started_gangs_and_nothing_else(plane: ControlPlane, tmp_path: Path) -> None:
    """From a dump, from the cluster itself as one who may only read, and from a watch."""

    async def story(place: Cluster) -> None:
        dump = tmp_path / "cluster.json"
        dump.write_text(plane.kubectl("get", DUMPED, "-A", "-o", "json"))
        later = (datetime.now(UTC) + LATER).isoformat()
        found = await asyncio.to_thread(as_data, "-f", str(dump), "--now", later)
        assert half_started(found["halfStarted"], place.namespace) == HALF
        assert found["starting"] == []
        assert [one["group"] for one in found["never"]] == [f"{place.namespace}/never"]
        [devices] = found["devices"]
        assert (devices["total"], devices["halfStarted"]) == (64, 36)

        kubeconfig = str(plane.kubeconfig(AUDITOR))
        now = await asyncio.to_thread(as_data, "--kubeconfig", kubeconfig)
        assert half_started(now["starting"], place.namespace) == HALF
        assert now["halfStarted"] == []
        assert now["warnings"] == []

        watched, warnings = await live.read_cluster(kubeconfig, None, Policy(), 2.0)
        assert warnings == ()
        seen = audit(watched, datetime.now(UTC) + LATER)
        assert half_started(msgspec.to_builtins(seen.half_started), place.namespace) == HALF
        assert seen.held is not None
        assert seen.held.incomplete_device_hours == pytest.approx(36 * seen.watched_seconds / 3600)  # type: ignore[operator]

        begun = await asyncio.to_thread(interrupted, kubeconfig)
        assert half_started(begun["starting"], place.namespace) == HALF

    told(story, plane)


def interrupted(kubeconfig: str) -> Json:
    """What a watch tells that is ended with Ctrl-C as soon as it has begun."""
    command = [sys.executable, "-m", "maitred.cli", "audit", "--kubeconfig", kubeconfig, "--for", "1h"]
    with Popen([*command, "-o", "json"], stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("watching for 1.0 h; Ctrl-C ends the watch early")
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=DEADLINE_SECONDS)
    return dict(json.loads(told))


def test_who_may_not_read_is_told_what_is_missing_and_how_to_get_it(plane: ControlPlane) -> None:
    result = run("--kubeconfig", str(plane.kubeconfig(STRANGER)))
    assert result.exit_code == 1
    assert result.stderr == (
        "you may not list nodes, list pods; maitred audit --role | kubectl apply -f - grants it\n"
    )


def test_what_the_command_prints_is_what_it_takes(plane: ControlPlane) -> None:
    printed = run("--role").stdout
    assert "unchanged" in plane.kubectl("apply", "-f", "-", stdin=printed)
