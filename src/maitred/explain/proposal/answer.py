"""The answer: what would become of each group if it came now, and what else could be had."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from maitred.explain.forecast.estimate import Estimate
from maitred.model.plan import Blocker, Detail, Record, Remedy
from maitred.model.policy import API_VERSION

ClaimChange = Literal["deviceCount", "deviceCapacity", "deviceClass", "deviceSelector", "deviceConstraint"]
"""Something else in a resource claim."""
Outcome = Literal["fits", "preempts", "waits", "never"]
OUTCOMES: tuple[Outcome, ...] = ("fits", "preempts", "waits", "never")
"""From best to worst."""


class Where(Record, frozen=True):
    """Where members would be."""

    nodes: dict[str, int] = {}
    """How many on each."""
    domains: dict[str, tuple[str, ...]] = {}
    """Of each level, those with members in them."""


class Victim(Record, frozen=True):
    """Who would have to leave: a group, or a lone pod."""

    unit: str
    pods: int
    priority: int
    leaves: str
    """In which way, and what that does to its owner."""


class CostToOthers(Record, frozen=True):
    """What others pay for it."""

    victims: tuple[Victim, ...] = ()
    pods: int = 0
    work_lost_device_hours: float = 0.0
    violations: int = 0
    """Disruptions beyond what budgets allow."""
    alternative: str = ""
    """Who would have to leave instead, and why that is worse."""


class Offer(Record, frozen=True):
    """Something else that could be had, tried by the engine."""

    kind: Literal["members", "quorum", "topology", "request", ClaimChange, "time", "price"]
    words: str
    change: str
    """What to write in the manifest, or which options to give; empty where nothing is to be changed."""
    detail: Detail = {}
    where: Where = Where()


class Proposal(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Proposal"
    workload: str = ""
    """What makes the pods, with its kind; the group where they are given themselves."""
    group: str = ""
    """Empty for pods that are decided one by one."""
    outcome: Outcome = "fits"
    words: str = ""
    members: int = 0
    quorum: int = 0
    placed: int = 0
    """Members that would have a node now."""
    counts: Literal["members", "parts"] = "members"
    """What these three count: pods, or the parts of a tree of groups."""
    where: Where = Where()
    """Where they would be, now or once others have left."""
    cost: CostToOthers = CostToOthers()
    delayed: tuple[str, ...] = ()
    """Groups that would be seated now if it did not come."""
    blockers: tuple[Blocker, ...] = ()
    """Of pods that are decided one by one: what those who wait lack, given the places of the others."""
    on_empty_cluster: Blocker | None = None
    """Of what can never run: what is in its way even on the empty healthy cluster."""
    remedies: tuple[Remedy, ...] = ()
    """What others could do; what the user can is among the offers."""
    estimate: Estimate | None = None
    due: str = ""
    """Whether it would be done by its deadline, in words; empty if it has none."""
    offers: tuple[Offer, ...] = ()
    notes: tuple[str, ...] = ()


class Proposals(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Proposals"
    outcome: Outcome = "fits"
    """The worst of all."""
    proposals: tuple[Proposal, ...] = ()
    warnings: tuple[str, ...] = ()


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    return max(outcomes, key=OUTCOMES.index, default="fits")


_DECODER = msgspec.json.Decoder(Proposals)


def without(mark: str, answer: Proposals) -> Proposals:
    """The answer with all names as the user knows them, wherever they stand."""
    return _DECODER.decode(msgspec.json.encode(answer).replace(mark.encode(), b""))
