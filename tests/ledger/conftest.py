"""Ledgers in both databases: the same tests run on each.

PostgreSQL is Debian's, started by the tests. MAITRED_REQUIRE_POSTGRES=1 fails the tests that need it where it
cannot be had, instead of skipping them.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

import psycopg
import pytest

from maitred.ledger.single_writer import SingleWriter
from maitred.ledger.store import Ledger
from tests.ledger.postgres import UnavailableError, server

numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The socket of a server."""
    try:
        running = server()
        place = running.__enter__()
    except UnavailableError as error:
        if os.environ.get("MAITRED_REQUIRE_POSTGRES") == "1":
            pytest.fail(f"no PostgreSQL: {error}")
        pytest.skip(f"no PostgreSQL: {error}")
    try:
        yield place
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a ledger that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return new_database(request.getfixturevalue("postgres"))


class Claims:
    """Writers of ledgers, that are closed in the end."""

    def __init__(self) -> None:
        self.made: list[SingleWriter] = []

    def __call__(self, ledger: Ledger, writer: str, now: datetime) -> SingleWriter:
        self.made.append(ledger.claim(writer, now))
        return self.made[-1]


@pytest.fixture
def claim() -> Iterator[Claims]:
    claims = Claims()
    yield claims
    for tenure in claims.made:
        tenure.close()


def new_database(place: str) -> str:
    name = f"ledger{next(numbers)}"
    with psycopg.connect(host=place, user="maitred", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return f"postgresql://maitred@/{name}?host={place}"
