"""A real API server that nobody keeps house for, beside the one that kube-controller-manager does."""

from collections.abc import Iterator

import pytest

from maitred.sandbox.controlplane.run import ControlPlane

IMITATED = "1.37.1"


@pytest.fixture(scope="package")
def bare_plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    if control_plane.release.name != IMITATED or not control_plane.workload_gates:
        pytest.skip(f"housekeeping imitates {IMITATED} with its workload API")
    with ControlPlane(control_plane.release, say=lambda line: None) as plane:
        yield plane
