import re
from collections.abc import Iterator

import pytest

from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.run import ControlPlane
from tests.sandbox.apiserver.kubectl.both import Both, Kubectl
from tests.sandbox.apiserver.running import RunningServer, running_server


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("sandbox")) as server:
        yield server


@pytest.fixture
def both(request: pytest.FixtureRequest, sandbox: RunningServer, bare_control_plane: ControlPlane) -> Both:
    """kubectl on both servers, in a namespace of this test."""
    if bare_control_plane.release.name != "1.37.1" or not bare_control_plane.workload_gates:
        pytest.skip("the sandbox imitates Kubernetes 1.37.1, with its workload API")
    program = programs(bare_control_plane.release, lambda line: None) / "kubectl"
    namespace = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:50].strip("-")
    ours = Kubectl(program, sandbox.kubeconfig(ADMIN), namespace)
    real = Kubectl(program, bare_control_plane.kubeconfig(ADMIN), namespace)
    found = Both(ours, real)
    found("create", "namespace", namespace)
    return found
