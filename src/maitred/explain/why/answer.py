"""Why a group waits, or how it is getting on, as data.

Every field is always written; what is not known, or does not apply, is null or empty. Tables are made from
this alone.
"""

from typing import Literal, get_args

from maitred.explain.forecast.estimate import Estimate
from maitred.explain.why.progress import Progress
from maitred.model.overrides import OverrideNote
from maitred.model.owners import named_kind
from maitred.model.plan import (
    Alternative,
    Blocker,
    Eviction,
    EvictionCause,
    GroupVerdict,
    Record,
    Remedy,
    Toll,
    Verdict,
)
from maitred.model.policy import API_VERSION, Rule
from maitred.model.runtime import EndSource

State = Literal[
    "Waiting",
    "Starting",
    "Running",
    "Finished",
    "Failed",
    "Suspended",
    "Elsewhere",
    "Unattended",
    "NoPods",
]
"""`Starting` has its places, and not all members are Ready. `Elsewhere` is decided by another scheduler.
`Unattended` would fit, and no scheduler runs that would seat it."""

Kind = Literal[
    "group",
    "pod",
    "job",
    "cronjob",
    "deployment",
    "replicaset",
    "statefulset",
    "daemonset",
    "replicationcontroller",
    "jobset",
    "leaderworkerset",
    "trainjob",
    "pytorchjob",
    "tfjob",
    "mpijob",
    "jaxjob",
    "xgboostjob",
    "paddlejob",
    "raycluster",
    "rayjob",
    "rayservice",
    "sparkapplication",
    "appwrapper",
    "vcjob",
]
"""What a name may be of: a group, a pod, or one of the kinds that make pods, as `model.owners` has them."""
KINDS: tuple[Kind, ...] = get_args(Kind)
_OURS: dict[str, Kind] = {
    **dict.fromkeys(("group", "podgroup", "podgroups", "pg"), "group"),
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
}


def kind_called(text: str) -> Kind | None:
    """The kind that stands before a slash, as in `job/train`; kubectl's names for it are understood."""
    base = text.lower().removesuffix(".scheduling.k8s.io")
    if base in _OURS:
        return _OURS[base]
    owner = named_kind(text)
    return next((kind for kind in KINDS if owner is not None and kind == owner.name), None)


class NearPlace(Record, frozen=True):
    """One domain, node or kind of nodes, and what it lacks."""

    name: str
    nodes: int
    holds: int
    """Members that fit there now, all together."""
    node: str | None
    """Of its nodes, the one that lacks least for one more member."""
    lacks: dict[str, str]
    """What that node lacks."""
    why: str
    """In words, why one more member does not fit."""


class Nearest(Record, frozen=True):
    level: str | None
    """Of which level the places are domains; null if they are nodes, or kinds of nodes."""
    needed: int
    total: int
    """How many such places there are; the best of them are told."""
    places: tuple[NearPlace, ...]


class Earlier(Record, frozen=True):
    """A group whose turn comes first."""

    group: str
    rule: Rule
    verdict: Verdict
    """What becomes of it in this cycle; what it would wait for is not looked at."""
    priority: int


class OrderPlace(Record, frozen=True):
    turn: int
    """Its place in the order of turns, from 1."""
    of: int
    waiting: int
    """Groups ahead of it that wait too."""
    seated: int
    """Groups ahead of it that get seats in this cycle."""
    promised: int
    """Groups ahead of it that are promised places, and wait for others to leave."""
    rules: dict[Rule, int]
    """By which rule they are ahead."""
    first: tuple[Earlier, ...]
    """Those that are seated, then those that are promised places, then those that wait: of each kind those
    whose turns come first."""


class PreemptionAnswer(Record, frozen=True):
    """Who leaves for it, or why nobody does."""

    allowed: bool
    words: str
    pods: int = 0
    units: tuple[str, ...] = ()
    """What breaks together: groups, or pods by themselves."""
    toll: Toll | None = None
    nodes: tuple[str, ...] = ()
    """That it is promised."""
    next_best: Alternative | None = None
    cause: EvictionCause | None = None
    """Why they leave; null if nobody is told to."""
    rule: str = ""
    """By which they leave, as their receipts have it."""


class Waited(Record, frozen=True):
    since: str
    seconds: float
    by: dict[str, float]
    """Seconds for which each category was the first blocker."""
    unknown: float
    """Seconds of which nobody recorded why; with those in `by` they are all."""
    known_since: str | None
    """From when on `by` is complete; null if nobody keeps a ledger."""


class Placement(Record, frozen=True):
    """Where its members are, or will be once they are bound."""

    members: int
    nodes: tuple[str, ...]
    domains: dict[str, str]
    since: str | None
    """When the first of them started; null if none has."""


class EndAnswer(Record, frozen=True):
    """When it ends, as somebody says."""

    at: str
    source: EndSource
    """Who says so."""
    enforced: bool
    """Whether it is ended then; otherwise it is an estimate."""
    words: str


