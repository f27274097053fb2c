"""Queues that are being made from those of another scheduler, and what could not be taken over."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from maitred.model.manifest import Document, InputError
from maitred.model.manifest.errors import field_error
from maitred.model.quantity import NATIVE, PODS, QuantityError, amount, text
from maitred.model.queues import EVERY_MODEL
from maitred.model.selector import LabelSelector

SHOWN = 4
LEAST_WEIGHT = 0.001
"""For a weight of 0, by which nothing can be divided."""
Subject = tuple[str, str]
"""A resource, and a model of devices."""


@dataclass
class DraftQueue:
    name: str
    origin: str
    """What it was: `ClusterQueue team-a`."""
    parent: str = ""
    weight: float = 1.0
    guarantees: dict[Subject, int] = field(default_factory=dict)
    caps: dict[Subject, int] = field(default_factory=dict)
    namespaces: LabelSelector | None = None
    borrows: bool = True
    lends: bool = True
    min_runtime: str = ""

    def guarantee(self, resource: str, count: int, model: str = EVERY_MODEL) -> None:
        self.guarantees[resource, model] = self.guarantees.get((resource, model), 0) + count

    def plain(self) -> dict[str, Any]:
        """As a policy has it, without what is the default."""
        found: dict[str, Any] = {"name": self.name}
        found |= {"parent": self.parent} if self.parent else {}
        found |= {"weight": self.weight} if self.weight != 1 else {}
        limits = [self._limit(about) for about in dict.fromkeys((*self.guarantees, *self.caps))]
        found |= {"limits": limits} if limits else {}
        if self.namespaces is not None:
            found["namespaces"] = msgspec.json.decode(msgspec.json.encode(self.namespaces))
        found |= {} if self.borrows else {"borrow": "never"}
        found |= {} if self.lends else {"lend": "never"}
        found |= {"minRuntime": self.min_runtime} if self.min_runtime else {}
        return found

    def _limit(self, about: Subject) -> dict[str, Any]:
        resource, model = about
        found: dict[str, Any] = {"resource": resource}
        found |= {"model": model} if model != EVERY_MODEL else {}
        for name, amounts in (("guarantee", self.guarantees), ("cap", self.caps)):
            if about in amounts:
                found[name] = written(resource, amounts[about])
        return found


def written(resource: str, count: int) -> int | str:
    said = text(resource, count)
    return int(said) if said.isdecimal() else said


class Draft:
    def __init__(self) -> None:
        self.queues: dict[str, DraftQueue] = {}
        self.by_share = False
        """Whether what is borrowed is to move towards the weights."""
        self._notes: dict[str, dict[str, None]] = {}

    def add(self, queue: DraftQueue) -> None:
        known = self.queues.setdefault(queue.name, queue)
        if known is not queue:
            what = f"{known.origin} and {queue.origin} would be one queue; import them one by one"
            raise InputError("", "", "", what)

    def note(self, origin: str, words: str) -> None:
        """Of something that has no equivalent."""
        self._notes.setdefault(words, {})[origin] = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is true of several objects is said once."""
        return tuple(f"{_listed([*origins])}: {words}" for words, origins in self._notes.items())

    def resource(self, origin: str, name: str) -> bool:
        """Whether limits can speak of it."""
        if name in NATIVE and name != PODS:
            return True
        if "/" in name or name.startswith("hugepages-"):
            return True
        what = (
            f"{name[:60]} is no resource that pods request, so its quota is left out; write devices of a "
            "class as deviceclass.resource.kubernetes.io/NAME"
        )
        self.note(origin, what if name != PODS else "the quota of pods is left out: limits count no pods")
        return False


def _listed(origins: list[str]) -> str:
    more = f" and {len(origins) - SHOWN} more" if len(origins) > SHOWN else ""
    return ", ".join(origins[:SHOWN]) + more


def read(document: Document, kind: type[Any]) -> Any:
    plain = document.plain()
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        problem = field_error(error, plain, kind)
        raise InputError(document.source, document.title, problem.field, problem.what) from None


def counted(document: Document, resource: str, quantity: str | int | float) -> int:
    try:
        return amount(resource, quantity)
    except QuantityError as error:
        raise InputError(document.source, document.title, "", str(error)) from None


def weight(said: float) -> float:
    return max(LEAST_WEIGHT, min(said, 1_000_000))
