"""What is reserved and not used is billed to those whom it is for."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from maitred.cluster.state import ClusterState
from maitred.explain.billing.bill import bill, read_month
from maitred.explain.billing.device_buckets import NOBODY, levels
from maitred.explain.billing.document import Usage, Use
from maitred.explain.redaction.usage import usage_as_seen_by
from maitred.ledger.books import Books
from maitred.ledger.records import Observation
from maitred.ledger.register import Register
from maitred.model.policy import Policy
from maitred.model.reservations import BEGUN, COMING, GIVEN_BACK, ReservedNodes
from tests.ledger.made import HOUR, START, at
from tests.ledger.worlds import ChangingCluster, gpu_node, member, snapshot_of
from tests.support import policy_of

NOW = datetime(2026, 11, 30, tzinfo=UTC)
QUEUES = policy_of({"queues": [{"name": "red"}, {"name": "blue"}], "prices": {"devices": [{"perHour": 2}]}})


def reserved(who: str, *nodes: str, state: str = BEGUN) -> ReservedNodes:
    return ReservedNodes("demo", who, "2026-11-03T00:00:00Z", "2026-11-03T06:00:00Z", nodes, state)


def buckets(*kept: ReservedNodes) -> dict[Any, int]:
    busy, free = member("busy", 3, node="n1", namespace="lab"), gpu_node("n2")
    snapshot, found = snapshot_of(gpu_node("n1"), free, busy), Counter[tuple[str, str]]()
    for key, count in levels(snapshot, Policy(), reserved=kept).devices.items():
        found[key.holder, key.bucket] += count
    return dict(found)


@pytest.mark.parametrize(
    ("who", "holder"),
    [
        ("namespace lab", "lab/(demo)"),
        ("group lab/train", "lab/(demo)"),
        ("queue red", "(queue red)/(demo)"),
    ],
)
def test_what_is_free_on_its_nodes_is_theirs_from_its_beginning_on(who: str, holder: str) -> None:
    assert buckets(reserved(who, "n1", "gone")) == {
        ("lab/busy", "productive"): 3,
        (holder, "reserved"): 5,
        (NOBODY, "idle"): 8,
    }
    for state in (COMING, GIVEN_BACK):
        assert (holder, "reserved") not in buckets(reserved(who, "n1", state=state))


class Accounts(ChangingCluster):
    """Books of a cluster in which nodes are reserved."""

    def __init__(self) -> None:
        super().__init__(ClusterState())
        self.books = Books(START, Register(1, ()))
        self.put(gpu_node("n1"), gpu_node("n2"), gpu_node("n3"))

    def see(self, hours: float, *kept: ReservedNodes) -> None:
        for minute in range(self.books.meter.now, at(hours), 60_000):
            self.books.meter.advance(minute)
        sight = Observation(at(hours), self.state.snapshot(), QUEUES, (), frozenset(), reserved=kept)
        self.books.see(sight)

    def usage(self, hours: float) -> Usage:
        entry = self.books.close(at(hours))
        uses = []
        for (_, key), amount in entry.reading.usage.items():
            account = entry.accounts.get(key.holder)
            namespace = account.namespace if account else ""
            labels = dict(account.labels) if account else {}
            uses.append(Use(namespace, labels, key.resource, key.model, key.bucket, amount))
        capacity = Counter[tuple[str, str]]()
        for (_, device), amount in entry.reading.capacity.items():
            capacity[device] += amount
        return Usage(tuple(uses), capacity, round(hours * HOUR))


def test_the_bill_says_what_each_queue_had_reserved_and_what_that_cost() -> None:
    house = Accounts()
    kept = (
        reserved("queue red", "n1"),
        msgspec.structs.replace(reserved("namespace lab", "n2"), name="late"),
    )
    house.see(0, *kept)
    house.put(member("busy", 8, node="n1", started="2026-11-03T00:00:00Z", namespace="lab"))
    house.see(2, *kept)
    house.see(6)
    usage = house.usage(6)
    month = read_month("2026-11", NOW)
    by_queue = {row.name: row for row in bill(usage, "queue", QUEUES, month, NOW).rows}
    assert by_queue["red"].buckets["reserved"].device_hours == 2 * 8
    assert by_queue["red"].money == 2 * 2 * 8
    assert by_queue["default"].buckets["reserved"].device_hours == 6 * 8
    found = bill(usage, "namespace", QUEUES, month, NOW)
    by_namespace = {row.name: row for row in found.rows}
    assert by_namespace["(queue red)"].device_hours == 2 * 8
    assert by_namespace["lab"].buckets["reserved"].device_hours == 6 * 8
    assert found.total.device_hours == 6 * 24
    [queue] = [one for one in bill(usage, "queue", QUEUES, month, NOW).queues if one.queue == "red"]
    assert (queue.reserved_device_hours, queue.borrowed_device_hours) == (2 * 8, 0)
    told = bill(usage_as_seen_by(usage, {"lab"}), "namespace", QUEUES, month, NOW)
    assert {row.name for row in told.rows} == {"lab", "(others)", "(free)"}
