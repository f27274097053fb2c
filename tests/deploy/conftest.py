"""A cluster to install into."""

from collections.abc import Iterator

import pytest

from maitred.sandbox.controlplane.run import ControlPlane


@pytest.fixture(scope="session")
def fresh_plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Like the one that all share, but apart from it: others rely on what is installed and removed here."""
    release, gates = control_plane.release, control_plane.workload_gates
    with ControlPlane(release, workload_gates=gates, say=print) as plane, plane.controller_manager():
        yield plane
