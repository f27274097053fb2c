"""The Plan: all that one cycle decided, and why. Its JSON form is a stable contract."""

from typing import Any, Literal

from msgspec import field

from maitred.model.booking import BookingMemory
from maitred.model.categories import Category
from maitred.model.drain import DrainProgress
from maitred.model.healing import FailureRule
from maitred.model.holding import HoldMemory
from maitred.model.memory import HealthMemory
from maitred.model.meta import Lean
from maitred.model.overrides import OverrideMemory, OverrideNote
from maitred.model.policy import API_VERSION
from maitred.model.reservations import ReservedNodes
from maitred.model.reserving import ReservationMemory
from maitred.model.spending import SpendingMemory
from maitred.model.usage import UsageMemory
from maitred.model.words import counted

Verdict = Literal["Scheduled", "Preempting", "Waiting", "Impossible", "Invalid"]
Detail = dict[str, Any]

NO_LESSER = "there is no pod of a lower priority to evict"
"""Why most groups that wait evict no pod; the first blocker has it in its detail."""


class Record(Lean, frozen=True, omit_defaults=False):
    """Part of a Plan. Every field is always written, so that readers need no defaults of their own."""


class Bind(Record, frozen=True):
    pod: str
    uid: str
    node: str
    group: str


class Toll(Record, frozen=True):
    """What a set of victims costs, in the order in which sets are compared."""

    violations: int = 0
    """Disruptions beyond what budgets allow."""
    highest_priority: int = 0
    work_lost_steps: int = 0
    """In steps of ten device-minutes: less than that is noise."""
    units: int = 0
    pods: int = 0
    work_lost_device_hours: float = 0.0


class Alternative(Record, frozen=True):
    """Other victims that would have made the same room."""

    units: tuple[str, ...]
    toll: Toll
    worse: str
    """In words, by the first thing in which it is worse."""


class Departure(Record, frozen=True):
    """How a victim leaves, and what that does to whoever made it."""

    owner: str
    """Kind and name of its controller, or of the topmost owner where that is suspended; empty for a pod that
    will not be made again."""
    by: Literal["suspend", "deactivate", "delete"]
    """`deactivate`: Kueue stops its owner, because maitred deactivates Kueue's Workload for it."""
    survives: bool | None
    """Whether the owner does; None where the owner is not known."""
    words: str


class Receipt(Record, frozen=True):
    """The record of an eviction: under which rule, at what cost, and which alternatives were worse."""

    unit: str
    """What it breaks together with: its group, or the pod itself."""
    rule: str
    priority: int
    preemptor_priority: int
    work_lost_device_hours: float
    """Of this pod,"""
    lost_since: str | None
    """since its start or its last checkpoint."""
    budgets: tuple[str, ...]
    """Budgets that allow fewer disruptions than they get."""
    departure: Departure
    toll: Toll
    """Of all who leave for the same group."""
    alternatives: tuple[Alternative, ...] = ()
    override: OverrideNote | None = None
    """Who has lifted the group that it leaves for past the turn and the limits of its queue, if anybody."""


EvictionCause = Literal["Preemption", "Reclaim", "Budget", "Maintenance", "Reservation"]
"""`Preemption`: for a higher priority. `Reclaim`: what they have was lent to their queue. `Budget`: they ran
without paying, and the group pays. `Maintenance`: somebody has asked for it, because their nodes are drained,
or so that another group finds room. `Reservation`: they are on nodes that are reserved for others, and were
warned."""


class Eviction(Record, frozen=True):
    pod: str
    uid: str
    group: str | None
    preemptor: str = field(name="for")
    cause: EvictionCause
    receipt: Receipt


class VolumeChoice(Record, frozen=True):
    """What a claim that waits for its first pod gets when that is bound."""

    claim: str
    volume: str | None
    """One that exists; None if one is to be made for the node."""
    node: str


KeptCause = Literal["Later", "Healing", "Maintenance", "Spare"]


