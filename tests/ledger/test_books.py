"""The books: from what was seen to what is written, group by group."""

from pathlib import Path
from typing import Any

from maitred.cluster.news import Ends
from maitred.cluster.state import ClusterState
from maitred.explain.billing.bill import bill, read_month
from maitred.ledger.books import Books
from maitred.ledger.entries import LedgerEntry, OpenGroup, account_of, borrows
from maitred.ledger.records import Observation, VerdictChange
from maitred.ledger.register import PATIENCE, Register
from maitred.ledger.store import Ledger
from maitred.model.policy import Policy
from maitred.model.queues import QUEUE, Payer, Queue
from tests.ledger.made import GPU, HOUR, START, TODAY, arrival, at, evicted, moment
from tests.ledger.worlds import ChangingCluster, gpu_node, member
from tests.oracle.builders import Obj, namespace, pod_group
from tests.support import policy_of

STARTED = "2026-11-03T00:00:00Z"
CHECKPOINT = "maitred.dev/last-checkpoint"


class House(ChangingCluster):
    """A cluster whose books are kept."""

    def __init__(self, *objects: Obj, known: tuple[OpenGroup, ...] = ()) -> None:
        self.ends = Ends()
        super().__init__(ClusterState(ends=self.ends))
        self.books = Books(START, Register(len(known) + 1, known))
        self.policy = Policy()
        self.put(*objects)

    def see(self, hours: float) -> None:
        """As often as somebody would look."""
        for minute in range(self.books.meter.now, at(hours), 60_000):
            self.books.meter.advance(minute)
        snapshot, ends = self.state.snapshot(), self.ends.take()
        self.books.see(Observation(at(hours), snapshot, self.policy, ends, frozenset(), "maitred"))

    def close(self, hours: float) -> LedgerEntry:
        return self.books.close(at(hours))

    def seen_until(self, hours: float) -> LedgerEntry:
        self.see(hours)
        return self.close(hours)


def used(entry: LedgerEntry) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for (_, key), amount in entry.reading.usage.items():
        place = (key.holder, key.bucket)
        found[place] = found.get(place, 0) + amount / HOUR
    return found


GANG = pod_group("gang", 2)


def gang(number: int, gpus: int = 4, **fields: Any) -> Obj:
    return member(f"gang-{number}", gpus, group="gang", **fields)


def bound(number: int, **fields: Any) -> Obj:
    return gang(number, node="n1", started=STARTED, **fields)


def test_a_gang_from_its_arrival_to_its_end() -> None:
    house = House(gpu_node("n1"), GANG, gang(0), gang(1))
    house.books.note(arrival("default/gang", 0))
    house.books.note(VerdictChange(at(0), "default/gang", "Waiting", "Capacity"))
    house.see(0)
    house.put(bound(0, phase="Pending"), bound(1))
    house.books.note(VerdictChange(at(1), "default/gang", "Scheduled", ""))
    house.see(1)
    house.put(bound(0), bound(1))
    house.see(2)
    house.put(bound(0, phase="Succeeded"))
    house.see(3)
    house.put(bound(1, phase="Succeeded"))
    house.see(4)
    entry = house.close(4)
    assert [one.arrival.group for one in entry.opened] == ["default/gang"]
    assert [(turn.number, turn.verdict, turn.category) for turn in entry.turns] == [
        (1, "Waiting", "Capacity"),
        (1, "Scheduled", ""),
    ]
    assert (entry.started, entry.ended, entry.losses) == ({1: at(1)}, {1: (at(4), True)}, [])
    assert used(entry) == {
        ("", "fragmented"): 8,
        ("default/gang", "starting"): 8,
        ("default/gang", "productive"): 8 + 4,
        ("", "idle"): 4,
    }


def test_a_lone_pod_from_its_arrival_to_its_end() -> None:
    house = House(gpu_node("n1"), member("lone"))
    house.books.note(arrival("default/lone", 0, quorum=1))
    house.see(0)
    house.put(member("lone", node="n1"))
    for hours in (1, 2, 3):
        house.see(hours)
    house.put(member("lone", node="n1", phase="Succeeded"))
    house.see(4)
    entry = house.close(4)
    assert (entry.started, entry.ended) == ({1: at(1)}, {1: (at(4), True)})


def test_a_verdict_that_stays_is_written_once() -> None:
    house = House(gpu_node("n1"))
    house.books.note(arrival("default/gang", 0))
    for hours in (0, 1, 2):
        house.books.note(VerdictChange(at(hours), "default/gang", "Waiting", "Capacity"))
    assert [turn.at for turn in house.close(3).turns] == [at(0)]


def test_who_is_deleted_has_not_finished() -> None:
    house = House(gpu_node("n1"), GANG, bound(0), bound(1))
    house.books.note(arrival("default/gang", 0))
    house.see(0)
    house.delete(bound(0), bound(1))
    house.see(1)
    assert house.close(1).ended == {}, "it may come back"
    house.see(1 + PATIENCE / HOUR)
    assert house.close(2).ended == {1: (at(1), False)}


