"""Jobs that were suspended, on the sandbox with its Job controller."""

from collections.abc import Iterator

import pytest

from tests.control_plane.cluster import Plane
from tests.controllers.owners.stories import STORIES, Story, it_is_preempted_twice_and_ends_complete, tell
from tests.sandbox.apiserver.running import running_server
from tests.scenarios.objects import nodes

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sandbox")]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    with running_server(tmp_path_factory.mktemp("sandbox"), kept=True) as server:
        yield server


@pytest.mark.parametrize("story", STORIES)
def test_a_suspended_job(plane: Plane, story: Story) -> None:
    tell(plane, story)


def test_a_gang_of_64_is_preempted_twice_and_ends_complete(plane: Plane) -> None:
    tell(plane, it_is_preempted_twice_and_ends_complete, nodes(8, cpu=8))
