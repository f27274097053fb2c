"""What `maitred plan` takes and refuses, a real API server takes and refuses too."""

import json
import subprocess

import pytest

from maitred.cli.judging import judge_manifests
from maitred.explain.proposal.expansion import members_of
from maitred.model.manifest import InputError, documents
from maitred.sandbox.controlplane.run import ControlPlane
from tests.cli.judged import ACCEPTED, REFUSED, Obj

MANIFESTS = {**{what: manifest for what, (manifest, _) in REFUSED.items()}, **ACCEPTED}


def is_taken(plane: ControlPlane, manifest: Obj) -> bool:
    """Fields that do not exist are dropped, as without kubectl's own look at the manifest."""
    try:
        plane.kubectl(
            "create", "--dry-run=server", "--validate=ignore", "-f", "-", stdin=json.dumps(manifest)
        )
    except subprocess.CalledProcessError:
        return False
    return True


def is_planned(manifest: Obj) -> bool:
    given = list(documents(json.dumps(manifest).encode(), "manifest"))
    try:
        members_of(given, "default")
        judge_manifests(given, "default")
    except InputError:
        return False
    return True


@pytest.mark.control_plane
def test_the_real_server_takes_and_refuses_the_same(bare_control_plane: ControlPlane) -> None:
    taken = {what: is_taken(bare_control_plane, manifest) for what, manifest in MANIFESTS.items()}
    assert taken == {what: is_planned(manifest) for what, manifest in MANIFESTS.items()}
    assert taken == {what: what in ACCEPTED for what in MANIFESTS}
