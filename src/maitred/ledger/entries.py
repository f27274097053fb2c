"""What is written into the ledger at one stroke."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maitred.explain.billing.document import BORROWED
from maitred.explain.billing.losses import Loss
from maitred.ledger.meter import Reading
from maitred.ledger.records import Arrival, Evicted, FailureNoted, OverrideNoted
from maitred.model.queues import QUEUE

UNTOLD = frozenset(
    {
        "controller-revision-hash",
        "controller-uid",
        "job-name",
        "kubernetes.io/metadata.name",
        "pod-template-generation",
        "pod-template-hash",
        "statefulset.kubernetes.io/pod-name",
    }
)
UNTOLD_PREFIXES = ("apps.kubernetes.io/", "batch.kubernetes.io/", "maitred.dev/")
"""Labels that controllers give to each of their pods, or of their groups: nobody is billed by them."""
MOST_LABELS = 32


@dataclass(frozen=True, slots=True)
class UsageAccount:
    """By whom devices are used: all pods of a namespace with these labels."""

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()


def account_of(namespace: str, *labels: Mapping[str, str]) -> UsageAccount:
    """Later labels win over earlier ones: those of a pod over those of its namespace."""
    together = {key: value for each in labels for key, value in each.items() if is_told(key)}
    return UsageAccount(namespace, tuple(sorted(together.items())[:MOST_LABELS]))


def in_queue(account: UsageAccount, queue: str, borrows: bool = False) -> UsageAccount:
    """The same account in a queue, within its guarantee or beyond it; or in none. Pods cannot say it
    themselves: their labels with these keys are not told."""
    own = {key: value for key, value in account.labels if key not in (QUEUE, BORROWED)}
    own |= {QUEUE: queue} if queue else {}
    own |= {BORROWED: "true"} if borrows else {}
    return UsageAccount(account.namespace, tuple(sorted(own.items())))


def queue_of(account: UsageAccount | None) -> str:
    return "" if account is None else dict(account.labels).get(QUEUE, "")


def borrows(account: UsageAccount) -> bool:
    return BORROWED in dict(account.labels)


def is_told(key: str) -> bool:
    return key not in UNTOLD and not key.startswith(UNTOLD_PREFIXES)


@dataclass(slots=True)
class OpenGroup:
    """A group that has not ended, as it was last heard of."""

    number: int
    name: str
    quorum: int
    is_started: bool
    verdict: tuple[str, str] = ("", "")
    """And the category of its first blocker."""
    is_whole: bool = False
    """When it was last seen, its quorum sat or had succeeded."""
    has_succeeded: bool = False
    """Members have, and none has failed since."""
    missed_at: int | None = None
    """Since when no member of it is there."""

    @property
    def is_finished(self) -> bool:
        return self.is_whole and self.has_succeeded


@dataclass(frozen=True, slots=True)
class Opened:
    """A group came."""

    number: int
    arrival: Arrival


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A verdict of a group that differs from the one before."""

    number: int
    at: int
    verdict: str
    category: str


@dataclass
class LedgerEntry:
    """`losses` are taken from what was productive by then, in this entry or earlier ones."""

    until: int
    """All up to this moment is in it."""
    reading: Reading = field(default_factory=Reading)
    accounts: Mapping[str, UsageAccount] = field(default_factory=dict)
    """Of the holders in the reading."""
    opened: list[Opened] = field(default_factory=list)
    turns: list[VerdictRow] = field(default_factory=list)
    started: dict[int, int] = field(default_factory=dict)
    """Groups, by number, and when their quorum was first seated."""
    ended: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """When, and whether they finished."""
    evictions: list[Evicted] = field(default_factory=list)
    failures: list[FailureNoted] = field(default_factory=list)
    overrides: list[OverrideNoted] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    missing_since: int | None = None
    """Something could not be written down at that moment."""
