"""A ledger: opened by its path or URL, written by one, read by anyone."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from maitred.explain.billing.document import Usage, Use, UsedEviction, UsedOverride
from maitred.ledger.connections import DatabaseConnection, LedgerError, Purpose, Row, connect, is_file, named
from maitred.ledger.meter import DAY
from maitred.ledger.schema import VERSION, prepare, version_of
from maitred.ledger.single_writer import SingleWriter
from maitred.model.history import History, PastEviction, PastGroup
from maitred.model.plan import Eviction

MOST_GROUPS = 5_000
MOST_EVICTIONS = 2_000
"""That a History has: the latest."""

SCHEDULED = "Scheduled"
LIFTED = '%"override":{%'
"""What is in the text of an eviction for a group that was lifted past its queue."""
HOUR = 3_600_000


class Ledger:
    """Every question has a connection of its own, so that any thread may ask."""

    def __init__(self, url: str) -> None:
        self.url, self.name = url, named(url)
        self._memory: LedgerContents | None = None

    @classmethod
    def open(cls, url: str, now: datetime) -> "Ledger":
        """The ledger, made or brought up to date if need be."""
        ledger = cls(url)
        ledger.prepare(now)
        return ledger

    def prepare(self, now: datetime) -> None:
        with self._connected("create") as connection:
            prepare(connection, self.name, milliseconds(now))

    @classmethod
    def existing(cls, url: str) -> "Ledger":
        """A ledger that somebody else writes."""
        ledger = cls(url)
        if (path := is_file(url)) is not None and not Path(path).is_file():
            raise LedgerError(f"ledger {ledger.name}: there is no such file")
        with ledger._connected("read") as connection:
            try:
                connection.rows("select since from book")
            except LedgerError as error:
                raise LedgerError(
                    f"{error}; this is not a ledger, or nothing was written to it yet"
                ) from None
            version = version_of(connection, ledger.name)
        if version < VERSION:
            raise LedgerError(
                f"ledger {ledger.name}: an older maitred wrote it (version {version}; this one reads "
                f"{VERSION}); start this maitred's scheduler with it, which brings it up to date"
            )
        return ledger

    @contextmanager
    def _connected(self, purpose: Purpose) -> Iterator[DatabaseConnection]:
        connection = connect(self.url, purpose)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _reading(self) -> Iterator[DatabaseConnection]:
        with self._connected("read") as connection, connection.transaction(writes=False):
            yield connection

    def claim(self, writer: str, now: datetime) -> SingleWriter:
        """Write from now on; whoever wrote so far no longer may. The tables are made if need be."""
        self.prepare(now)
        return SingleWriter(lambda: connect(self.url, "write"), self.name, writer, milliseconds(now))

    # -- usage -----------------------------------------------------------------------------------------

    def usage(self, first_day: int, end_day: int) -> Usage:
        """Of whole days since 1970, UTC, without the last."""
        days = [first_day, end_day]
        with self._reading() as connection:
            used = connection.rows(
                "select account, resource, model, bucket, sum(amount), sum(surcharge) from usage "
                "where day >= ? and day < ? group by account, resource, model, bucket "
                "having sum(amount) <> 0 order by account, resource, model, bucket",
                days,
            )
            accounts = {number: rest for number, *rest in connection.rows("select * from accounts")}
            capacity = connection.rows(
                "select resource, model, sum(amount) from capacity where day >= ? and day < ? "
                "group by resource, model",
                days,
            )
            [[observed]] = connection.rows(
                "select coalesce(sum(amount), 0) from observed where day >= ? and day < ?", days
            )
            lifted = _overrides(connection, first_day * DAY, end_day * DAY)
            evictions = _evictions(connection, first_day * DAY, end_day * DAY)
            lent = connection.rows(
                "select queue, sum(amount) from lent where day >= ? and day < ? group by queue "
                "order by queue",
                days,
            )
        labels = {number: json.loads(text) for number, (_, text) in accounts.items()}
        return Usage(
            uses=tuple(
                Use(accounts[number][0], labels[number], resource, model, bucket, int(amount), int(surcharge))
                for number, resource, model, bucket, amount, surcharge in used
            ),
            capacity={(resource, model): int(amount) for resource, model, amount in capacity},
            observed=int(observed),
            overrides=lifted,
            evictions=evictions,
            lent={queue: int(amount) for queue, amount in lent},
        )

    # -- history ---------------------------------------------------------------------------------------

    def history(self, now: datetime, namespaces: Collection[str] | None = None) -> History:
        """What is remembered, of all namespaces or of some."""
        memory = self._remembered()
        waits = _waits(memory.turns, memory.names, milliseconds(now))

        def is_visible(key: str) -> bool:
            return namespaces is None or key.partition("/")[0] in namespaces

        return History(
            since=memory.since / 1000,
            groups=tuple(group for group in memory.groups if is_visible(group.group)),
            waits={group: found for group, found in waits.items() if is_visible(group)},
            evictions=tuple(past for past in memory.evictions if is_visible(past.eviction.pod)),
        )

    def _remembered(self) -> "LedgerContents":
        """Read anew only if something was written since: questions come one after the other."""
        with self._reading() as connection:
            [state] = connection.rows("select since, written, epoch from book where id = 1")
            if self._memory is None or self._memory.state != state:
                self._memory = _read(connection, state)
            return self._memory

    # -- retention -------------------------------------------------------------------------------------

    def forget(self, before: datetime) -> None:
        """Of what is older, usage stays by day and account; groups, verdicts and receipts go."""
        then = milliseconds(before)
        day = then // DAY
        with self._connected("write") as connection, connection.transaction(writes=True):
            connection.change(
                "insert into usage (day, account, holder, resource, model, bucket, amount, surcharge) "
                "select day, account, '', resource, model, bucket, sum(amount), sum(surcharge) from usage "
                "where day < ? and holder <> '' group by day, account, resource, model, bucket "
                "on conflict (day, account, holder, resource, model, bucket) "
                "do update set amount = usage.amount + excluded.amount, "
                "surcharge = usage.surcharge + excluded.surcharge",
                [day],
            )
            connection.change("delete from usage where day < ? and holder <> ''", [day])
            old = "select id from parties where ended < ?"
            connection.change(f"delete from verdicts where party in ({old})", [then])
            connection.change("delete from parties where ended < ?", [then])
            connection.change("delete from evictions where at < ?", [then])
            connection.change("delete from incidents where ended < ?", [then])
            connection.change("delete from overrides where until < ?", [then])
            connection.change("update book set since = ? where id = 1 and since < ?", [then, then])


@dataclass(frozen=True)
class LedgerContents:
    state: Row
    """Of the book, when it was read."""
    since: int
    groups: list[PastGroup]
    names: Mapping[int, str]
    """Of the same groups, by number."""
    turns: list[Row]
    evictions: list[PastEviction]


def _read(connection: DatabaseConnection, state: Row) -> LedgerContents:
    groups = connection.rows(
        "select name, arrived, started, ended, finished, members, quorum, priority, requests, "
        "required, id from parties order by arrived desc, id desc limit ?",
        [MOST_GROUPS],
    )
    turns = connection.rows(
        "select party, at, verdict, category from verdicts join parties on party = id "
        "where ended is null order by party, at"
    )
    evictions = connection.rows(
        "select at, eviction from evictions order by at desc, pod limit ?", [MOST_EVICTIONS]
    )
    since = state[0]
    if len(groups) == MOST_GROUPS:
        since = max(since, groups[-1][1])
    if len(evictions) == MOST_EVICTIONS:
        since = max(since, evictions[-1][0])
    return LedgerContents(
        state=state,
        since=since,
        groups=[_group(row) for row in reversed(groups)],
        names={row[-1]: row[0] for row in groups},
        turns=turns,
        evictions=[PastEviction(at / 1000, _eviction(text)) for at, text in reversed(evictions)],
    )


def _overrides(connection: DatabaseConnection, since: int, until: int) -> tuple[UsedOverride, ...]:
    """Those that were in force in this time, with who left for them in it."""
    rows = connection.rows(
        "select grp, granted, until, author, reason from overrides where granted < ? and until >= ? "
        "order by granted, grp",
        [until, since],
    )
    evictions = rows and connection.rows(
        "select at, eviction from evictions where at >= ? and at < ? and eviction like ?",
        [since, until, LIFTED],
    )
    paid = [(at, _eviction(text)) for at, text in evictions]
    return tuple(_used(row, paid) for row in rows)


def _evictions(connection: DatabaseConnection, since: int, until: int) -> tuple[UsedEviction, ...]:
    """Who left for whom in this time. What older versions wrote down has no queues, and what was lost only as
    the receipt says it."""
    rows = connection.rows(
        "select queue, evictor_queue, lost, eviction from evictions where at >= ? and at < ?", [since, until]
    )
    pods, losses = Counter[UsedEviction](), Counter[UsedEviction]()
    for queue, evictor_queue, lost, text in rows:
        one = _eviction(text)
        who = UsedEviction(one.group or one.pod, queue, one.preemptor, evictor_queue, one.cause, 0, 0)
        pods[who] += 1
        losses[who] += round(one.receipt.work_lost_device_hours * HOUR) if lost is None else lost
    return tuple(
        msgspec.structs.replace(who, pods=count, lost_device_milliseconds=losses[who])
        for who, count in pods.items()
    )


def _used(row: Row, paid: Sequence[tuple[int, Eviction]]) -> UsedOverride:
    group, granted, until, by, reason = row
    own = [one for at, one in paid if one.preemptor == group and granted <= at < until]
    lost = sum(one.receipt.work_lost_device_hours for one in own)
    return UsedOverride(group, by, reason, granted, until, len(own), round(lost * HOUR))


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _group(row: Row) -> PastGroup:
    found = msgspec.convert(row[:-1], GroupRow)
    return PastGroup(
        group=found.name,
        arrived=found.arrived / 1000,
        started=None if found.started is None else found.started / 1000,
        ended=None if found.ended is None else found.ended / 1000,
        finished=bool(found.finished),
        members=found.members,
        quorum=found.quorum,
        priority=found.priority,
        requests=msgspec.json.decode(found.requests, type=tuple[tuple[str, int], ...]),
        required=found.required,
    )


class GroupRow(msgspec.Struct, array_like=True):
    """A group as it is in the database."""

    name: str
    arrived: int
    started: int | None
    ended: int | None
    finished: int
    members: int
    quorum: int
    priority: int
    requests: str
    required: str


def _eviction(text: str) -> Eviction:
    return msgspec.json.decode(text, type=Eviction)


def _waits(turns: list[Row], names: Mapping[int, str], now: int) -> dict[str, dict[str, float]]:
    """Seconds by the first blocker, of groups that wait: each verdict holds until the next."""
    found = {}
    for number, told in groupby(turns, key=itemgetter(0)):
        verdicts = list(told)
        if verdicts[-1][2] == SCHEDULED or number not in names:
            continue
        waits = found[names[number]] = defaultdict[str, float](float)
        ends = [*(at for _, at, _, _ in verdicts[1:]), now]
        for (_, at, verdict, category), end in zip(verdicts, ends, strict=True):
            if verdict != SCHEDULED and category:
                waits[category] += max(0, end - at) / 1000
    return {name: dict(waits) for name, waits in found.items()}
