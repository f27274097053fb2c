"""Reservations over small random clusters, hour by hour: they begin empty, for those they are for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.reserving import GPU, keeping, made_as, racks, saying
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.support import decide

START = datetime(2026, 3, 2, tzinfo=UTC)
HOURS = 12
NAMESPACES = ("default", "vision", "sound")


def written(hour: float) -> str:
    return (START + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Arrival:
    """A pod, or a gang, that comes at some hour and runs for its time, which somebody enforces or not."""

    name: str
    namespace: str
    hour: int
    size: int
    lasts: int
    ends: bool
    priority: int
    owned: bool

    def objects(self) -> list[Obj]:
        spec = {"activeDeadlineSeconds": self.lasts * 3600} if self.ends else {}
        made: Any = {
            "namespace": self.namespace,
            "priority": self.priority,
            "created": written(self.hour),
            "spec": spec,
            "owner": f"ReplicaSet/{self.name}" if self.owned else None,
        }
        if self.size == 1:
            return [b.pod(f"{self.name}-0", gpu=8, **made)]
        members = [
            b.pod(f"{self.name}-{i}", gpu=8, group=self.name, index=i, **made) for i in range(self.size)
        ]
        return [b.pod_group(self.name, self.size, namespace=self.namespace), *members]


@dataclass
class Scene:
    policy: Obj
    arrivals: list[Arrival]
    made: list[Obj] = field(default_factory=list)
    """Reservations beside those of the policy."""
    nodes: list[Obj] = field(default_factory=lambda: racks(2, 2))

    def hours(self) -> Iterator[tuple[int, list[Obj], Obj]]:
        """What is there each hour, as it is decided about, and the Plan; its binds are there from then on."""
        since = dict[str, int]()
        place = dict[str, str]()
        record = made_as(*self.made) if self.made else None
        for hour in range(HOURS):
            objects = [*self.nodes, *([record] if record else [])]
            for arrival in self.arrivals:
                for made in arrival.objects() if arrival.hour <= hour else ():
                    key = f"{arrival.namespace}/{made['metadata']['name']}"
                    if made["kind"] == "Pod" and key in place:
                        if since[key] + arrival.lasts <= hour:
                            continue
                        made["spec"]["nodeName"] = place[key]
                        made["status"] = {"phase": "Running", "startTime": written(since[key])}
                    objects.append(made)
            plan = decide(objects, self.policy, written(hour))
            yield hour, objects, plan
            if plan["madeReservations"] is not None:
                record = made_as(msgspec.json.encode(plan["madeReservations"]).decode())
            gone = {eviction["pod"] for eviction in plan["evictions"]}
            self.arrivals = [one for one in self.arrivals if not self._is_hit(one, gone)]
            for bind in plan["binds"]:
                place[bind["pod"]], since[bind["pod"]] = bind["node"], hour

    @staticmethod
    def _is_hit(arrival: Arrival, gone: set[str]) -> bool:
        return any(f"{arrival.namespace}/{arrival.name}-{i}" in gone for i in range(arrival.size))


def hour_of(text: str) -> float:
    return (datetime.fromisoformat(text) - START) / timedelta(hours=1)


@st.composite
def scenes(
    draw: st.DrawFn, ends: st.SearchStrategy[bool], starts: tuple[str, ...] = ("wait", "evict")
) -> Scene:
    reservations, evicts = [], draw(st.sampled_from(starts))
    for number in range(draw(st.integers(1, 2))):
        begin = draw(st.integers(1, HOURS - 3))
        reservations.append(
            saying(
                name=f"r{number}",
                devices={"resource": GPU, "count": draw(st.sampled_from((8, 12, 16)))},
                within=draw(st.sampled_from(("", "rack"))),
                **{
                    "for": {"namespace": NAMESPACES[1 + number]},
                    "from": f"2026-03-02T{begin:02}:00",
                    "until": f"2026-03-02T{begin + draw(st.integers(1, 3)):02}:00",
                },
                leadTime=draw(st.sampled_from(("1h", "1d") if evicts == "wait" else ("0s", "1h", "2h"))),
                onStart=evicts,
                every=draw(st.sampled_from(("", "day"))),
            )
        )
    arrivals = [
        Arrival(
            f"a{number}",
            draw(st.sampled_from(NAMESPACES)),
            draw(st.integers(0, HOURS - 4)),
            draw(st.sampled_from((1, 1, 2, 3))),
            draw(st.integers(1, 5)),
            draw(ends),
            draw(st.sampled_from((0, 0, 10))),
            draw(st.booleans()),
        )
        for number in range(draw(st.integers(5, 12)))
    ]
    holds = draw(st.sampled_from(({}, {"holds": {"depth": 3}})))
    kept = draw(st.integers(0, len(reservations)))
    policy = {**keeping(**holds), "reservations": reservations[:kept]}
    return Scene(policy, arrivals, reservations[kept:])


def strangers(objects: list[Obj], said: Obj) -> list[str]:
    """Pods on its nodes for whom it is not."""
    own = said["for"].removeprefix("namespace ")
    return [
        pod["metadata"]["name"]
        for pod in objects
        if pod["kind"] == "Pod"
        and pod["spec"].get("nodeName") in said["nodes"]
        and pod["metadata"].get("namespace", "default") != own
    ]


@given(scenes(st.booleans()))
@examples(25)
def test_no_plan_breaks_a_law(scene: Scene) -> None:
    for hour, objects, plan in scene.hours():
        now = datetime.fromisoformat(written(hour))
        assert verify(objects, plan, scene.policy, now=now) == []


@given(scenes(st.just(True)))
@examples(25)
def test_if_ends_are_kept_it_begins_with_its_places_empty(scene: Scene) -> None:
    """Those who run when it is made are nobody here; and nobody comes later who would be there."""
    for hour, objects, plan in scene.hours():
        for said in plan["reservations"]:
            if hour_of(said["from"]) <= hour:
                assert strangers(objects, said) == []


@given(scenes(st.just(False), ("evict",)))
@examples(10)
def test_who_leaves_for_one_was_told_hours_before_and_nobody_else_does(scene: Scene) -> None:
    told = dict[tuple[str, str], float]()
    for hour, _, plan in scene.hours():
        for eviction in plan["evictions"]:
            if eviction["cause"] == "Reservation":
                name = eviction["for"].removeprefix("reservation/")
                [said] = [one for one in plan["reservations"] if one["name"] == name]
                assert hour_of(said["from"]) <= hour
                assert told[name, eviction["receipt"]["unit"]] < hour
        for said in plan["reservations"]:
            for one in said["warned"]:
                told[said["name"], one["unit"]] = hour_of(one["warned"])


@given(scenes(st.booleans()))
@examples(25)
def test_nobody_else_is_seated_in_one_that_has_begun(scene: Scene) -> None:
    for hour, _, plan in scene.hours():
        for said in plan["reservations"]:
            begun = hour_of(said["from"]) <= hour
            own = said["for"].removeprefix("namespace ")
            for seat in (*plan["binds"], *plan["nominations"]) if begun else ():
                assert seat["node"] not in said["nodes"] or seat["pod"].startswith(f"{own}/")


@given(scenes(st.booleans()))
@examples(15)
def test_the_order_of_the_input_does_not_matter(scene: Scene) -> None:
    for hour, objects, plan in scene.hours():
        if hour % 4 == 2:
            assert decide(objects[::-1], scene.policy, written(hour)) == plan
