import pytest

from maitred.sandbox.controlplane.run import ControlPlane
from tests.sandbox.apiserver.schema.real import Real

IMITATED = "1.37.1"


@pytest.fixture(scope="session")
def real(control_plane: ControlPlane) -> Real:
    if control_plane.release.name != IMITATED or not control_plane.workload_gates:
        pytest.skip(f"the sandbox imitates {IMITATED} with its workload API")
    return Real(control_plane)