def test_who_failed_in_part_has_not_finished() -> None:
    house = House(gpu_node("n1"), GANG, bound(0), bound(1))
    house.books.note(arrival("default/gang", 0))
    house.see(0)
    house.put(bound(0, phase="Failed"), bound(1, phase="Succeeded"))
    house.see(1)
    house.see(2)
    assert house.close(2).ended == {1: (at(1), False)}


def test_a_group_whose_pods_are_made_again_goes_on() -> None:
    house = House(gpu_node("n1"), GANG, bound(0), bound(1))
    house.books.note(arrival("default/gang", 0))
    house.see(0)
    house.delete(bound(0), bound(1))
    house.see(1)
    house.put(gang(0), gang(1))
    house.books.note(arrival("default/gang", 1.01))
    house.see(1.01)
    entry = house.close(2)
    assert ([one.number for one in entry.opened], entry.ended) == ([1], {})


def test_a_group_that_ended_while_nobody_looked_ended_when_somebody_last_did() -> None:
    open_groups = [
        OpenGroup(number, f"default/{name}", 2, is_started=True, missed_at=START - HOUR)
        for number, name in enumerate(("gang", "gone", "lone"), 1)
    ]
    house = House(
        gpu_node("n1"), GANG, bound(0), bound(1), member("lone", node="n1"), known=tuple(open_groups)
    )
    house.see(0)
    assert house.close(1).ended == {2: (START - HOUR, False)}


def test_a_group_of_the_same_name_that_came_while_nobody_looked_is_another() -> None:
    known = OpenGroup(1, "default/gang", 2, is_started=True, missed_at=START - HOUR)
    house = House(gpu_node("n1"), GANG, gang(0), gang(1), known=(known,))
    house.books.note(arrival("default/gang", -0.5))
    house.books.note(arrival("default/gang", 0))
    entry = house.close(1)
    assert [one.number for one in entry.opened] == [2]
    assert entry.ended == {1: (START - HOUR, False)}


def test_an_eviction_loses_what_its_receipt_says() -> None:
    house = House(gpu_node("n1"), member("victim", 4, node="n1"))
    house.see(0)
    house.books.note(evicted("default/victim", 2, lost=6.0, since="2026-11-03T00:30:00Z"))
    house.books.note(evicted("default/idler", 2))
    entry = house.close(2)
    assert [(loss.holder, loss.device_milliseconds, loss.bucket) for loss in entry.losses] == [
        ("default/victim", 6 * HOUR, "lostToEviction")
    ]
    assert entry.losses[0].since == at(0.5)
    assert len(entry.evictions) == 2


def lost(entry: LedgerEntry) -> list[tuple[str, float]]:
    assert {loss.bucket for loss in entry.losses} <= {"lostToFailure"}
    return [(loss.holder, loss.device_milliseconds / HOUR) for loss in entry.losses]


def test_a_pod_that_fails_loses_its_work() -> None:
    house = House(gpu_node("n1"), member("lone", 2, node="n1", started=STARTED))
    house.see(0)
    house.put(member("lone", 2, node="n1", phase="Failed"))
    house.see(3)
    assert lost(house.close(3)) == [("default/lone", 6)]


def test_work_is_safe_up_to_the_last_checkpoint() -> None:
    saved = {CHECKPOINT: "2026-11-03T02:00:00Z"}
    house = House(gpu_node("n1"), member("lone", 2, node="n1", started=STARTED, annotations=saved))
    house.see(2)
    house.put(member("lone", 2, node="n1", phase="Failed"))
    house.see(3)
    assert lost(house.close(3)) == [("default/lone", 2)]


def test_a_gang_without_its_quorum_loses_everyones_work() -> None:
    house = House(gpu_node("n1"), GANG, bound(0), bound(1))
    house.see(0)
    house.put(bound(0, phase="Failed"))
    house.see(1)
    assert lost(house.close(1)) == [("default/gang", 8)]


def test_a_gang_that_keeps_its_quorum_loses_the_work_of_one() -> None:
    house = House(gpu_node("n1", 12), GANG, bound(0), bound(1), bound(2))
    house.see(0)
    house.put(bound(0, phase="Failed"))
    house.see(1)
    assert lost(house.close(1)) == [("default/gang", 4)]


def test_nothing_is_lost_twice() -> None:
    house = House(gpu_node("n1", 12), GANG, bound(0), bound(1))
    house.see(0)
    house.put(bound(0, phase="Failed"))
    house.see(1)
    house.put(bound(1, phase="Failed"))
    house.see(2)
    assert lost(house.close(2)) == [("default/gang", 8), ("default/gang", 4)]


def test_a_node_that_dies_takes_the_work_of_its_pods_along() -> None:
    house = House(gpu_node("n1"), GANG, bound(0), bound(1))
    house.see(0)
    house.put(gpu_node("n1", ready=False))
    house.see(1)
    house.put(bound(0, deleted=True), bound(1, deleted=True))
    house.see(2)
    house.delete(bound(0), bound(1))
    house.see(3)
    entry = house.close(3)
    assert lost(entry) == [("default/gang", 8)], "up to when the node died"
    assert used(entry)["", "broken"] == 16


