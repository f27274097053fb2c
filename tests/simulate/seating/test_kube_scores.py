"""The formulas of kube-scheduler, worked by hand."""

import numpy as np
import pytest

from maitred.cluster.nodes import Ints
from maitred.model.pod import Container, PodSpec, ResourceRequirements
from maitred.simulate.seating.kube_scores import (
    balanced_allocation,
    least_allocated,
    nodes_to_score,
    scored_requests,
)
from tests.simulate.seating.groups import MI, container


def column(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)[:, None]


@pytest.mark.parametrize(
    ("nodes", "enough"),
    [
        (1, 1),
        (99, 99),
        (100, 100),
        (101, 100),
        (250, 120),
        (847, 372),
        (5000, 500),
        (5624, 337),
        (10000, 500),
    ],
)
def test_of_large_clusters_a_part_is_scored(nodes: int, enough: int) -> None:
    assert nodes_to_score(nodes) == enough


@pytest.mark.parametrize(
    ("requested", "capacity", "score"),
    [
        ((1000, 2), (4000, 8), 75),
        ((1000, 3), (3000, 10), 68),  # 66.6 and 70, each rounded down, then their mean
        ((4000, 0), (4000, 8), 50),
        ((5000, 0), (4000, 8), 50),
        ((100, 5), (0, 10), 50),
        ((100, 5), (0, 0), 0),
    ],
)
def test_percent_left_free(requested: tuple[int, int], capacity: tuple[int, int], score: int) -> None:
    assert least_allocated(column(*requested), column(*capacity)).tolist() == [score]


@pytest.mark.parametrize(
    ("before", "after", "capacity", "score"),
    [
        ((0, 0), (1000, 2), (4000, 8), 75),
        ((0, 0), (2000, 2), (4000, 8), 68),  # from 100 to 87.5: half of 50 + 87 - 100, rounded down
        ((2000, 2), (2000, 4), (4000, 8), 81),
        ((0, 0), (4000, 0), (4000, 8), 50),
        ((4000, 0), (4000, 8), (4000, 8), 100),
        ((4000, 8), (9000, 8), (4000, 8), 75),
        ((0, 0), (0, 8), (0, 8), 75),
    ],
)
def test_balance_gained(
    before: tuple[int, int], after: tuple[int, int], capacity: tuple[int, int], score: int
) -> None:
    requested = np.stack((column(*before), column(*after)))
    assert balanced_allocation(requested, column(*capacity)).tolist() == [score]


def test_a_container_that_does_not_say_takes_a_little() -> None:
    assert scored_requests(PodSpec((Container(),))) == (100, 200 * MI)
    assert scored_requests(PodSpec((Container(), container(cpu=2)))) == (2100, 400 * MI)
    assert scored_requests(PodSpec((container(cpu=0, memory="1Mi"),))) == (0, MI)


def test_a_limit_is_a_request() -> None:
    limited = Container(resources=ResourceRequirements(limits={"cpu": "3"}))
    assert scored_requests(PodSpec((limited,))) == (3000, 200 * MI)


def test_an_init_container_counts_for_what_it_takes_more() -> None:
    spec = PodSpec((container(cpu="50m", memory="1Gi"),), init_containers=(Container(),))
    assert scored_requests(spec) == (100, 1024 * MI)
