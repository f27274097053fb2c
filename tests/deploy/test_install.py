"""docs/install.md and docs/uninstall.md: whoever follows them gets what they show.

The replicas of the Deployment are pretended, as all pods are. What schedules is `maitred scheduler` with the
arguments of the Deployment, as its service account.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from maitred.kube.client import Client
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import kubelets
from maitred.sandbox.users import MAITRED
from tests.control_plane.waiting import eventually
from tests.deploy.walkthrough import Shell, blocks_of

FIRST, *OTHERS = (Machine(f"node-{number}", {"cpu": "8", "memory": "32Gi"}) for number in range(1, 5))
IN_FORCE = "policy in force: "
STOP_SECONDS = 30


def test_the_pages_lead_to_a_gang_and_back(fresh_plane: ControlPlane, tmp_path: Path) -> None:
    shell = Shell(fresh_plane, tmp_path)
    shell.save_files_of("install.md")
    with fresh_plane.kube_scheduler():
        asyncio.run(walk(shell))


async def walk(shell: Shell) -> None:
    async with Client(shell.plane.connection(ADMIN)) as client, kubelets(client, [FIRST]) as fleet:
        await asyncio.to_thread(apply, shell)
        # The replicas are on the first node by now, so the numbers that the page shows are certain.
        for machine in OTHERS:
            await fleet.add(machine)
        await asyncio.to_thread(use_and_remove, shell)


def apply(shell: Shell) -> None:
    shell.follow("install.md", "Apply it")
    shell.must("kubectl -n maitred-system rollout status deployment/maitred --timeout=60s")


def use_and_remove(shell: Shell) -> None:
    with scheduler(shell) as log:
        for section in ("Check it", *gangs(shell.plane), "Whole namespaces"):
            shell.follow("install.md", section)
        policy, guest = blocks_of("install.md", "Nodes of its own")
        shell.replay(policy)
        eventually(lambda: log.read_text().count(IN_FORCE) == 2)
        shell.replay(guest)
    shell.must("kubectl -n team run hello --image=busybox")
    for section in ("Stop new pods", "Remove it", "Pods that still name maitred"):
        shell.follow("uninstall.md", section)
    ours = (
        "clusterroles,clusterrolebindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings,"
        "validatingadmissionpolicies,validatingadmissionpolicybindings"
    )
    assert shell.must(f"kubectl get {ours} -l app.kubernetes.io/name=maitred -o name") == ""


def gangs(plane: ControlPlane) -> list[str]:
    """The sections that fit the server: the PodGroups of the page are those of 1.37."""
    if not plane.workload_gates:
        return ["Without the group API"]
    return ["A first gang", "When it does not fit"] if "v1beta1" in plane.release.served else []


@contextmanager
def scheduler(shell: Shell) -> Iterator[Path]:
    """The process that the replicas would run. Gives its log."""
    log = shell.folder / "scheduler.log"
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "maitred.cli", *arguments(shell)], stderr=file)
    try:
        yield log
    finally:
        process.terminate()
        status = process.wait(STOP_SECONDS)
    assert status == 0, log.read_text()


def arguments(shell: Shell) -> list[str]:
    items = yaml.safe_load_all((shell.folder / "maitred.yaml").read_text())
    deployment = next(item for item in items if item["kind"] == "Deployment")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    given = [word.replace("$(NAMESPACE)", deployment["metadata"]["namespace"]) for word in container["args"]]
    # Outside of a pod there is no service account to find, and the port may be taken.
    return [*given, f"--kubeconfig={shell.plane.kubeconfig(MAITRED)}", "--listen=", "--answers="]
