"""One control plane with the real operators beside it, shared by the tests of this folder."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import progress, started
from tests.operators.run import Operators
from tests.scenarios.conftest import grant
from tests.scenarios.server import RealServer

ADMISSION = Path(__file__).parents[2] / "deploy" / "admission" / "policy.yaml"


@pytest.fixture(scope="package")
def operators(pytestconfig: pytest.Config) -> Iterator[Operators]:
    """Not on the control plane of other tests: webhooks of operators are asked about their objects, too."""
    with (
        started(pytestconfig) as plane,
        plane.controller_manager(),
        Operators(plane, progress(pytestconfig)) as beside,
    ):
        plane.kubectl("apply", "-f", str(ADMISSION))
        asyncio.run(grant(RealServer(plane)))
        yield beside