class KeptRoom(Record, frozen=True):
    """Room on a node that is kept for pods which are neither bound nor nominated."""

    group: str
    """The group that they are in, or will be."""
    node: str
    pods: int
    owner: str
    """The kind and the key of who creates them once others are scheduled or ready; else empty."""
    cause: KeptCause = "Later"
    """`Healing`: members were lost, and these take their places. `Maintenance`: they leave nodes that are
    drained, and these take their places. `Spare`: the whole node is kept free for groups that are healed,
    whichever these will be."""
    until: str | None = None
    devices: dict[str, int] = {}
    """Those that stand idle for them, by resource: what those still have who leave is not among them."""


class LostPod(Record, frozen=True):
    """A member that holds its place and does not work any more, or is slow and is replaced."""

    pod: str
    uid: str
    node: str
    delete: bool
    """Whether it is told to leave, with the grace period that it asks for: it is never removed by force."""
    why: str = ""
    """Why not."""


class Restart(Record, frozen=True):
    """All members are stopped together by suspending their owner, which is resumed when they fit."""

    kind: str
    owner: str
    uid: str
    pod: str
    """One of the members that are to be stopped."""
    pods: int
    """How many these are,"""
    members: int
    """and how many it takes."""


class HealingDecision(Record, frozen=True):
    """What becomes of a group under which something failed."""

    group: str
    rule: FailureRule
    """What is done by; `none` if nothing is done."""
    family: str
    certainty: str
    words: str
    """What failed,"""
    does: str
    """and what is done about it, or why nothing is."""
    since: str | None = None
    held_until: str | None = None
    """How long room is kept for members that take the place of others."""
    pods: tuple[LostPod, ...] = ()
    restart: Restart | None = None
    """What is yet to be stopped, so that all members start anew together."""


class NodeTaint(Record, frozen=True):
    """A taint that a node is to have from now on, or not to have any more. Its effect is NoSchedule."""

    node: str
    key: str
    value: str
    add: bool
    words: str
    """Why, with the evidence."""


class DrainDecision(Record, frozen=True):
    """How far a request to empty nodes is."""

    name: str
    left: int
    """Pods that are still there, those aside that belong to their nodes."""
    done: bool
    cordon: tuple[str, ...] = ()
    """Nodes that are to be closed to every scheduler."""
    over: bool = False
    """It was done long ago, and need not be kept."""
    progress: DrainProgress | None = None
    """What is to be remembered with the request from now on; None if nothing of that has changed."""


class DueGroup(Record, frozen=True):
    """A group that waits, and must be done by a time."""

    group: str
    deadline: str
    runs_for: str | None
    """How long it takes; null if nobody says."""
    said: str
    """By whose word: the mark that says it, or the queue that gives it a limit."""
    latest_start: str | None
    """When it must have started to be done in time; null if it is not known how long it takes."""
    at_risk: bool
    """It cannot be done in time any more, even if it starts as soon as it may."""


class DeadlineToSet(Record, frozen=True):
    """The `activeDeadlineSeconds` that a Job is to have, or a pod that nobody controls, so that its group
    ends with its run-time limit."""

    job: str
    """Empty if it is a pod."""
    uid: str
    group: str = ""
    """That the limit is of. Empty if it has no places any more, and the deadline that we have set is taken
    back."""
    seconds: int | None = None
    """From the start of the Job or pod; None: the Job is to have no deadline."""
    ends: str | None = None
    """When that is."""
    said: str = ""
    """By whose word: the mark that asks for the limit, or the queue that gives it."""
    pod: str = ""
    """Empty if it is a Job."""

    @property
    def key(self) -> tuple[str, str]:
        """The name of the Job, and of the pod."""
        return self.job, self.pod


class ClaimToMake(Record, frozen=True):
    """A claim that no template has: for a pod that asks for devices of a class by an extended resource."""

    pod: str
    spec: Detail
    request_mappings: tuple[Detail, ...]
    """Which request is for which container and resource, as the status of the pod has it."""


