"""The benchmark on a real server still runs, and does not count what is wrong. Time belongs to `make`."""

import subprocess
import sys

import pytest

from benchmarks.kube.bodies import MEMBERS, NODE_GPUS, Ask, Gang, node_name
from benchmarks.kube.checks import Places, WrongError, check
from benchmarks.kube.eviction import Eviction, preemptor, victims
from benchmarks.kube.eviction import check as check_evictions
from benchmarks.kube.usage import Usage

GANG = Gang("gang-0000", "maitred", Ask.RACK)


def seated(first_node: int = 0) -> Places:
    pods = [pod.name for pod in GANG.members()]
    return {pod: node_name(first_node + number // NODE_GPUS) for number, pod in enumerate(pods)}


def test_a_gang_that_is_whole_and_in_one_rack_is_right() -> None:
    check([GANG], seated(), seated(), finished=True)


def test_two_racks_are_wrong() -> None:
    places = seated(first_node=12)
    with pytest.raises(WrongError, match="gang-0000 must be in one rack and is in rack-0000, rack-0001"):
        check([GANG], places, places, finished=True)


def test_a_node_that_is_too_full_is_wrong() -> None:
    places = dict.fromkeys(list(seated())[: NODE_GPUS + 1], node_name(3))
    with pytest.raises(WrongError, match="node gpu-00003 has 8 GPUs and 9 pods"):
        check([GANG], places, places, finished=False)


def test_half_a_gang_is_wrong_once_the_scheduler_has_finished() -> None:
    half = dict(list(seated().items())[: MEMBERS // 2])
    waiting = dict.fromkeys(list(seated())[MEMBERS // 2 :], "")
    check([GANG], half | waiting, half, finished=False)
    with pytest.raises(WrongError, match="gang-0000 has 64 members, and 32 are bound"):
        check([GANG], half | waiting, half, finished=True)


def test_what_the_watcher_has_not_seen_does_not_count() -> None:
    with pytest.raises(WrongError, match="the watcher has seen 0 binds"):
        check([GANG], seated(), {}, finished=True)


NODES = 20
_, MEMBERS_OF_GANG = preemptor(NODES, "maitred")


def made_room(stay: int = 0, bound: int = 2) -> tuple[Places, Eviction]:
    """The first two nodes are for the gang; `stay` victims are there all the same, or members are missing."""
    pods = [pod.name for pod in victims(NODES)]
    places = {pod: node_name(number // NODE_GPUS) for number, pod in enumerate(pods)}
    gone = len(MEMBERS_OF_GANG) * NODE_GPUS - stay
    for pod in pods[:gone]:
        del places[pod]
    seats = {m.name: node_name(n) if n < bound else "" for n, m in enumerate(MEMBERS_OF_GANG)}
    return {**places, **seats}, Eviction(0.1, 0.2, 0.3, gone, bound, Usage(0.0, 0.0))


def test_a_gang_that_others_have_left_for_is_right() -> None:
    check_evictions(MEMBERS_OF_GANG, *made_room())


def test_a_victim_that_has_not_left_is_wrong() -> None:
    with pytest.raises(WrongError, match="node gpu-00001 has 8 GPUs, and 9 are taken"):
        check_evictions(MEMBERS_OF_GANG, *made_room(stay=1))


def test_half_a_gang_is_wrong_whoever_has_left() -> None:
    with pytest.raises(WrongError, match="the gang has 2 members, and 1 are bound"):
        check_evictions(MEMBERS_OF_GANG, *made_room(bound=1))


@pytest.mark.slow
@pytest.mark.usefixtures("control_plane")
def test_it_runs_at_a_small_size() -> None:
    """The fixture says whether a server can be had here; the benchmark starts its own."""
    command = [sys.executable, "-m", "benchmarks.kube", "claims", "cold", "preempt-500", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "3 gangs of 64, a claim from a template for each pod" in done.stdout
    assert "First Plan" in done.stdout
    assert "First eviction" in done.stdout
