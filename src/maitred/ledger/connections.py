"""Two databases that a ledger may be in, behind the little that it asks of one.

Statements are written once, with `?` for values, in the SQL that both understand.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import psycopg

Purpose = Literal["read", "write", "create"]
MODES: dict[Purpose, str] = {"read": "ro", "write": "rw", "create": "rwc"}
Value = int | str | None
Row = tuple[Any, ...]

PATIENCE_SECONDS = 5
LOCK = int.from_bytes(b"maitred")
"""What writers of one PostgreSQL database take turns by."""
POSTGRES = ("postgres", "postgresql")
NO_DRIVER = "PostgreSQL needs psycopg, which is not installed: pip install 'maitred[postgres]'"


class LedgerError(Exception):
    """The ledger cannot be read or written. The message is one line."""


class DatabaseConnection(Protocol):
    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]: ...

    def change(self, statement: str, values: Sequence[Value] = ()) -> int:
        """How many rows it changed."""
        ...

    def change_many(self, statement: str, values: Iterable[Sequence[Value]]) -> None: ...

    def transaction(self, *, writes: bool) -> AbstractContextManager[None]:
        """All in it is seen and done at one moment, or nothing is done, if it raises. Writers take turns."""
        ...

    def close(self) -> None: ...


def connect(url: str, purpose: Purpose) -> DatabaseConnection:
    """A path, `sqlite:///path`, or `postgresql://...`. A file is made only by who says so."""
    path = is_file(url)
    return Postgres(url) if path is None else SQLite(path, purpose)


def is_file(url: str) -> str | None:
    """The path of a ledger that is a file."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    if scheme in POSTGRES:
        return None
    if scheme == "sqlite":
        return rest
    raise LedgerError(
        f"ledger {named(url)}: {scheme} databases are not supported; give a path or postgresql://..."
    )


def named(url: str) -> str:
    """The ledger in messages: without a password."""
    parts = urlsplit(url) if "://" in url else None
    if parts is None or parts.password is None:
        return url
    return parts._replace(netloc=f"{parts.username}:***@{parts.netloc.rpartition('@')[2]}", query="").geturl()


class SQLite:
    def __init__(self, path: str, purpose: Purpose) -> None:
        self._name, self._place = path, Path(path).absolute()
        try:
            if purpose == "create":
                self._place.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                f"{self._place.as_uri()}?mode={MODES[purpose]}",
                timeout=PATIENCE_SECONDS,
                isolation_level=None,
                uri=True,
            )
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"ledger {path}: {error}") from None
        if purpose == "read":
            return
        try:
            # Readers do not wait for the writer, nor it for them.
            self.rows("pragma journal_mode = wal")
            self.rows("pragma synchronous = normal")
        except LedgerError:
            self.close()
            raise

    @contextmanager
    def _told(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._database
        except (sqlite3.Error, OverflowError) as error:
            raise LedgerError(f"ledger {self._name}: {error}") from None

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        with self._told() as database:
            return database.execute(statement, values).fetchall()

    def change(self, statement: str, values: Sequence[Value] = ()) -> int:
        with self._told() as database:
            return database.execute(statement, values).rowcount

    def change_many(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        with self._told() as database:
            database.executemany(statement, values)

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[None]:
        if writes and not self._place.exists():  # or it would be written where nobody finds it
            raise LedgerError(f"ledger {self._name}: the file was removed")
        self.change("begin immediate" if writes else "begin")
        try:
            yield
        except BaseException:
            self._database.rollback()
            raise
        self.change("commit")

    def close(self) -> None:
        self._database.close()


class Postgres:
    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(NO_DRIVER) from None
        self._name, self._error = named(url), psycopg.Error
        try:
            self._database: psycopg.Connection = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=PATIENCE_SECONDS,
                tcp_user_timeout=PATIENCE_SECONDS * 1000,
                application_name="maitred",
            )
        except psycopg.Error as error:
            raise LedgerError(f"ledger {self._name}: {one_line(error)}") from None

    @contextmanager
    def _told(self) -> Iterator["psycopg.Connection"]:
        try:
            yield self._database
        except self._error as error:
            raise LedgerError(f"ledger {self._name}: {one_line(error)}") from None

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        with self._told() as database:
            return database.execute(statement.replace("?", "%s"), values).fetchall()

    def change(self, statement: str, values: Sequence[Value] = ()) -> int:
        with self._told() as database:
            return database.execute(statement.replace("?", "%s"), values).rowcount

    def change_many(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        with self._told() as database, database.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), values)

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[None]:
        self.change("begin" if writes else "begin isolation level repeatable read read only")
        try:
            if writes:
                self.change("select pg_advisory_xact_lock(?)", [LOCK])
            yield
        except BaseException:
            with self._told():
                self._database.rollback()
            raise
        self.change("commit")

    def close(self) -> None:
        self._database.close()


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