class DueAnswer(Record, frozen=True):
    """When it must be done, and whether it will be."""

    deadline: str
    runs_for: str | None = None
    said: str = ""
    """By whose word it takes so long."""
    latest_start: str | None = None
    """Of a group that waits: when it must have started; null if it is not known how long it takes."""
    at_risk: bool | None = None
    """Whether it will be late, as far as anybody can say; null if nobody can."""
    words: str = ""


class LevelCrossings(Record, frozen=True):
    level: str
    crossing: int
    """Pairs of neighbours that are in two domains of this level."""
    least: int | None
    """How few that could be on the same seats, whoever sits where; null if it is not known."""


class RankAnswer(Record, frozen=True):
    """How many neighbours are apart: members whose indexes follow each other."""

    pairs: int
    levels: tuple[LevelCrossings, ...]
    """Narrow to wide."""


class YieldAnswer(Record, frozen=True):
    """What a group that runs loses to others, or may lose to them."""

    words: str
    borrowed: bool
    """Whether it is beyond the guarantee of its queue, or of one above."""
    to: str | None = None
    """The group for which it leaves by the current plan; or the request to drain nodes, as `drain/NAME`, or
    the reservation, as `reservation/NAME`."""
    cause: EvictionCause | None = None
    """Null if it does not leave by the current plan, and was not warned that it will."""
    queues: tuple[str, ...] = ()
    """Of that group; or those that may reclaim what it has."""
    since: str | None = None
    """From when on they may, or will; null for now."""


class Why(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Why"
    group: str = ""
    workload: str | None = None
    """What makes the pods, with its kind, where it was asked about and they are no group: what follows is
    about all of its pods, each of which is decided by itself."""
    summary: str = ""
    """One sentence."""
    state: State = "Waiting"
    verdict: Verdict | None = None
    """Null if it is not decided: it is over, not ours, or has no pods."""
    members: int = 0
    quorum: int = 0
    quorum_from: str = ""
    """Where the quorum is said, in words; empty for a pod on its own."""
    placed: int = 0
    leaving: int = 0
    """Members on their way out, which are not counted as placed."""
    priority: int | None = None
    placement: Placement | None = None
    parts: tuple[GroupVerdict, ...] = ()
    """Of a tree of groups: what becomes of each part. The numbers of the tree count these."""
    ranks: RankAnswer | None = None
    """Null if members have no indexes, or no level is known."""
    blockers: tuple[Blocker, ...] = ()
    on_empty_cluster: Blocker | None = None
    """Of a group that can never start: what is in its way even on the empty healthy cluster."""
    nearest: Nearest | None = None
    """For members that wait for room."""
    remedies: tuple[Remedy, ...] = ()
    queue: OrderPlace | None = None
    preemption: PreemptionAnswer | None = None
    waited: Waited | None = None
    estimate: Estimate | None = None
    progress: Progress | None = None
    override: OverrideNote | None = None
    """Who has lifted it past the turn and the limits of its queue, if anybody has."""
    ends: EndAnswer | None = None
    """Of a group that has its places; null if nobody says when it ends."""
    due: DueAnswer | None = None
    """Null if it has no deadline."""
    yields: YieldAnswer | None = None
    """Of a group that runs: whether it leaves for others, or may have to give back what it has borrowed."""
    notes: tuple[str, ...] = ()
    """What could not be known, and what else is to be said."""


# -- one group rather than another -------------------------------------------------------------------------

Winner = Literal["group", "other"]


class Point(Record, frozen=True):
    """One thing in which the two are compared."""

    rule: str
    group: str
    other: str
    first: Winner | None
    """Who comes first by this alone; null if it is the same for both, or is no rule."""
    decides: bool = False
    """Whether it is the one by which the two are told apart: what follows is not looked at."""


class Comparison(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Comparison"
    group: str = ""
    other: str = ""
    summary: str = ""
    points: tuple[Point, ...] = ()
    """Rules, in the order in which they are looked at."""
    group_stands: str = ""
    other_stands: str = ""
    """What becomes of each now, in words."""
    without_other: str = ""
    """What would become of the group if the other were not there: this has been tried."""
    fits_without_other: bool | None = None
    """Null if it does not wait."""
    preemption: str = ""
    """Whether the other leaves for it, and if not, why."""
    cause: EvictionCause | None = None
    """Of the evictions for it, if there are any."""


# -- evictions ---------------------------------------------------------------------------------------------


class PodEviction(Record, frozen=True):
    at: str | None
    """When it was told to leave; null if it is about to be."""
    words: str
    eviction: Eviction


class EvictionAnswer(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Evictions"
    pod: str = ""
    summary: str = ""
    evictions: tuple[PodEviction, ...] = ()
    """What is to happen now, then what is remembered, newest first."""
    known_since: str | None = None
    """From when on evictions are remembered; null if nobody keeps a ledger."""
