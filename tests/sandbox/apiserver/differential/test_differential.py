"""The same requests to the sandbox and to a real API server, without controllers: the same answers."""

import asyncio

import pytest

from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED
from tests.sandbox.apiserver.differential.compare import Difference, differences, known_differences
from tests.sandbox.apiserver.differential.corpus.every import STORIES
from tests.sandbox.apiserver.differential.play import Answer, play
from tests.sandbox.apiserver.running import running_server

IMITATED = "1.37.1"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    with running_server(tmp_path_factory.mktemp("sandbox")) as server:
        return asyncio.run(play(server.connection(ADMIN), server.connection(MAITRED), STORIES))


@pytest.fixture(scope="module")
def found(bare_control_plane: ControlPlane, ours: list[Answer]) -> list[Difference]:
    if bare_control_plane.release.name != IMITATED or not bare_control_plane.workload_gates:
        pytest.skip(f"the sandbox imitates Kubernetes {IMITATED}, with its workload API")
    admin, other = bare_control_plane.connection(ADMIN), bare_control_plane.connection(MAITRED)
    real = asyncio.run(play(admin, other, STORIES))
    return list(differences(real, ours))


@pytest.mark.parametrize("name", [story.name for story in STORIES])
def test_the_sandbox_answers_as_the_real_server_does(name: str, found: list[Difference]) -> None:
    known = known_differences()
    unexpected = [
        str(difference)
        for difference in found
        if difference.place.rpartition(" ")[0] == name
        and not any(entry.covers(difference) for entry in known)
    ]
    assert not unexpected, "\n".join(unexpected)


def test_every_known_difference_is_still_one(found: list[Difference]) -> None:
    past = [entry for entry in known_differences() if not any(entry.covers(each) for each in found)]
    assert not past, f"no longer different; remove from differences.yaml: {past}"
