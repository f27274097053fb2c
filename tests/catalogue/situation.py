"""Situations: a cluster in which something is wrong, and what has to be said about it."""

from dataclasses import dataclass, field
from typing import Any

from tests.oracle import builders as b
from tests.oracle.builders import Obj

CREW = "default/crew"
GATE = "example.com/quota"
PRODUCT = "nvidia.com/gpu.product"


@dataclass(frozen=True, eq=False)
class Situation:
    title: str
    setup: str
    """What there is, in one sentence."""
    objects: list[Obj]
    says: dict[str, Obj]
    """The categories that are blamed, and what their details say at least."""
    verdict: str = "Waiting"
    policy: Obj | None = None
    remedy: str = ""
    """The kind of remedy that must be among those offered; empty where nothing can be done that the engine
    could try."""
    room: str = ""
    """Of two causes neither of which alone is in the way: what is said of the room, before them."""

    @property
    def categories(self) -> list[str]:
        return [*([self.room] if self.room else []), *self.says]

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True)
class Chapter:
    title: str
    situations: list[Situation] = field(default_factory=list)


def crew(
    count: int, *args: Any, quorum: int | None = None, level: str | None = None, **fields: Any
) -> list[Obj]:
    """A gang of so many members, all of them needed unless a quorum says otherwise."""
    marks = {"annotations": fields.pop("marks")} if "marks" in fields else {}
    group = b.pod_group("crew", count if quorum is None else quorum, level, created=10, **marks)
    return [group, *b.pods("crew", count, *args, group="crew", **{"created": 10, **fields})]


def seated(name: str, on: str, *args: Any, **fields: Any) -> Obj:
    """A pod that runs already, and that nobody may evict."""
    return b.pod(name, *args, node=on, **{"priority": 1000, **fields})


def one(*args: Any, **fields: Any) -> Obj:
    """A lone pod."""
    return b.pod("crew", *args, **{"created": 10, **fields})


def without_plugin(node: Obj) -> Obj:
    """A node whose devices nobody offers any more."""
    status = node["status"]
    offered = {name: amount for name, amount in status["allocatable"].items() if "/" not in name}
    return {**node, "status": {**status, "allocatable": offered}}


def claiming() -> Obj:
    """The spec of members that ask for devices by a claim."""
    return {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        "containers": [
            {"name": "main", "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]}}
        ],
    }


def volume_in(
    zone: str, name: str = "disk", driver: str | None = None, mode: str = "ReadWriteOnce"
) -> list[Obj]:
    """A claim and the volume in a zone that it is bound to."""
    on = [b.expr(b.ZONE, "In", zone)]
    return [
        b.pvc(name, volume=f"pv-{name}", modes=[mode]),
        b.pv(f"pv-{name}", claim=f"default/{name}", on=on, driver=driver, modes=[mode]),
    ]


def shared_volume_in(zone: str) -> list[Obj]:
    return volume_in(zone, mode="ReadWriteMany")
