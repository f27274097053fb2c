"""The real control plane: it is the one asked for, survives a restart, and never outlives us."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from maitred.kube.client import Client, encode
from maitred.kube.errors import ApiError, Unreachable
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.controlplane.process import Process, ProcessError
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.workspace import workspace
from maitred.sandbox.users import KUBE_SCHEDULER, MAITRED
from tests.control_plane.waiting import eventually

Json = dict[str, Any]


def ask(plane: ControlPlane, user: User, path: str, verb: str = "GET", body: Json | None = None) -> Json:
    async def once() -> Json:
        async with Client(plane.connection(user)) as client:
            answer = await client.request(verb, path, body=None if body is None else encode(body))
            return dict(json.loads(answer))

    return asyncio.run(once())


def versions(plane: ControlPlane) -> set[str]:
    group = ask(plane, ADMIN, "/apis/scheduling.k8s.io")
    return {version["version"] for version in group["versions"]}


def test_it_serves_the_release_and_the_workload_api_that_were_asked_for(control_plane: ControlPlane) -> None:
    release = control_plane.release
    assert ask(control_plane, ADMIN, "/version")["gitVersion"] == release.tag
    served = {"v1", *release.served} if control_plane.workload_gates else {"v1"}
    assert versions(control_plane) == served


def test_users_have_the_rights_of_their_roles_only(control_plane: ControlPlane) -> None:
    ask(control_plane, KUBE_SCHEDULER, "/api/v1/pods")
    with pytest.raises(ApiError, match="system:serviceaccount:maitred-system:maitred") as refused:
        ask(control_plane, MAITRED, "/api/v1/pods")
    assert refused.value.status == 403


def test_a_role_bound_to_the_service_account_is_a_role_of_maitred(control_plane: ControlPlane) -> None:
    subject = {"kind": "ServiceAccount", "namespace": "maitred-system", "name": "maitred"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    binding = {"metadata": {"name": "test-view"}, "roleRef": role, "subjects": [subject]}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    ask(control_plane, ADMIN, path, "POST", binding)
    try:
        eventually(lambda: allowed(control_plane, "/api/v1/pods"))
    finally:
        ask(control_plane, ADMIN, f"{path}/test-view", "DELETE")


def allowed(plane: ControlPlane, path: str) -> bool:
    try:
        ask(plane, MAITRED, path)
    except ApiError:
        return False
    return True


def test_what_was_written_is_there_after_a_restart_at_the_same_address(control_plane: ControlPlane) -> None:
    before = control_plane.url
    ask(control_plane, ADMIN, "/api/v1/namespaces", "POST", {"metadata": {"name": "restarted"}})
    control_plane.restart_apiserver()
    assert control_plane.url == before
    assert ask(control_plane, ADMIN, "/api/v1/namespaces/restarted")["metadata"]["name"] == "restarted"
    ask(control_plane, ADMIN, "/api/v1/namespaces/restarted", "DELETE")


def test_a_paused_server_answers_nothing_until_it_goes_on(control_plane: ControlPlane) -> None:
    async def steps() -> None:
        async with Client(control_plane.connection(ADMIN)) as client:
            await client.request("GET", "/version")
            control_plane.apiserver.pause()
            try:
                with pytest.raises(Unreachable):
                    await client.request("GET", "/version", seconds=1)
            finally:
                control_plane.apiserver.resume()
            await client.request("GET", "/version")

    asyncio.run(steps())


def test_the_controllers_make_the_pods_of_a_job(control_plane: ControlPlane) -> None:
    container = {"name": "main", "image": "none"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    job = {"metadata": {"name": "two"}, "spec": {"parallelism": 2, "completions": 2, "template": template}}
    ask(control_plane, ADMIN, jobs, "POST", job)
    pods = "/api/v1/namespaces/default/pods"
    eventually(lambda: len(ask(control_plane, ADMIN, pods)["items"]) == 2)
    ask(control_plane, ADMIN, f"{jobs}/two", "DELETE", {"propagationPolicy": "Background"})
    eventually(lambda: not ask(control_plane, ADMIN, pods)["items"])


def test_kube_scheduler_runs_for_as_long_as_it_is_wanted(control_plane: ControlPlane) -> None:
    profile = {"schedulerName": "another"}
    with control_plane.kube_scheduler(qps=100, settings={"profiles": [profile]}) as process:
        pid = process.pid
        assert alive(pid)
    assert not alive(pid)


def test_kubectl_speaks_to_it(control_plane: ControlPlane) -> None:
    assert "kube-node-lease" in control_plane.kubectl("get", "namespaces", "-o", "name")


ORPHANS = """
import os, signal
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.versions import RELEASES

with ControlPlane(RELEASES["{release}"], say=print) as plane, plane.controller_manager() as controllers:
    print(plane.apiserver.pid, controllers.pid, plane.directory, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_left_of_it_when_its_parent_is_killed(control_plane: ControlPlane) -> None:
    script = ORPHANS.format(release=control_plane.release.name)
    died = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    *pids, directory = died.stdout.split()
    eventually(lambda: not any(alive(int(pid)) for pid in pids))
    assert Path(directory).exists()
    with workspace():
        assert not Path(directory).exists()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_program_that_does_not_come_up_is_quoted(tmp_path: Path) -> None:
    process = Process(["/bin/sh", "-c", "echo the disk is full; exit 3"], tmp_path / "log")
    process.start()
    with pytest.raises(
        ProcessError, match="sh did not start, exit status 3; its last output: the disk is full"
    ):
        process.wait_ready("http://127.0.0.1:1/")


def test_a_program_that_ends_by_itself_does_not_go_unnoticed(tmp_path: Path) -> None:
    process = Process(["/bin/sh", "-c", "kill -SEGV $$"], tmp_path / "log")
    process.start()
    eventually(lambda: not alive(process.pid))
    with pytest.raises(ProcessError, match="ended by itself, killed by SIGSEGV"):
        process.stop()


def test_a_program_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    process = Process(["/bin/sleep", "600"], tmp_path / "log")
    thread = Thread(target=process.start)
    thread.start()
    thread.join()
    eventually(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
    assert alive(process.pid)
    process.stop()
