"""The tables of a ledger, and how older ledgers come to have them.

A migration is never changed once it was released: the next one is added.
"""

from maitred.ledger.connections import DatabaseConnection, LedgerError

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """create table accounts (
            id bigint primary key, namespace text not null, labels text not null,
            unique (namespace, labels))""",
        """create table usage (
            day bigint not null, account bigint not null, holder text not null, resource text not null,
            model text not null, bucket text not null, amount bigint not null,
            primary key (day, account, holder, resource, model, bucket))""",
        "create index usage_by_holder on usage (holder, day)",
        """create table capacity (
            day bigint not null, resource text not null, model text not null, amount bigint not null,
            primary key (day, resource, model))""",
        "create table observed (day bigint primary key, amount bigint not null)",
        """create table parties (
            id bigint primary key, name text not null, namespace text not null, arrived bigint not null,
            started bigint, ended bigint, finished bigint not null, members bigint not null,
            quorum bigint not null, priority bigint not null, requests text not null,
            required text not null)""",
        "create index parties_by_arrival on parties (arrived)",
        "create index parties_by_end on parties (ended)",
        """create table verdicts (
            party bigint not null, at bigint not null, verdict text not null, category text not null,
            primary key (party, at))""",
        """create table evictions (
            pod text not null, uid text not null, at bigint not null, namespace text not null,
            eviction text not null, primary key (pod, uid, at))""",
        "create index evictions_by_time on evictions (at)",
    ),
    (
        """create table incidents (
            grp text not null, begun bigint not null, ended bigint, cost bigint, namespace text not null,
            incident text not null, primary key (grp, begun))""",
        "create index incidents_by_time on incidents (begun)",
    ),
    (
        """create table overrides (
            grp text not null, granted bigint not null, until bigint not null, namespace text not null,
            author text not null, reason text not null, primary key (grp, granted))""",
        "create index overrides_by_end on overrides (until)",
    ),
    (
        "create table lent (day bigint not null, queue text not null, amount bigint not null, "
        "primary key (day, queue))",
        "alter table evictions add column queue text not null default ''",
        "alter table evictions add column evictor_queue text not null default ''",
        "alter table evictions add column lost bigint",
    ),
    # In device-milliseconds at the plain price, beyond the amount.
    ("alter table usage add column surcharge bigint not null default 0",),
)
VERSION = len(MIGRATIONS)

BOOK = """create table if not exists book (
    id bigint primary key, version bigint not null, epoch bigint not null, writer text not null,
    written bigint not null, since bigint not null)"""
"""One row: who writes, up to when all is written down, and since when nothing is missing."""


def prepare(connection: DatabaseConnection, name: str, now: int) -> None:
    """Make the tables, or bring them up to date. Two who do it at once take turns."""
    with connection.transaction(writes=True):
        connection.change(BOOK)
        connection.change(
            "insert into book (id, version, epoch, writer, written, since) values (1, 0, 0, '', 0, ?) "
            "on conflict (id) do nothing",
            [now],
        )
        version = version_of(connection, name)
        for migration in MIGRATIONS[version:]:
            for statement in migration:
                connection.change(statement)
        connection.change("update book set version = ? where id = 1", [VERSION])


def version_of(connection: DatabaseConnection, name: str) -> int:
    version: int = connection.rows("select version from book where id = 1")[0][0]
    if version > VERSION:
        raise LedgerError(
            f"ledger {name}: a newer maitred wrote it (version {version}; this one reads up to "
            f"{VERSION}); update this maitred"
        )
    return version
