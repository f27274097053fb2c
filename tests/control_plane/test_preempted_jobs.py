"""Jobs that were suspended to make room, with the Job controller of Kubernetes."""

from pathlib import Path

import pytest

from maitred.controllers.policy import PolicyFile
from maitred.sandbox.controlplane.run import ControlPlane
from tests.controllers.owners.stories import (
    STORIES,
    Story,
    it_dies_of_one_preemption,
    it_is_preempted_twice_and_ends_complete,
    tell,
)
from tests.scenarios.objects import nodes


@pytest.mark.parametrize("story", STORIES)
def test_a_suspended_job(control_plane: ControlPlane, story: Story) -> None:
    with control_plane.kube_scheduler():
        tell(control_plane, story)


def test_a_gang_of_64_is_preempted_twice_and_ends_complete(control_plane: ControlPlane) -> None:
    tell(control_plane, it_is_preempted_twice_and_ends_complete, nodes(8, cpu=8))


def test_where_its_pods_are_deleted_one_preemption_is_enough_to_end_it(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """What suspension is for; and what the receipts of deleted pods say."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("preemption: {jobs: delete}")
    tell(control_plane, it_dies_of_one_preemption, policy=PolicyFile(str(policy)))
