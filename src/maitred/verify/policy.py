"""What the checker reads of a Policy: level names, managed nodes, health, nodes yet to come, preemption."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from . import quantity
from .ask_rules import NO_ASKS, AskRules, read_ask_rules
from .fields import Doc
from .objects import DEFAULT_PODS, Node
from .queues import Rights, read_rights
from .reservation_rules import ReservationRule, read_reservations
from .selectors import Selector, label_selector, taints
from .times import duration

HEALTH_TAINTS = frozenset(
    {f"node.kubernetes.io/{name}" for name in ("not-ready", "unreachable", "unschedulable", "out-of-service")}
    | {f"node.kubernetes.io/{name}-pressure" for name in ("memory", "disk", "pid")}
    | {"node.kubernetes.io/network-unavailable"}
    | {f"node.cloudprovider.kubernetes.io/{name}" for name in ("uninitialized", "shutdown")}
    | {"maitred.dev/lemon"}
)
PRIORITY, FIFO = "priority", "fifo"
SHORTEST_GRACE = 1000
DEVICES = ("*/gpu", "*/gpu-*", "*/tpu", "*/npu", "*/gaudi", "*/neuron*", "*/mig-*")


@dataclass(frozen=True)
class Template:
    """A kind of node that an autoscaler could add, and how many of it (None: any number)."""

    node: Node
    most: int | None


@dataclass(frozen=True)
class Preemption:
    allowed: bool
    """Whether any group may take the places of others,"""
    by_priority: bool
    """and of those of lower priority."""
    delay: int
    own_only: bool
    suspends: bool
    grace_limit: int | None
    """The most seconds that a victim may take to leave; None: any number."""
    protectors: Selector | None
    """Namespaces whose pods may protect themselves; None: all."""
    protected_devices: int | None
    """So many in each of them; None: any number."""


@dataclass(frozen=True)
class Spares:
    """Nodes that are kept free for repairs."""

    level: str = ""
    nodes: int = 0
    below: int = 0


@dataclass(frozen=True)
class HoldRules:
    depth: int = 0
    """How many groups that wait have places planned,"""
    per_queue: int | None = None
    """and how many of one queue."""
    idle: float = 100.0
    """Device-hours that may stand idle for one of them."""
    after: int = 0
    """How long a group waits until it has places by age, in thousandths of a second; and how long they may be
    where nobody leaves."""


@dataclass(frozen=True)
class Policy:
    levels: dict[str, str]
    managed: Selector | None
    health: frozenset[str]
    templates: tuple[Template, ...]
    devices: tuple[str, ...]
    preemption: Preemption
    order: str
    jobs: str = "gang"
    """Whether a Job that runs all of its indexes at once is a gang without saying so."""
    owners: str = "gang"
    """And so what an operator's object makes at once."""
    grace: int = 60_000
    """For how many thousandths of a second a node is lost before its pods are,"""
    hold: int = 600_000
    """and for how many room is kept for what takes their place."""
    replaces_slow: bool = False
    """Whether members that are slow are deleted after a checkpoint."""
    keep_room: int = 30 * 60_000
    """For how many thousandths of a second room is kept for pods that come next."""
    spares: Spares = Spares()
    holds: HoldRules = HoldRules()
    bookings: dict[str, int] = field(default_factory=dict)
    """How many starts may be booked at once, by queue; of no queue, under the empty name."""
    reservations: tuple[ReservationRule, ...] = ()
    asking: AskRules = NO_ASKS
    by_deadline: bool = False
    """Whether its order has deadlines."""
    rights: Rights = field(default_factory=Rights)
    """Of queues, if there are any."""

    def level(self, name: str) -> str:
        """The node label behind a level's name; any other name is a label key itself."""
        return self.levels.get(name, name)

    def device_count(self, requests: dict[str, int]) -> int:
        return sum(n for name, n in requests.items() if any(fnmatchcase(name, p) for p in self.devices))