class ClaimAllocation(Record, frozen=True):
    """The devices that a resource claim gets, and the pods of this Plan, or their PodGroup, that use it."""

    claim: str
    allocation: Detail
    reserved_for: tuple[Detail, ...] = ()
    made: ClaimToMake | None = None
    """What to create before; None if the claim exists."""


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
    """What became of a group. A tree of groups has an entry of its own, whose numbers count its parts, and
    one for each part: a part is no decision of its own, and names what it is part of."""

    group: str
    verdict: Verdict
    members: int
    quorum: int
    placed: int
    domains: dict[str, str] = {}
    blockers: tuple[Blocker, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    parent: str = ""
    """The composite that a part of a tree is in; empty for what is decided as a whole."""
    counts: Literal["members", "parts"] = "members"
    """What `members`, `quorum` and `placed` count: pods, or the parts of a composite."""

    @property
    def placed_words(self) -> str:
        """`3 of 4 members placed`, or parts."""
        return f"{self.placed} of {counted(self.members, self.counts.removesuffix('s'))} placed"


class RequestedPods(Record, frozen=True):
    """Members of one shape."""

    pod: str
    """One of them, which tells what all are like."""
    uid: str
    count: int


class NodeRequest(Record, frozen=True):
    """A group for which an autoscaler is to be asked for nodes, for all of its pending members at once."""

    group: str
    name: str
    """Of the ProvisioningRequest."""
    pods: tuple[RequestedPods, ...]


class Plan(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Plan"
    binds: tuple[Bind, ...] = ()
    nominations: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    volumes: tuple[VolumeChoice, ...] = ()
    claims: tuple[ClaimAllocation, ...] = ()
    holds: tuple[KeptRoom, ...] = ()
    groups: tuple[GroupVerdict, ...] = ()
    healing: tuple[HealingDecision, ...] = ()
    memory: HealthMemory | None = None
    """What is to be remembered of failures from now on; None if nothing of that has changed."""
    usage: UsageMemory | None = None
    """What is to be remembered of what queues use; None if nothing of that is to be written down."""
    overrides: OverrideMemory | None = None
    """Those that are not over yet, if any is over by now; else None."""
    budgets: SpendingMemory | None = None
    """What is to be remembered of what queues spend; None if nothing of that is to be written down."""
    planned: HoldMemory | None = None
    """What is to be remembered of holds for groups that wait; None if nothing of that has changed."""
    bookings: BookingMemory | None = None
    """What is to be remembered of booked starts; None if nothing of that has changed."""
    reservations: tuple[ReservedNodes, ...] = ()
    """What is kept for those that are not over: now, or the next time."""
    made_reservations: ReservationMemory | None = None
    """Those beside the policy that are not over yet, if any is over by now; else None."""
    taints: tuple[NodeTaint, ...] = ()
    """Lemons to taint, and nodes that are none any more."""
    drains: tuple[DrainDecision, ...] = ()
    deadlines: tuple[DeadlineToSet, ...] = ()
    """Of Jobs and pods whose groups run in queues that enforce limits: those that must change."""
    provisioning: tuple[NodeRequest, ...] = ()
    """Groups that ask for nodes, and have not asked before."""
    due: tuple[DueGroup, ...] = ()
    """Groups that wait and have deadlines of their own."""
    wake_at: str | None = None
    search_exhausted: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def decisions(self) -> tuple[GroupVerdict, ...]:
        """The groups that were decided, without the parts of trees."""
        return tuple(group for group in self.groups if not group.parent)

    def with_parts(self) -> list[tuple[GroupVerdict, tuple[GroupVerdict, ...]]]:
        """The same, each with its parts, which follow it in the Plan."""
        found = list[tuple[GroupVerdict, tuple[GroupVerdict, ...]]]()
        for group in self.groups:
            if not group.parent:
                found.append((group, ()))
            elif found:
                found[-1] = (found[-1][0], (*found[-1][1], group))
        return found
