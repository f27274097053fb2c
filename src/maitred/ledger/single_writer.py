"""Who writes the ledger: one at a time. The last who came writes, and whoever wrote before finds out.

An entry is written whole or not at all, together with the moment up to which it goes. A writer that is killed
leaves what it wrote last, and the next one begins there: nothing is counted twice.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

import msgspec

from maitred.explain.billing.losses import Loss
from maitred.ledger.connections import DatabaseConnection, LedgerError
from maitred.ledger.entries import LedgerEntry, OpenGroup, UsageAccount
from maitred.ledger.meter import DAY
from maitred.ledger.records import Evicted, OverrideNoted
from maitred.model.memory import Incident
from maitred.model.tariff import WHOLE

NOBODYS = UsageAccount("")
Departed = tuple[str, str, int]
"""A pod, its UID, and when it was made to go."""


class Deposed(LedgerError):
    """Another writes by now."""


class SingleWriter:
    def __init__(self, connect: Callable[[], DatabaseConnection], name: str, writer: str, now: int) -> None:
        self._connect, self._name = connect, name
        self._connection: DatabaseConnection | None = None
        self._accounts: dict[UsageAccount, int] = {}
        self._epoch, self.last_written = self._claim(writer, now)
        """When the writer before was last heard of."""
        self.since = max(now, self.last_written)

    def _claim(self, writer: str, now: int) -> tuple[int, int]:
        connection = self._open()
        with self._closed_after_trouble(), connection.transaction(writes=True):
            [[epoch, written]] = connection.rows("select epoch + 1, written from book where id = 1")
            claim = "update book set epoch = ?, writer = ?, written = ? where id = 1"
            connection.change(claim, [epoch, writer, max(now, written)])
        return epoch, written

    def _open(self) -> DatabaseConnection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def open_groups(self) -> tuple[int, list[OpenGroup]]:
        """The next number for a group, and those that had not ended when the last entry was written."""
        connection = self._open()
        with connection.transaction(writes=False):
            [[number]] = connection.rows("select coalesce(max(id), 0) + 1 from parties")
            groups = connection.rows(
                "select id, name, quorum, started is not null from parties where ended is null"
            )
            turns = connection.rows(
                "select party, verdict, category from verdicts join parties on party = id "
                "where ended is null order by party, at"
            )
        latest = {group: (verdict, category) for group, verdict, category in turns}
        return number, [
            OpenGroup(
                one, name, quorum, bool(started), latest.get(one, ("", "")), missed_at=self.last_written
            )
            for one, name, quorum, started in groups
        ]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def write(self, entry: LedgerEntry) -> None:
        """Raises Deposed; or LedgerError, and then the same entry, and no other, is to be written again."""
        with self._closed_after_trouble():
            connection = self._open()
            with connection.transaction(writes=True):
                if self._is_new(connection, entry):
                    self._write(connection, entry)

    @contextmanager
    def _closed_after_trouble(self) -> Iterator[None]:
        """The next attempt begins with a new connection."""
        try:
            yield
        except LedgerError:
            self.close()
            self._accounts = {}
            raise

    def _is_new(self, connection: DatabaseConnection, entry: LedgerEntry) -> bool:
        """False if it is written already, and only the word that it is got lost."""
        [[epoch, writer, written]] = connection.rows("select epoch, writer, written from book where id = 1")
        if epoch != self._epoch:
            raise Deposed(f"ledger {self._name}: another scheduler writes to it now: {writer}")
        connection.change("update book set written = ? where id = 1", [entry.until])
        return bool(written < entry.until)

    def _write(self, connection: DatabaseConnection, entry: LedgerEntry) -> None:
        if entry.missing_since is not None:
            since = "update book set since = ? where id = 1 and since < ?"
            connection.change(since, [entry.missing_since] * 2)
        self._write_reading(connection, entry)
        lost = Counter[Departed]()
        for loss in entry.losses:
            lost[*loss.victim, loss.until] += self._move(connection, loss)
        self._write_groups(connection, entry)
        connection.change_many(
            "insert into evictions (pod, uid, at, namespace, eviction, queue, evictor_queue, lost) "
            "values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (pod, uid, at) do nothing",
            [_eviction(one, lost) for one in entry.evictions],
        )
        connection.change_many(
            "insert into incidents (grp, begun, ended, cost, namespace, incident) values (?, ?, ?, ?, ?, ?) "
            "on conflict (grp, begun) do update set ended = excluded.ended, cost = excluded.cost, "
            "incident = excluded.incident",
            [_incident(one.incident) for one in entry.failures],
        )
        connection.change_many(
            "insert into overrides (grp, granted, until, namespace, author, reason) "
            "values (?, ?, ?, ?, ?, ?) on conflict (grp, granted) do update set until = excluded.until, "
            "author = excluded.author, reason = excluded.reason",
            [_override(one) for one in entry.overrides],
        )

    # -- usage -----------------------------------------------------------------------------------------

    def _write_reading(self, connection: DatabaseConnection, entry: LedgerEntry) -> None:
        reading = entry.reading
        self._add_usage(
            connection,
            (
                (
                    *(day, self._number(connection, entry.accounts.get(key.holder, NOBODYS)), *key, amount),
                    rounded_quotient(reading.surcharge.get((day, key), 0), WHOLE),
                )
                for (day, key), amount in reading.usage.items()
            ),
        )
        connection.change_many(
            "insert into capacity (day, resource, model, amount) values (?, ?, ?, ?) "
            "on conflict (day, resource, model) do update set amount = capacity.amount + excluded.amount",
            [(day, *device, amount) for (day, device), amount in reading.capacity.items()],
        )
        connection.change_many(
            "insert into observed (day, amount) values (?, ?) "
            "on conflict (day) do update set amount = observed.amount + excluded.amount",
            list(reading.observed.items()),
        )
        connection.change_many(
            "insert into lent (day, queue, amount) values (?, ?, ?) "
            "on conflict (day, queue) do update set amount = lent.amount + excluded.amount",
            [(day, queue, amount) for (day, queue), amount in reading.lent.items()],
        )

    def _add_usage(self, connection: DatabaseConnection, rows: Iterable[tuple[int | str, ...]]) -> None:
        connection.change_many(
            "insert into usage (day, account, holder, resource, model, bucket, amount, surcharge) "
            "values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (day, account, holder, resource, model, bucket) "
            "do update set amount = usage.amount + excluded.amount, "
            "surcharge = usage.surcharge + excluded.surcharge",
            list(rows),
        )

    def _number(self, connection: DatabaseConnection, account: UsageAccount) -> int:
        known = self._accounts.get(account)
        if known is None:
            values = (account.namespace, json.dumps(dict(account.labels), separators=(",", ":")))
            connection.change(
                "insert into accounts (id, namespace, labels) "
                "select coalesce(max(id), -1) + 1, cast(? as text), cast(? as text) from accounts where true "
                "on conflict (namespace, labels) do nothing",
                values,
            )
            found = "select id from accounts where namespace = ? and labels = ?"
            known = self._accounts[account] = connection.rows(found, values)[0][0]
        return known

    def _move(self, connection: DatabaseConnection, loss: Loss) -> int:
        """From what was productive, as far as there is some: the latest days first. How much that was."""
        found = connection.rows(
            "select day, account, resource, model, amount, surcharge from usage where holder = ? "
            "and day >= ? and bucket = 'productive' order by day desc, amount desc, resource, model, account",
            [loss.holder, loss.since // DAY],
        )
        left, moves = loss.device_milliseconds, list[tuple[int | str, ...]]()
        for day, account, resource, model, amount, surcharge in found:
            moved = min(left, amount)
            left -= moved
            if moved:
                # Which hours of the day were lost is not known any more.
                cost = rounded_quotient(surcharge * moved, amount)
                place = (day, account, loss.holder, resource, model)
                moves += [(*place, "productive", -moved, -cost), (*place, loss.bucket, moved, cost)]
        self._add_usage(connection, moves)
        return loss.device_milliseconds - left

    # -- groups ----------------------------------------------------------------------------------------

    def _write_groups(self, connection: DatabaseConnection, entry: LedgerEntry) -> None:
        arrivals = [(one.number, one.arrival) for one in entry.opened]
        connection.change_many(
            "insert into parties (id, name, namespace, arrived, finished, members, quorum, priority, "
            "requests, required) values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?)",
            [
                (
                    *(number, came.group, came.group.partition("/")[0], came.arrived, came.members),
                    *(came.quorum, came.priority, json.dumps(came.requests), came.required),
                )
                for number, came in arrivals
            ],
        )
        connection.change_many(
            "insert into verdicts (party, at, verdict, category) values (?, ?, ?, ?) "
            "on conflict (party, at) do update set verdict = excluded.verdict, category = excluded.category",
            [(turn.number, turn.at, turn.verdict, turn.category) for turn in entry.turns],
        )
        connection.change_many(
            "update parties set started = ? where id = ? and started is null",
            [(at, number) for number, at in entry.started.items()],
        )
        connection.change_many(
            "update parties set ended = ?, finished = ? where id = ?",
            [(at, int(finished), number) for number, (at, finished) in entry.ended.items()],
        )


def _eviction(one: Evicted, lost: Counter[Departed]) -> tuple[str | int, ...]:
    """With what of its work was moved to where it is lost."""
    pod, uid = one.eviction.pod, one.eviction.uid
    said = msgspec.json.encode(one.eviction).decode()
    moved = lost[pod, uid, one.at]
    return pod, uid, one.at, pod.partition("/")[0], said, one.queue, one.evictor_queue, moved


def _incident(one: Incident) -> tuple[str, int, int | None, int | None, str, str]:
    """Its cost is in device-milliseconds, once it is over."""
    begun, ended = in_milliseconds(one.begun), None if one.ended is None else in_milliseconds(one.ended)
    cost = None if ended is None else one.devices * max(0, ended - begun)
    return one.group, begun, ended, cost, one.group.partition("/")[0], msgspec.json.encode(one).decode()


def _override(noted: OverrideNoted) -> tuple[str, int, int, str, str, str]:
    one, until = noted.override, in_milliseconds(noted.override.until)
    until = min(until, noted.at) if noted.ended else until
    namespace = one.group.partition("/")[0]
    return one.group, in_milliseconds(one.granted), until, namespace, one.by, one.reason


def rounded_quotient(amount: int, by: int) -> int:
    return (2 * amount + by) // (2 * by)


def in_milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