def test_who_is_told_to_go_has_not_failed() -> None:
    house = House(gpu_node("n1"), GANG, bound(0), bound(1))
    house.see(0)
    house.put(bound(0, deleted=True))
    house.put(bound(0, deleted=True, phase="Failed"))
    house.see(1)
    assert lost(house.close(1)) == []


def test_accounts_have_the_labels_of_pods_and_of_their_namespace() -> None:
    house = House(
        gpu_node("n1"),
        namespace("red", {"team": "one", "site": "x"}),
        member("lone", node="n1", namespace="red", labels={"team": "two", "job-name": "j"}),
    )
    house.see(0)
    entry = house.close(1 / 60)
    assert entry.accounts == {"red/lone": account_of("red", {"team": "two", "site": "x"})}
    assert dict(entry.accounts["red/lone"].labels) == {"team": "two", "site": "x"}


def test_every_entry_goes_further_than_the_one_before() -> None:
    house = House(gpu_node("n1"))
    house.see(0)
    ends = [house.close(hours).until for hours in (1, 1, 0.5, 2)]
    assert ends == sorted(set(ends))


# -- queues ------------------------------------------------------------------------------------------------


def queue_of(entry: LedgerEntry, holder: str) -> str:
    return dict(entry.accounts[holder].labels).get(QUEUE, "")


def with_queues(*names: str) -> Policy:
    return Policy(queues=tuple(map(Queue, names)))


def test_the_queue_is_written_down_as_it_was_when_the_group_ran() -> None:
    labels = {QUEUE: "vision", "team": "one"}
    house = House(namespace("default"), gpu_node("n1"))
    house.policy = with_queues("vision", "language")
    house.put(member("a", 2, node="n1", labels=labels, scheduler="maitred"))
    house.see(0)
    first = house.seen_until(1)
    house.policy = with_queues("language")  # there is no such queue any more
    second = house.seen_until(2)
    house.policy = Policy()
    third = house.seen_until(3)
    assert [queue_of(one, "default/a") for one in (first, second, third)] == ["vision", "default", ""]


def test_pods_of_other_schedulers_are_in_no_queue_and_who_names_none_is_in_the_default() -> None:
    house = House(namespace("default"), gpu_node("n1"))
    house.policy = with_queues("vision")
    house.put(member("ours", 1, node="n1", scheduler="maitred"))
    house.put(member("theirs", 1, node="n1", labels={QUEUE: "vision"}))
    house.see(0)
    entry = house.seen_until(1)
    assert (queue_of(entry, "default/ours"), queue_of(entry, "default/theirs")) == ("default", "")


def test_an_eviction_is_written_down_with_the_queues_of_both() -> None:
    """Also if the group that it is for has come since the cluster was last looked at."""
    house = House(namespace("default"), namespace("blue"), gpu_node("n1"))
    house.policy = with_queues("vision", "language")
    house.put(member("a", 2, node="n1", labels={QUEUE: "vision"}, scheduler="maitred"))
    house.see(0)
    house.books.note(arrival("blue/urgent", 0.5, payer=Payer("blue", "language")))
    house.books.note(evicted("default/a", 0.5))
    house.books.note(evicted("default/b", 0.5))
    said = [(one.queue, one.evictor_queue) for one in house.close(1).evictions]
    assert said == [("vision", "language"), ("", "language")]


def test_who_has_borrowed_is_told_apart_and_who_leaves_goes_as_it_stood() -> None:
    house = House(namespace("default"), gpu_node("n1"))
    house.policy = policy_of({"queues": [{"name": "vision", "limits": [{"resource": GPU, "guarantee": 3}]}]})
    for name, gpus in (("a", 3), ("b", 2)):
        house.put(member(name, gpus, node="n1", labels={QUEUE: "vision"}, scheduler="maitred"))
    house.see(0)
    first = house.seen_until(1)
    house.put(member("b", 2, node="n1", labels={QUEUE: "vision"}, scheduler="maitred", deleted=True))
    house.see(1)
    second = house.seen_until(2)
    house.delete(member("a"))
    house.put(member("b", 2, node="n1", labels={QUEUE: "vision"}, scheduler="maitred"))
    house.see(2)
    third = house.seen_until(3)
    said = [[borrows(one.accounts[f"default/{name}"]) for name in "ab"] for one in (first, second)]
    assert said == [[False, True], [False, True]]
    assert not borrows(third.accounts["default/b"])


def test_a_bill_by_queue_is_as_the_ledger_has_it(tmp_path: Path) -> None:
    house = House(namespace("default"), gpu_node("n1", 4))
    house.policy = with_queues("vision")
    house.put(member("a", 3, node="n1", labels={QUEUE: "vision"}, scheduler="maitred", phase="Running"))
    house.see(0)
    ledger = Ledger.open(str(tmp_path / "ledger.db"), moment(0))
    tenure = ledger.claim("one", moment(0))
    tenure.write(house.seen_until(2))
    tenure.close()
    usage = ledger.usage(TODAY, TODAY + 1)
    found = bill(usage, "queue", Policy(), read_month("2026-11", moment(24)), moment(24))
    assert {row.name: row.device_hours for row in found.rows} == {"vision": 6, "(free)": 2}
