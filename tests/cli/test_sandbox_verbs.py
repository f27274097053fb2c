"""`maitred sandbox` on a real server: nodes are lost and found, drained and added, stories played."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.kube.client import Client
from maitred.model.world import NodeKind, World
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.fleet import kubelets_of_marked_nodes
from maitred.sandbox.world import nodes
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.objects import WorldObjects
from tests.control_plane.seating import scheduler
from tests.control_plane.waiting import eventually

GPU = "nvidia.com/gpu"
SMALL = World(kinds=(NodeKind("small", {"cpu": "8", "memory": "64Gi", GPU: "8"}, racks=2, nodes=2),))
STORY = """
title: Two gangs of which one fits
steps:
- gangs: [{name: first, workers: 3, gpus: 0, cpu: "8", memory: 1Gi, seconds: 2}]
- wait: {group: first, is: Scheduled, placed: 3}
- gangs: [{name: second, workers: 2, gpus: 0, cpu: "8", memory: 1Gi, seconds: 0}]
- say: One place is left for two.
  wait: {group: second, is: Waiting, because: Capacity}
- wait: {group: second, is: Finished}
"""
WEB = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: b1-r1-n01
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: none}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""


class Sandbox:
    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def invoke(self, *arguments: str) -> Result:
        return CliRunner().invoke(
            cli, ["sandbox", *arguments, "--kubeconfig", str(self.plane.kubeconfig(ADMIN))]
        )

    def ready(self, node: str) -> str:
        path = '{.status.conditions[?(@.type=="Ready")].status}'
        return self.plane.kubectl("get", "node", node, "-o", f"jsonpath={path}")

    def mark(self) -> None:
        self.plane.kubectl("create", "configmap", "-n", "kube-system", "maitred-sandbox")

    def unmark(self) -> None:
        self.plane.kubectl("delete", "configmap", "-n", "kube-system", "maitred-sandbox")


@contextmanager
def in_the_background(plane: ControlPlane) -> Iterator[None]:
    """Kubelets and a scheduler in a thread, as `maitred up` has them in another process."""
    started, loop, stop = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def run() -> None:
        async with (
            Client(plane.connection(ADMIN)) as client,
            kubelets_of_marked_nodes(client),
            scheduler(plane),
        ):
            objects = WorldObjects(client)
            await nodes.create(objects, machines(SMALL))
            started.set()
            await stop.wait()
            await nodes.remove(objects, await nodes.simulated(objects))

    def serve() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(run())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert started.wait(60)
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


@pytest.fixture(scope="module")
def sandbox(control_plane: ControlPlane) -> Iterator[Sandbox]:
    place = Sandbox(control_plane)
    with in_the_background(control_plane):
        place.mark()
        yield place
        place.unmark()


def test_a_cluster_without_the_marker_is_left_alone(sandbox: Sandbox) -> None:
    sandbox.unmark()
    try:
        for verb in ("fail", "heal", "drain", "undrain"):
            result = sandbox.invoke(verb, "rack=r1")
            assert result.exit_code == 2
            assert "is not a sandbox: it has no ConfigMap kube-system/maitred-sandbox" in result.stderr
    finally:
        sandbox.mark()


def test_real_nodes_are_none_of_its_business(sandbox: Sandbox) -> None:
    sandbox.plane.kubectl("apply", "-f", "-", stdin="{apiVersion: v1, kind: Node, metadata: {name: real}}")
    try:
        result = sandbox.invoke("fail", "real")
        assert (result.exit_code, "no simulated node" in result.stderr) == (2, True)
    finally:
        sandbox.plane.kubectl("delete", "node", "real")


def test_nodes_are_lost_and_found(sandbox: Sandbox) -> None:
    eventually(lambda: sandbox.ready("b1-r2-n02") == "True")
    assert sandbox.invoke("fail", "rack=r2").stdout == "2 nodes lost: b1-r2-n01 to b1-r2-n02\n"
    eventually(lambda: sandbox.ready("b1-r2-n02") == "Unknown")
    floor = json.loads(sandbox.invoke("floor", "-o", "json").stdout)
    assert [spot["openness"] for rack in floor["racks"] for spot in rack["nodes"]] == [
        *["open"] * 2,
        *["lost"] * 2,
    ]
    healed = sandbox.invoke("heal", "block=b1").stdout
    assert healed == "2 nodes healed: b1-r2-n01 to b1-r2-n02; 2 nodes not lost\n"
    assert sandbox.invoke("undrain", "rack=r2").stdout == "0 nodes uncordoned; 2 nodes not cordoned\n"
    eventually(lambda: sandbox.ready("b1-r2-n02") == "True")


def test_devices_are_unwell_until_they_are_healed(sandbox: Sandbox) -> None:
    def unwell() -> list[tuple[int, str | None]]:
        floor = json.loads(sandbox.invoke("floor", "-o", "json").stdout)
        return [(spot["unwell"], spot["cause"]) for rack in floor["racks"] for spot in rack["nodes"]]

    failed = sandbox.invoke("fail", "--devices", "3", "b1-r2-n02").stdout
    assert failed == "1 node with 3 unwell devices: b1-r2-n02\n"
    eventually(lambda: unwell() == [(0, None)] * 3 + [(3, "Unhealthy")])
    assert "Unwell: 3 of 8 nvidia.com/gpu on b1-r2-n02." in sandbox.invoke("floor").stdout
    assert sandbox.ready("b1-r2-n02") == "True"
    failed = sandbox.invoke("fail", "--devices", "8", "rack=r2").stdout
    assert failed == "2 nodes with 8 unwell devices on each: b1-r2-n01 to b1-r2-n02\n"
    eventually(lambda: unwell() == [(0, None)] * 2 + [(8, "NotAnswering")] * 2)
    healed = sandbox.invoke("heal", "block=b1").stdout
    assert healed == "2 nodes healed: b1-r2-n01 to b1-r2-n02; 2 nodes not lost\n"
    eventually(lambda: unwell() == [(0, None)] * 4)


def test_devices_are_unwell_for_a_while(sandbox: Sandbox) -> None:
    offered = ("get", "node", "b1-r1-n01", "-o", f"jsonpath={{.status.allocatable['{GPU}']}}")
    result = sandbox.invoke("fail", "b1-r1-n01", "--devices", "1", "--for", "1s")
    assert result.stdout.splitlines()[-1] == "1 node healed"
    assert sandbox.plane.kubectl(*(word.replace(".com", r"\.com") for word in offered)) == "8"


def test_health_tells_lost_nodes_broken_devices_and_bugs_apart(sandbox: Sandbox) -> None:
    """A gang on two nodes of which one is lost, and a member that fails on every node that it is on."""

    def health(*arguments: str) -> Result:
        files = ["--kubeconfig", str(sandbox.plane.kubeconfig(ADMIN))]
        return CliRunner().invoke(cli, ["health", *arguments, *files])

    def hurt() -> dict[str, tuple[str, str, bool]]:
        found = json.loads(health("-o", "json").stdout)["hurt"]
        return {one["group"]: (one["family"], one["certainty"], one["below"]) for one in found}

    crew = {"maitred.dev/group": "crew", "maitred.dev/min-count": "2"}
    bug = {"maitred.dev/group": "bug", "batch.kubernetes.io/job-completion-index": "7"}
    fails = {"maitred.dev/exit-code": "3"}
    pods = [
        placed("crew-0", "b1-r1-n01", crew),
        placed("crew-1", "b1-r2-n01", crew),
        placed("bug-a", "b1-r1-n01", bug, fails),
        placed("bug-b", "b1-r1-n02", bug, fails),
    ]
    sandbox.plane.kubectl(
        "apply", "-f", "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": pods})
    )
    try:
        eventually(lambda: hurt() == {"default/bug": ("OwnCode", "certain", False)})
        assert json.loads(health("-o", "json").stdout)["unwell"] == []
        assert health("b1-r2-n01").exit_code == 0
        sandbox.invoke("fail", "b1-r2-n01")
        sandbox.invoke("fail", "--devices", "3", "b1-r2-n02")
        eventually(lambda: hurt().get("default/crew") == ("Infrastructure", "certain", True))
        assert health("b1-r2-n01").exit_code == 6
        eventually(lambda: "3 of its 8 nvidia.com/gpu" in health("b1-r2-n02").stdout)
        sandbox.invoke("heal", "block=b1")
        eventually(lambda: "default/crew" not in hurt())
        eventually(lambda: json.loads(health("-o", "json").stdout)["unwell"] == [])
    finally:
        sandbox.invoke("heal", "block=b1")
        names = [pod["metadata"]["name"] for pod in pods]
        sandbox.plane.kubectl("delete", "pod", "--now", *names)


def placed(
    name: str, node: str, labels: dict[str, str], marks: dict[str, str] | None = None
) -> dict[str, Any]:
    spec = {"nodeName": node, "restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    about = {"name": name, "labels": labels, "annotations": marks or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


def test_no_more_devices_fail_than_there_are(sandbox: Sandbox) -> None:
    result = sandbox.invoke("fail", "--devices", "9", "rack=r1")
    assert result.exit_code == 2
    assert result.stderr == "--devices: b1-r1-n01 has 8 nvidia.com/gpu, fewer than 9\n"


def test_nodes_come_and_go(sandbox: Sandbox) -> None:
    result = sandbox.invoke("add", "2", "--rack", "r9", "--like", "b1-r2-n01")
    assert result.stdout == "2 nodes added: b1-r9-n01 to b1-r9-n02\n"
    eventually(lambda: sandbox.ready("b1-r9-n01") == "True")
    sandbox.plane.kubectl("delete", "node", "b1-r9-n01", "b1-r9-n02")
    leases = ("get", "leases", "-n", "kube-node-lease", "-o", "name")
    eventually(lambda: "b1-r9-n01" not in sandbox.plane.kubectl(*leases))


@pytest.mark.parametrize(
    ("option", "value"),
    [("--rack", "R 1"), ("--rack", "R1"), ("--block", ""), ("--rack", "r" * 51), ("--label", "a=b c")],
)
def test_what_no_node_could_be_called_is_refused_before_anything_is_sent(
    sandbox: Sandbox, option: str, value: str
) -> None:
    result = sandbox.invoke("add", "1", option, value)
    assert (result.exit_code, result.stderr.partition(":")[0]) == (2, option)


def test_a_drain_says_who_blocks_it_and_ends_when_nobody_does(sandbox: Sandbox) -> None:
    sandbox.plane.kubectl("apply", "-f", "-", stdin=WEB)
    try:
        budget = ("get", "pdb", "web", "-o", "jsonpath={.status.currentHealthy}")
        eventually(lambda: sandbox.plane.kubectl(*budget) == "1")
        result = sandbox.invoke("drain", "b1-r1-n01", "--timeout", "2s")
        assert result.exit_code == 1
        assert "may not be evicted yet because of budget web (1 healthy, 1 needed)" in result.stdout
        assert result.stderr == "not drained within 2 s; the nodes stay cordoned\n"
        sandbox.plane.kubectl("delete", "pdb", "web")
        # Its template names the node, so that it would come back to it for ever.
        sandbox.plane.kubectl("delete", "replicaset", "web", "--cascade=orphan")
        eventually(lambda: "ReplicaSet" not in sandbox.plane.kubectl("get", "pods", "-o", "yaml"))
        refused = sandbox.invoke("drain", "b1-r1-n01")
        assert (refused.exit_code, "no controller would create them again" in refused.stderr) == (2, True)
        assert sandbox.invoke("drain", "b1-r1-n01", "--force").stdout.endswith("1 node drained\n")
        assert sandbox.plane.kubectl("get", "pods", "-o", "name") == ""
    finally:
        sandbox.plane.kubectl("delete", "rs,pdb,pods", "--all")
        assert sandbox.invoke("undrain", "b1-r1-n01").exit_code == 0


def test_a_story_is_played_and_the_floor_is_empty_again(sandbox: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "story.yaml"
    file.write_text(f"apiVersion: maitred.dev/v1alpha1\nkind: Story\n{STORY}")
    result = sandbox.invoke("load", str(file))
    assert result.exit_code == 0, result.output
    assert "second is Waiting, 0 of 2 placed: Capacity:" in result.stdout
    assert result.stdout.rstrip().endswith("second is Finished")
    listed = ("get", "jobs,podgroups", "-o", "name")
    eventually(lambda: sandbox.plane.kubectl(*listed) == "")


def test_a_story_that_goes_wrong_says_where(sandbox: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "story.yaml"
    wrong = STORY.replace("is: Scheduled, placed: 3", "is: Impossible, within: 1")
    file.write_text(f"apiVersion: maitred.dev/v1alpha1\nkind: Story\n{wrong}")
    result = sandbox.invoke("load", str(file))
    assert result.exit_code == 1
    assert result.stderr.startswith("step 2: first is Scheduled, 3 of 3 placed")
    assert "after 1 s, but should be Impossible" in result.stderr


def test_a_dump_is_taken_over(sandbox: Sandbox, tmp_path: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "runs",
            "namespace": "team",
            "ownerReferences": [{"kind": "ReplicaSet", "uid": "u"}],
        },
        "spec": {
            "nodeName": "theirs",
            "containers": [{"name": "main", "image": "i"}],
            "priority": 5,
            "priorityClassName": "gold",
        },
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "theirs"},
        "status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, node, secret]}))
    try:
        result = sandbox.invoke("load", str(file))
        assert result.exit_code == 0, result.output
        assert "Pod: 1 created, on their nodes\n" in result.stdout
        assert "left out: 1 × Secret of v1\n" in result.stdout
        running = ("get", "pod", "-n", "team", "runs", "-o", "jsonpath={.status.phase} {.spec.priority}")
        eventually(lambda: sandbox.plane.kubectl(*running) == "Running 5")
    finally:
        # The pod comes first: without its node, nobody says that it has ended.
        sandbox.plane.kubectl("delete", "pods", "--all", "-n", "team")
        sandbox.plane.kubectl("delete", "namespace/team", "priorityclass/gold", "node/theirs", "--wait=false")
