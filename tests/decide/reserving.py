"""Clusters and policies with reservations."""

from datetime import datetime
from typing import Any

import msgspec

from maitred.model.meta import Timestamp
from maitred.model.reservations import Reservation
from maitred.model.reserving import MadeReservation, ReservationMemory
from maitred.verify import verify
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

GPU = "nvidia.com/gpu"
DAY = "2026-03-02"
MADE = "2026-03-01T08:00:00Z"
FROM, UNTIL = f"{DAY}T14:00:00Z", f"{DAY}T18:00:00Z"


def saying(**fields: Any) -> Obj:
    """From two to six, 16 devices in one rack for the namespace vision."""
    usual = {
        "name": "demo",
        "for": {"namespace": "vision"},
        "devices": {"resource": GPU, "count": 16},
        "within": "rack",
        "from": f"{DAY}T14:00",
        "until": f"{DAY}T18:00",
    }
    return {**usual, **fields}


def made_as(*said: Obj | ReservationMemory | str) -> Obj:
    """The object in which maitred remembers what somebody has made; or with any text."""
    [first, *_] = said
    text = str(first)
    if isinstance(first, dict):
        made = (
            MadeReservation(msgspec.convert(one, Reservation), "alice", msgspec.convert(MADE, Timestamp))
            for one in said
        )
        text = str(ReservationMemory(tuple(made)))
    meta = b.metadata("maitred-reservations", "maitred-system", {"maitred.dev/record": "reservations"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}}


def keeping(*reservations: Obj, **policy: Any) -> Obj:
    levels = {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}
    return {**levels, "reservations": list(reservations or [saying()]), **policy}


def racks(count: int = 2, size: int = 2) -> list[Obj]:
    return [b.node(f"r{r}n{i}", gpu=8, rack=f"r{r}") for r in range(count) for i in range(size)]


def job(name: str, gpu: int = 8, hours: float | None = None, **fields: Any) -> Obj:
    """A pod on its own, which ends after so many hours if that is said."""
    spec = {} if hours is None else {"activeDeadlineSeconds": round(hours * 3600)}
    return b.pod(name, gpu=gpu, spec=spec, **fields)


def inside(name: str, node: str, since: str, hours: float | None = None, **fields: Any) -> Obj:
    pod = job(name, hours=hours, node=node, **fields)
    pod["status"]["startTime"] = since
    return pod


def at(hour: str) -> str:
    return f"{DAY}T{hour}:00Z"


def planned(objects: list[Obj], policy: Obj, now: str) -> Obj:
    """The Plan, which breaks no law."""
    plan = decide(objects, policy, now)
    assert verify(objects, plan, policy, now=datetime.fromisoformat(now)) == []
    return plan


def seats(plan: Obj) -> dict[str, str]:
    return {bind["pod"].partition("/")[2]: bind["node"] for bind in plan["binds"]}


def kept(plan: Obj, name: str = "demo") -> Obj:
    found: Obj = next(one for one in plan["reservations"] if one["name"] == name)
    return found
