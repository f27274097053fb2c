"""Queues as the policy has them, and what follows for amounts: docs/design/queues.md, a second time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from . import quantity
from .fields import Doc
from .selectors import Labels, Selector, label_selector
from .tariffs import DearHours, read_hours
from .times import duration

EVERY, DEFAULT = "*", "default"
MODEL_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "k8s.amazonaws.com/accelerator",
)

Use = Mapping[tuple[str, str], int]
"""How much of each resource on devices of each model."""


@dataclass(frozen=True)
class QueueTerm:
    """What a limit says of one resource on devices of some models."""

    resource: str
    pattern: str
    guarantee: int | None = None
    cap: int | None = None
    per_user: int | None = None

    def part(self, use: Use) -> int:
        """What of a use it speaks of."""
        return sum(
            n for (name, model), n in use.items() if name == self.resource and is_model(self.pattern, model)
        )

    def __str__(self) -> str:
        return self.resource + ("" if self.pattern == EVERY else f" on {self.pattern}")


@dataclass(frozen=True)
class Allotment:
    """What a queue may spend in a period."""

    amount: float
    period: str
    unit: str
    """device-hours, or the currency."""
    prices: tuple[tuple[str, str, float], ...] = ()
    """Of an hour: patterns of resources and models, the first that matches counts. None for device-hours."""
    hours: tuple[DearHours, ...] = ()
    """When they are others."""
    scavenges: bool = False
    """Whether groups run for nothing that it cannot pay for."""


@dataclass(frozen=True)
class QueueRule:
    name: str
    parent: str = ""
    weight: float = 1.0
    terms: tuple[QueueTerm, ...] = ()
    borrows: bool = True
    lends: bool = True
    min_runtime: int = 0
    """In thousandths of a second, and so are these."""
    default_span: int | None = None
    """How long its groups run that say nothing,"""
    longest: int | None = None
    """and how long any of them does at most."""
    enforces: bool = False
    ends_pods: bool = False
    namespaces: Selector | None = None
    """Whose groups it is for; None: everybody's."""
    is_selective: bool = False
    """It says who may use it, or at which priority."""


@dataclass(frozen=True)
class Rights:
    queues: Mapping[str, QueueRule] = field(default_factory=dict)
    labels: tuple[str, ...] = MODEL_LABELS
    by_share: bool = False
    """Whether a queue with the smaller share may reclaim."""
    half_life: int | None = None
    """In thousandths of a second, so much later use counts for half; None: only what queues have counts."""
    budgets: Mapping[str, Allotment] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.queues)

    @cached_property
    def resources(self) -> frozenset[str]:
        """All others are free for everybody."""
        return frozenset(term.resource for rule in self.queues.values() for term in rule.terms)

    def chain(self, name: str) -> list[str]:
        """A queue and those above it, from the top down."""
        found: list[str] = []
        while name:
            found.insert(0, name)
            name = self.queues[name].parent
        return found

    def is_bounded(self, name: str) -> bool:
        """Whether there may be room that groups of a queue may not have."""
        chain = [self.queues[one] for one in self.chain(name)]
        caps = any(t.cap is not None or t.per_user is not None for rule in chain for t in rule.terms)
        caps = caps or any(rule.name in self.budgets for rule in chain)
        return caps or any(not r.borrows for r in chain) or any(not r.lends for r in self.queues.values())

    def model(self, labels: Labels) -> str:
        return next((labels[key] for key in self.labels if labels.get(key)), "")

    def guarantees(self, name: str) -> list[QueueTerm]:
        """What a queue is guaranteed: where it says nothing of a resource, what is guaranteed below it, taken
        together."""
        own = [term for term in self.queues[name].terms if term.guarantee is not None]
        stated = {term.resource for term in own}
        below = [self.guarantees(rule.name) for rule in self.queues.values() if rule.parent == name]
        for resource in sorted({term.resource for terms in below for term in terms} - stated):
            parts = [[term for term in terms if term.resource == resource] for terms in below]
            own += _together(resource, parts)
        return own

    def is_within(self, name: str, use: Use, added: Use | None = None) -> bool:
        """Whether so much is no more than a queue is guaranteed. Of a model that no guarantee speaks of it
        has none. If only some of it is asked about: what that adds to."""
        asked = use if added is None else added
        terms = self.guarantees(name)
        covered = all(
            any(term.resource == resource and is_model(term.pattern, model) for term in terms)
            for (resource, model), count in asked.items()
            if count > 0 and resource in self.resources
        )
        return covered and all(
            term.part(use) <= (term.guarantee or 0) for term in terms if term.part(asked) > 0
        )

    def share(self, name: str, use: Use, there: Mapping[str, int]) -> float:
        """The largest part of any limited resource in the cluster, over the weight."""
        parts = [
            sum(n for (which, _), n in use.items() if which == resource) / max(1, there.get(resource, 0))
            for resource in self.resources
        ]
        return max(parts, default=0.0) / self.queues[name].weight