def read_policy(raw: dict[str, Any] | None) -> Policy:
    doc = Doc(raw, "Policy")
    levels = doc.doc("topology").docs("levels")
    devices = doc.doc("devices")
    return Policy(
        levels={level.text("name"): level.text("key") for level in levels},
        managed=label_selector(doc.doc("nodes"), "managed"),
        health=HEALTH_TAINTS.union(doc.doc("health").texts("taints")),
        templates=tuple(_template(item) for item in doc.docs("nodeTemplates")),
        devices=tuple(devices.texts("resources")) if devices.given("resources") else DEVICES,
        preemption=_preemption(doc),
        order=_order(doc),
        jobs=doc.doc("workloads").text("jobs", "gang"),
        owners=doc.doc("workloads").text("owners", "gang"),
        grace=_duration_of(doc.doc("healing"), "grace", "60s"),
        hold=_duration_of(doc.doc("healing"), "hold", "10m"),
        replaces_slow=doc.doc("healing").doc("slow").flag("replace"),
        spares=_spares(doc.doc("healing").doc("spares")),
        keep_room=_duration_of(doc.doc("workloads"), "keepRoom", "30m"),
        holds=_holds(doc.doc("holds")),
        bookings={"": doc.integer("bookings")}
        | {one.text("name"): one.integer("bookings") for one in doc.docs("queues")},
        reservations=read_reservations(doc),
        asking=read_ask_rules(doc.doc("provisioning")),
        by_deadline=isinstance(doc.raw.get("order"), list) and "deadline" in doc.texts("order"),
        rights=read_rights(doc),
    )


def _order(doc: Doc) -> str:
    """Of a list of rules: `priority`, if that is one of them. Age decides after it, listed or not; fair share
    decides between queues."""
    if isinstance(doc.raw.get("order"), list):
        return PRIORITY if PRIORITY in doc.texts("order") else FIFO
    return doc.text("order", PRIORITY)


def _holds(doc: Doc) -> HoldRules:
    idle = doc.raw.get("idle", 100.0)
    after = duration(doc.text("after", "none")) or 0
    return HoldRules(doc.integer("depth"), _count(doc, "perQueue"), float(idle), after)


def _spares(doc: Doc) -> Spares:
    return Spares(doc.text("level"), doc.integer("nodes"), doc.integer("below"))


def _preemption(doc: Doc) -> Preemption:
    """An order that does not go by priority displaces nobody for it, whatever else the policy says."""
    rules = doc.doc("preemption")
    delay = duration(rules.text("delay", "0"))
    if delay is None:
        raise rules.error("delay", "must be a duration such as 10m")
    allowed = rules.text("mode", PRIORITY) == PRIORITY
    return Preemption(
        allowed=allowed,
        by_priority=allowed and _order(doc) == PRIORITY,
        delay=delay,
        own_only=rules.text("victims") == "own",
        suspends=rules.text("jobs", "suspend") == "suspend",
        grace_limit=_grace_limit(rules),
        protectors=label_selector(rules.doc("protection"), "namespaces"),
        protected_devices=_count(rules.doc("protection"), "devicesPerNamespace"),
    )


def _duration_of(doc: Doc, field: str, usual: str) -> int:
    found = duration(doc.text(field, usual))
    if found is None:
        raise doc.error(field, "must be a duration such as 10m")
    return found


def _grace_limit(rules: Doc) -> int | None:
    """Grace periods are whole seconds, so a part of one counts as one."""
    said = rules.text("graceLimit", "1h")
    found = duration(said)
    if said != "none" and (found is None or found < SHORTEST_GRACE):
        raise rules.error("graceLimit", "must be none or a duration such as 10m, of a second at least")
    return None if found is None else -(-found // 1000)


def _count(doc: Doc, field: str) -> int | None:
    return doc.integer(field) if doc.given(field) else None


def _template(doc: Doc) -> Template:
    node = Node(
        name=doc.text("name"),
        labels=doc.strings("labels"),
        taints=taints(doc, "taints"),
        allocatable={"pods": DEFAULT_PODS} | quantity.whole(quantity.amounts(doc.doc("allocatable"))),
        features=frozenset(doc.texts("declaredFeatures")),
    )
    return Template(node, doc.integer("max") if doc.given("max") else None)
