"""What somebody reserves is refused where it could not be kept, with the first time at which it could."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from maitred.controllers.keeping import kept_as
from maitred.explain.queues.survey import queues
from maitred.explain.queues.tables import queue_lines
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.reserving.asking import reservation_of, reservations, state_of
from maitred.explain.situation import Situation
from maitred.model.manifest import InputError
from maitred.model.meta import Timestamp
from maitred.model.reservations import Reservation
from maitred.model.reserving import (
    MOST_MADE,
    NO_RESERVATIONS,
    MadeReservation,
    ReservationMemory,
    recorded,
    reservations_of,
)
from tests.decide.reserving import GPU, at, job, keeping, made_as, planned, racks, saying, seats
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import policy_of, snapshot_of

NOON = msgspec.convert(at("12:00"), Timestamp)
MANY = {f"k{i}": "v" * 60 for i in range(80)}
LATER = {"from": "2027-02-01T14:00", "until": "2027-02-01T15:00"}
BERLIN = "Europe/Berlin"
NAMED: Obj = {"devices": None, "within": ""}
QUEUES: Obj = {"queues": [{"name": "research"}]}
SPACES = [b.namespace(name) for name in ("vision", "lab")]


def wish(**fields: Any) -> Reservation:
    return msgspec.convert(saying(**{"name": "new", **fields}), Reservation)


def cluster(*made: Obj, policy: Obj | None = None, nodes: list[Obj] | None = None) -> Situation:
    objects = [*(nodes or racks()), *SPACES, *([made_as(*made)] if made else [])]
    rules = policy or keeping_nothing()
    return Situation(snapshot_of(objects, rules), policy_of(rules), NOON)


def keeping_nothing() -> Obj:
    return {**keeping(), "reservations": [], **QUEUES}


def make(situation: Situation, **fields: Any) -> MadeReservation:
    return reservation_of(situation, wish(**fields), "alice")


def refusal(situation: Situation, **fields: Any) -> str:
    with pytest.raises(InputError) as found:
        make(situation, **fields)
    assert str(found.value).isprintable()
    return str(found.value)


def test_what_fits_is_made_and_is_kept_by_the_next_decision() -> None:
    situation = cluster()
    made = make(situation)
    assert (made.by, made.made, made.said) == ("alice", NOON, wish())
    state = state_of(situation, made)
    assert (state.state, state.nodes, state.asks) == (
        "coming",
        ("r0n0", "r0n1"),
        f"16 {GPU} in one rack",
    )
    memory = recorded(NO_RESERVATIONS, made, (), NOON)
    assert isinstance(memory, ReservationMemory)
    read_again, problem = reservations_of(kept_as(str(memory), "maitred-reservations"))
    assert (read_again, problem) == (memory, "")
    crowd = [job(f"p{i}") for i in range(4)]
    plan = planned([*racks(), *crowd, made_as(memory)], keeping_nothing(), at("14:00"))
    assert set(seats(plan).values()) == {"r1n0", "r1n1"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"from": "2026-03-02T11:00", "until": "2026-03-02T13:00"}, "--from: 2026-03-02T11:00:00Z is in"),
        (
            {"from": "2026-03-02T09:00", "until": "2026-03-02T11:00"},
            "--until: 2026-03-02T11:00 is in the past",
        ),
        ({"from": "2026-03-02T16:00", "until": "2026-03-02T14:00"}, "--until: 2026-03-02T14:00 is not after"),
        ({"from": "2027-03-12T16:00", "until": "2027-03-12T17:00"}, "--from: it begins more than 366 days"),
        ({"until": "2028-01-01T00:00"}, "--until: a reservation lasts for 366 days at most"),
        (
            {"from": "2026-03-29T02:30", "until": "2026-03-29T05:00", "timeZone": BERLIN},
            "--from: clocks of Europe/Berlin never show",
        ),
        (
            {"from": "2026-03-29T00:30", "until": "2026-03-29T02:30", "timeZone": BERLIN},
            "--until: clocks of Europe/Berlin never show",
        ),
        ({"every": "FREQ=YEARLY"}, "--every: 'FREQ=YEARLY' is not known here"),
        ({"every": "FREQ=DAILY;COUNT=3;UNTIL=20260401"}, "--every: says COUNT and UNTIL"),
        ({**LATER, "every": "FREQ=MONTHLY;BYMONTHDAY=30;INTERVAL=12"}, "--every: never comes true"),
        ({"every": "day", "until": "2026-03-03T15:00"}, "--until: 2026-03-03T15:00 is after it begins again"),
        ({"for": {"queue": "reserch"}}, "--for: there is no queue 'reserch'"),
        ({"for": {"namespace": "visoin"}}, "--for: there is no namespace visoin"),
        ({"for": {"group": "nowhere/train"}}, "--for: there is no namespace nowhere"),
        ({"for": {"group": "train"}}, "--for: 'train' is not a namespace and a name"),
        ({"for": {}}, "--for: names one of queue, namespace and group"),
        (
            {"devices": {"resource": GPU, "count": 17}},
            f"--gpus: 17 {GPU} in one rack are asked for, and 16 are",
        ),
        (
            {"devices": {"resource": GPU, "count": 1, "model": "H100"}},
            f"--gpus: 1 {GPU} on H100 in one rack are",
        ),
        ({"within": "block"}, f"--gpus: 16 {GPU} in one block are asked for, and 0 are"),
        ({**NAMED, "nodes": {"matchLabels": {"a": "b"}}}, "--nodes: no node has these labels"),
        ({"devices": None}, "--gpus: has devices or nodes, one of the two"),
        ({"name": "x" * 64}, "--name: has 64 characters, and may have 63"),
        ({"name": "two\nlines"}, "--name: "),
        ({"for": {"queue": "x" * 400}}, "--for: is not plain text of at most 317 characters"),
        ({"timeZone": "\x1b[2J"}, "--time-zone: is not plain text"),
        ({"leadTime": "soon"}, "--lead-time: 'soon' is not"),
        ({"releaseAfter": "soon"}, "--release-after: 'soon' is neither none nor"),
        ({**NAMED, "nodes": {"matchLabels": MANY}}, "it has more than 4000 characters"),
    ],
)
def test_what_nobody_could_keep_is_refused_by_its_option(fields: Obj, words: str) -> None:
    assert refusal(cluster(), **fields).startswith(words)


def test_beside_others_the_first_time_is_named_at_which_it_would_fit() -> None:
    others = [saying(name=f"n{i}", until=f"2026-03-02T{17 + i}:00") for i in range(2)]
    situation = cluster(*others)
    assert refusal(situation) == (
        "--from: it does not fit at 2026-03-02T14:00:00Z beside n0, n1: 16 nvidia.com/gpu in one rack are "
        "asked for, and 0 are not reserved; it would from 2026-03-02T17:00:00Z on"
    )
    make(situation, **{"from": "2026-03-02T17:00", "until": "2026-03-02T21:00"})


def test_the_policy_counts_among_the_others() -> None:
    policy = {**keeping(saying(), saying(name="second")), **QUEUES}
    assert "beside demo, second" in refusal(cluster(policy=policy))
    assert "the policy has a reservation demo already" in refusal(cluster(policy=policy), name="demo")


def test_what_comes_again_is_looked_at_each_time() -> None:
    weekly = [
        saying(name=f"n{i}", every="week", **{"from": "2026-03-04T14:00", "until": "2026-03-04T18:00"})
        for i in range(2)
    ]
    situation = cluster(*weekly)
    make(situation)
    daily = refusal(situation, every="day")
    assert "does not fit at 2026-03-04T14:00:00Z beside n0, n1" in daily
    assert daily.endswith("it would from 2026-03-04T18:00:00Z on")
    make(situation, every="FREQ=DAILY;COUNT=2")


def test_nodes_that_another_has_cannot_be_named() -> None:
    named = saying(name="first", devices=None, within="", nodes={"matchLabels": {"rack": "r0"}})
    situation = cluster(named)
    told = refusal(situation, devices=None, within="", nodes={"matchLabels": {"rack": "r0"}})
    assert told.endswith("beside first: others have them then; it would from 2026-03-02T18:00:00Z on")
    make(situation)
    make(situation, devices=None, within="", nodes={"matchLabels": {"rack": "r1"}})


def test_nobody_is_robbed_of_what_was_reserved_before() -> None:
    situation = cluster(saying(name="half", within="", devices={"resource": GPU, "count": 24}))
    told = refusal(situation, devices=None, within="", nodes={"matchLabels": {"rack": "r0"}})
    assert "beside half: reservation half would have less than it asks for; it would from" in told


def test_a_name_is_made_of_whom_it_is_for_and_when_and_to_ask_again_is_safe() -> None:
    first = make(cluster(), name="")
    assert first.said.name == "vision-0302-1400"
    situation = cluster(msgspec.to_builtins(first.said))
    assert make(situation, name="").said == first.said
    assert make(situation, name="", leadTime="2h").said.name == "vision-0302-1400-2"
    assert "there is a reservation vision-0302-1400 already" in refusal(
        situation, name="vision-0302-1400", leadTime="2h"
    )


def test_there_is_an_end_to_how_many_there_are() -> None:
    memory, said = NO_RESERVATIONS, wish(every="week", devices={"resource": GPU, "count": 1})
    for number in range(MOST_MADE):
        one = MadeReservation(msgspec.structs.replace(said, name=f"n{number}"), "alice", NOON)
        beside = tuple(one.said.name for one in memory.reservations)
        found = recorded(memory, one, beside, NOON)
        assert isinstance(found, ReservationMemory)
        memory = found
    more = MadeReservation(said, "alice", NOON)
    assert "there are 100 reservations already; cancel one first" in str(recorded(memory, more, (), NOON))
    assert recorded(memory, memory.reservations[7], (), NOON) == memory


def test_what_was_made_meanwhile_was_not_looked_at() -> None:
    memory = ReservationMemory((MadeReservation(wish(name="other"), "bob", NOON),))
    made = MadeReservation(wish(), "alice", NOON)
    assert recorded(memory, made, (), NOON) == "reservation other was made at the same time; ask again"
    assert isinstance(recorded(memory, made, ("other",), NOON), ReservationMemory)
    late = NOON + timedelta(days=1)
    assert recorded(memory, MadeReservation(wish(every="day"), "alice", late), (), late) != ""


def test_a_list_has_those_of_the_policy_and_those_that_were_made() -> None:
    policy = {**keeping(saying()), **QUEUES}
    gone = saying(name="gone", **{"for": {"queue": "gone"}})
    found = reservations(cluster(saying(name="mine"), gone, policy=policy))
    told = [(one.name, one.by, one.state, len(one.nodes)) for one in found.reservations]
    assert told == [
        ("demo", "", "coming", 2),
        ("mine", "alice", "coming", 2),
        ("gone", "alice", "not kept", 0),
    ]
    assert found.reservations[-1].words == "does not count: the policy has no queue gone any more"


def test_a_tenant_sees_when_and_where_and_not_for_whom() -> None:
    whole = cluster(saying(name="secret-plan", **{"for": {"group": "vision/secret-model"}}))
    [told] = reservations(as_seen_by(whole, ["lab"])).reservations
    assert (told.begin, told.nodes, told.by) == (at("14:00"), ("r0n0", "r0n1"), "somebody")
    assert "secret" not in str(told)
    [own] = reservations(as_seen_by(whole, ["vision"])).reservations
    assert own.beneficiary == "group vision/secret-model"


@pytest.mark.parametrize(
    "record",
    [
        "{",
        '{"reservations": [{}]}',
        '{"reservations": "x"}',
        "x" * 900_001,
        str(ReservationMemory((MadeReservation(wish(name="n" * 64), "a", NOON),))),
        str(ReservationMemory((MadeReservation(wish(), "a\n", NOON),))),
        str(ReservationMemory((MadeReservation(wish(), "a", NOON),) * 2)),
        str(ReservationMemory((MadeReservation(wish(timeZone="Nowhere"), "a", NOON),))),
    ],
)
def test_what_cannot_be_read_counts_for_nothing_and_is_said(record: str) -> None:
    plan = planned([*racks(), made_as(record)], keeping_nothing(), at("14:00"))
    assert plan["reservations"] == []
    assert "reservations (maitred-reservations) cannot be read" in plan["warnings"][0]


def test_the_memory_forgets_those_that_are_over() -> None:
    plan = planned(
        [*racks(), made_as(saying(), saying(name="next", every="week"))], keeping_nothing(), at("18:00")
    )
    assert [one["said"]["name"] for one in plan["madeReservations"]["reservations"]] == ["next"]
    assert datetime.fromisoformat(plan["wakeAt"]) > datetime.fromisoformat(at("18:00"))


def test_queues_show_what_is_reserved_for_them() -> None:
    limits = [{"resource": GPU, "guarantee": 16}]
    policy = {**keeping_nothing(), "queues": [{"name": "research", "limits": limits}]}
    ours = saying(name="ours", **{"for": {"queue": "research"}})
    theirs = saying(name="theirs", **{"for": {"namespace": "lab"}, "devices": {"resource": GPU, "count": 8}})
    busy = [job(f"x{i}", gpu=3, node=f"r1n{i}") for i in range(2)]
    found = queues(cluster(ours, theirs, policy=policy, nodes=[*racks(), *busy]))
    told = {one.queue: one.reserved for one in found.queues}
    [kept] = told["research"]
    assert (kept.reservation, kept.begin, kept.state, kept.nodes) == ("ours", at("14:00"), "coming", 2)
    assert (kept.there, kept.idle) == ({GPU: "16"}, {GPU: "16"})
    assert [one.reservation for one in told["default"]] == ["theirs"]
    assert (told["default"][0].there, told["default"][0].idle) == ({GPU: "8"}, {GPU: "5"})
    lines = "\n".join(str(line) for line in queue_lines(found))
    assert "RESERVED FOR" in lines
    assert f"2 nodes; 16 {GPU}, 16 idle" in lines