def _together(resource: str, parts: Sequence[Sequence[QueueTerm]]) -> list[QueueTerm]:
    patterns = list(dict.fromkeys(term.pattern for terms in parts for term in terms))
    if EVERY in patterns:
        whole = 0
        for terms in parts:
            every = [term.guarantee or 0 for term in terms if term.pattern == EVERY]
            whole += every[0] if every else sum(term.guarantee or 0 for term in terms)
        return [QueueTerm(resource, EVERY, whole)]
    return [
        QueueTerm(resource, one, sum(t.guarantee or 0 for terms in parts for t in terms if t.pattern == one))
        for one in patterns
    ]


def is_model(pattern: str, model: str) -> bool:
    """Whether a pattern is one or more whole words of a model."""
    words = [text.lower().replace("_", "-").replace(".", "-") for text in (model, pattern)]
    return pattern == EVERY or fnmatchcase(f"-{words[0]}-", f"*-{words[1]}-*")


def total(uses: Iterable[Use]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for use in uses:
        for key, count in use.items():
            found[key] = found.get(key, 0) + count
    return found


# -- reading -----------------------------------------------------------------------------------------------


def read_rights(doc: Doc) -> Rights:
    found = {rule.name: rule for rule in map(_rule, doc.docs("queues"))}
    if not found:
        return Rights()
    labels = doc.doc("devices")
    return Rights(
        {**found, DEFAULT: found.get(DEFAULT, QueueRule(DEFAULT))},
        tuple(labels.texts("modelLabels")) if labels.given("modelLabels") else MODEL_LABELS,
        doc.doc("fairShare").flag("reclaim"),
        _half_life(doc.doc("fairShare")),
        _budgets(doc),
    )


def _scavenges(said: Doc) -> bool:
    return said.text("onSpent") == "scavenge"


def _budgets(doc: Doc) -> dict[str, Allotment]:
    prices, found = doc.doc("prices"), dict[str, Allotment]()
    costs = tuple(
        (one.text("resource", EVERY), one.text("model", EVERY), _number(one, "perHour"))
        for one in prices.docs("devices")
    )
    for queue in doc.docs("queues"):
        said, name = queue.doc("budget"), queue.text("name")
        if said.given("money"):
            unit = prices.text("currency", "USD")
            period = said.text("period", "month")
            found[name] = Allotment(
                _number(said, "money"), period, unit, costs, read_hours(prices), _scavenges(said)
            )
        elif said.given("deviceHours"):
            hours = _number(said, "deviceHours")
            period = said.text("period", "month")
            found[name] = Allotment(hours, period, "device-hours", scavenges=_scavenges(said))
    return found


def _number(doc: Doc, field: str) -> float:
    value = doc.raw.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise doc.error(field, "must be a number")
    return float(value)


def _half_life(doc: Doc) -> int | None:
    said = doc.text("halfLife", "none")
    found = duration(said)
    if said != "none" and not found:
        raise doc.error("halfLife", "must be none or a duration such as 7d")
    return found


def _rule(doc: Doc) -> QueueRule:
    runtime = duration(doc.text("minRuntime", "0s"))
    if runtime is None:
        raise doc.error("minRuntime", "must be a duration such as 10m")
    weight = doc.raw.get("weight")
    if weight is not None and not isinstance(weight, int | float):
        raise doc.error("weight", "must be a number")
    return QueueRule(
        name=doc.text("name"),
        parent=doc.text("parent"),
        weight=1.0 if weight is None else weight,
        terms=tuple(map(_term, doc.docs("limits"))),
        borrows=doc.text("borrow", "always") == "always",
        lends=doc.text("lend", "always") == "always",
        min_runtime=runtime,
        default_span=_span(doc.doc("runtime"), "default"),
        longest=_span(doc.doc("runtime"), "most"),
        enforces=doc.doc("runtime").flag("enforce"),
        ends_pods=doc.doc("runtime").flag("enforcePods"),
        namespaces=label_selector(doc, "namespaces"),
        is_selective=doc.given("namespaces") or doc.given("priorities"),
    )


def _span(doc: Doc, field: str) -> int | None:
    said = doc.text(field, "none")
    found = duration(said)
    if said != "none" and not found:
        raise doc.error(field, "must be none or a duration such as 4h")
    return found


def _term(doc: Doc) -> QueueTerm:
    resource = doc.text("resource")

    def size(name: str) -> int | None:
        amounts = Doc({resource: doc.raw.get(name)}, doc.name, doc.where(name))
        return quantity.whole(quantity.amounts(amounts))[resource] if doc.given(name) else None

    pattern = doc.text("model", EVERY)
    return QueueTerm(resource, pattern, size("guarantee"), size("cap"), size("perUser"))
