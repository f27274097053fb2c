"""The Plan: all that one cycle decided, and why. Its JSON form is a stable contract."""

from typing import Any, Literal

from msgspec import field

from maitred.model.meta import Lean
from maitred.model.policy import API_VERSION

Category = Literal[
    "Members",
    "Gated",
    "Request",
    "Capacity",
    "Fragmentation",
    "Topology",
    "Devices",
    "Health",
    "Affinity",
    "Volume",
    "Quota",
    "Budget",
    "Priority",
    "Reservation",
    "Backoff",
]
Verdict = Literal["Scheduled", "Preempting", "Waiting", "Impossible", "Invalid"]
Detail = dict[str, Any]


class Record(Lean, frozen=True, omit_defaults=False):
    """Part of a Plan. Every field is always written, so that readers need no defaults of their own."""


class Bind(Record, frozen=True):
    pod: str
    uid: str
    node: str
    group: str


class Eviction(Record, frozen=True):
    pod: str
    uid: str
    group: str | None
    preemptor: str = field(name="for")
    cause: str
    receipt: Detail = {}


class ClaimAllocation(Record, frozen=True):
    claim: str
    allocation: Detail
    reserved_for: tuple[Detail, ...] = ()


class Blocker(Record, frozen=True):
    """One measured reason for not being scheduled."""

    category: Category
    message: str
    detail: Detail = {}


class Remedy(Record, frozen=True):
    """A small change that the engine has tried and that would get the group scheduled."""

    change: str
    detail: Detail = {}


class GroupVerdict(Record, frozen=True):
    group: str
    verdict: Verdict
    members: int
    quorum: int
    placed: int
    domains: dict[str, str] = {}
    blockers: tuple[Blocker, ...] = ()
    remedies: tuple[Remedy, ...] = ()


class Plan(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Plan"
    binds: tuple[Bind, ...] = ()
    nominations: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    claims: tuple[ClaimAllocation, ...] = ()
    groups: tuple[GroupVerdict, ...] = ()
    wake_at: str | None = None
    search_exhausted: bool = False
    warnings: tuple[str, ...] = ()
