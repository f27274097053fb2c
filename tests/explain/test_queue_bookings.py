"""`maitred queues` says how many booked starts were kept, what broke the others, and who is told of it."""

from maitred.controllers.scheduling.queue_gauges import queue_families
from maitred.explain.queues.answer import BrokenStart, QueueBookings
from maitred.explain.queues.survey import queues
from maitred.explain.queues.tables import queue_lines
from maitred.explain.redaction.situation import as_seen_by
from maitred.model.booking import MOST_QUEUES, BookingMemory, BookingTally, EndedBooking, tallied
from maitred.model.times import at_second
from tests.decide.booking import asks, booked, kept
from tests.decide.holding import after_noon, runs
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.support import Obj, decide

NODES = [b.node("n1", cpu=4), b.node("n2", cpu=4)]
QUEUES: Obj = {"queues": [{"name": "a", "bookings": 2}, {"name": "b"}]}
THEN = {"made": after_noon(-60), "at": after_noon(-30), "over": after_noon(-20)}
ENDED = [
    {"group": "default/old", "queue": "a", "kept": True, "cause": "", "who": "", **THEN},
    {"group": "default/lost", "queue": "a", "kept": False, "cause": "capacity", "who": "n9 is gone", **THEN},
    {"group": "other/lost", "queue": "a", "kept": False, "cause": "override", "who": "bob", **THEN},
]
TALLIES = [{"queue": "a", "kept": 38, "broken": 2}]


def world(policy: Obj, queue: str = "") -> list[Obj]:
    """A group whose start is booked, and some that are over."""
    pods = asks("big", by=60, minutes=60)
    for pod in pods if queue else ():
        pod["metadata"]["annotations"]["maitred.dev/queue"] = queue
    objects = [*NODES, runs("r1", "n1", until=30), runs("r2", "n2", until=120), *pods]
    plan = decide(objects, policy)
    assert booked(plan)
    return [*objects, kept({**plan["bookings"], "ended": ENDED, "tallies": TALLIES})]


def test_each_queue_has_its_kept_rate_and_what_broke_the_last_ones() -> None:
    found = queues(situation_of(world(QUEUES, "a"), policy=QUEUES))
    assert found.bookings == (QueueBookings("a", 2, 1, 38, 2),)
    assert found.broken_starts == (
        BrokenStart("default/lost", "a", after_noon(-30), "capacity", "n9 is gone"),
        BrokenStart("other/lost", "a", after_noon(-30), "override", "bob"),
    )
    lines = [line.plain.rstrip() for line in queue_lines(found, 200)]
    assert "a                 2        1    38    2       95.0%" in lines
    assert "default/lost     a      2026-01-31T11:30:00Z  capacity  n9 is gone" in lines


def test_where_there_are_no_queues_there_is_a_line_too() -> None:
    policy: Obj = {"bookings": 3}
    found = queues(situation_of(world(policy), policy=policy))
    assert found.bookings == (QueueBookings("", 3, 1, 0, 0),)
    lines = [line.plain.rstrip() for line in queue_lines(found, 200)]
    assert "(no queue)        3        1    0     0       -" in lines


def test_without_bookings_nothing_is_said() -> None:
    policy: Obj = {"queues": [{"name": "a"}]}
    found = queues(situation_of(NODES, policy=policy))
    assert (found.bookings, found.broken_starts) == ((), ())
    assert not any("BOOKED" in line.plain for line in queue_lines(found, 200))


def test_who_sees_one_namespace_is_told_of_its_own_promises_only() -> None:
    situation = as_seen_by(situation_of(world(QUEUES, "a"), policy=QUEUES), {"other"})
    memory = situation.snapshot.bookings
    assert [one.group for one in memory.ended] == ["other/lost"]
    assert "bob" not in str(memory)
    assert "big" not in str(memory)
    assert "n9" not in str(memory)
    [standing] = memory.bookings
    assert standing.nodes == (("n1", 1),)
    own = as_seen_by(situation_of(world(QUEUES, "a"), policy=QUEUES), {"default"}).snapshot.bookings
    assert [one.who for one in own.ended] == ["", "n9 is gone"]


def test_the_gauges_say_the_same() -> None:
    found = queues(situation_of(world(QUEUES, "a"), policy=QUEUES))
    families = {family.name: family for family in queue_families(found)}
    standing, over = (families[f"maitred_queue_booked_starts{what}"] for what in ("", "_over"))
    assert [(sample.labels["queue"], sample.value) for sample in standing.samples] == [("a", 1)]
    assert {sample.labels["outcome"]: sample.value for sample in over.samples} == {"kept": 38, "broken": 2}


def test_there_is_an_end_to_the_queues_that_are_counted() -> None:
    tallies = tuple(BookingTally(f"q{number:05}", 1) for number in range(MOST_QUEUES))
    then = at_second(0)
    over = EndedBooking("ns/g", "q99999", then, then, then, kept=True)
    found = tallied(BookingMemory(tallies=tallies), (over,))
    assert len(found) == MOST_QUEUES
    assert tallied(BookingMemory(tallies=tallies[:2]), (over,))[-1] == BookingTally("q99999", 1)
