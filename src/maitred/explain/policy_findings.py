"""What of a Policy does not suit a cluster. None of it is an error: a cluster changes, and rules may be meant
for one that is still to come."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.selection import selected
from maitred.cluster.snapshot import NAMESPACE_NAME, Snapshot
from maitred.decide.compile import managed_nodes
from maitred.decide.levels import key_of_level
from maitred.explain.topology import open_and_well
from maitred.model.manifest.queue_checks import Subject, Terms, subject, terms_of
from maitred.model.policy import Policy, device_model, health_taints, matches_model
from maitred.model.quantity import CPU, MEMORY, amount, text
from maitred.model.queues import EVERY_MODEL, QueueLimit
from maitred.model.selector import matches, selector_of

EVERYWHERE = (CPU, MEMORY)
"""Resources that almost every pod asks for."""
SHOWN = 4


def policy_findings(policy: Policy, snapshot: Snapshot) -> tuple[str, ...]:
    terms, hardware = terms_of(policy.queues), _Hardware(policy, snapshot)
    return (
        *_too_much_guaranteed(terms, hardware),
        *_idle_caps(terms, hardware),
        *_closed_queues(terms, snapshot),
        *_rights_to_nothing(terms),
        *_beyond_the_nodes(policy, hardware),
        *_unpaid_for_ever(policy),
    )


def too_much_guaranteed(policy: Policy, snapshot: Snapshot) -> bool:
    """Whether healthy nodes have less of something than is guaranteed."""
    return any(_too_much_guaranteed(terms_of(policy.queues), _Hardware(policy, snapshot)))


class _Hardware:
    """What the nodes have that maitred may seat on, and those that an autoscaler could add."""

    def __init__(self, policy: Policy, snapshot: Snapshot) -> None:
        self.policy, self.snapshot, self.nodes = policy, snapshot, snapshot.nodes
        self.managed: Mask = managed_nodes(self.nodes, policy)
        self.well: Mask = self.managed & open_and_well(self.nodes, health_taints(policy))
        self.models = [device_model(policy, labels) for labels in self.nodes.labels]

    def knows(self, resource: str) -> bool:
        """Whether nodes say how much they have of it; of what a device class serves, they do not."""
        return resource not in self.snapshot.device_classes

    def amount(self, about: Subject, among: Mask) -> int | None:
        """None where there is no end to it."""
        added = self._added(about)
        return added if added is None else added + self.there(about, among)

    def there(self, about: Subject, among: Mask) -> int:
        """On the nodes that there are."""
        place = self.nodes.resource_column(about[0])
        if place is None:
            return 0
        fits = np.array([matches_model(about[1], model) for model in self.models], dtype=np.bool_)
        there: list[int] = self.nodes.allocatable[place, among & fits].tolist()
        return sum(there)

    def _added(self, about: Subject) -> int | None:
        resource, pattern = about
        total = 0
        for template in self.policy.node_templates:
            have = amount(resource, template.allocatable.get(resource, 0))
            if have and matches_model(pattern, device_model(self.policy, template.labels)):
                if template.max is None:
                    return None
                total += have * template.max
        return total


def _too_much_guaranteed(terms: Sequence[Terms], hardware: _Hardware) -> Iterator[str]:
    spelled = {subject(limit): limit.model for one in terms for limit in one.queue.limits}
    roots = [one for one in terms if one.above is None]
    subjects = dict.fromkeys(about for one in roots for about in one.guarantees)
    for about in dict.fromkeys((*subjects, *((resource, EVERY_MODEL) for resource, _ in subjects))):
        parts = {one.queue.name: one.guaranteed(about) for one in roots}
        total, well = sum(parts.values()), hardware.amount(about, hardware.well)
        if not hardware.knows(about[0]) or well is None or total <= well:
            continue
        who = ", ".join(f"{name} {text(about[0], count)}" for name, count in _first(parts))
        yield (
            f"queues are guaranteed {text(about[0], total)} {about[0]}{_on(spelled.get(about, EVERY_MODEL))}"
            f" ({who}), and healthy nodes have {text(about[0], well)}{_sick(about, hardware, well)};"
            " lower guarantees, or add nodes"
        )


def _sick(about: Subject, hardware: _Hardware, well: int) -> str:
    have = hardware.amount(about, hardware.managed)
    return f", unhealthy ones {text(about[0], have - well)}" if have is not None and have > well else ""


def _first(parts: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    some = [(name, count) for name, count in parts.items() if count]
    return sorted(some, key=lambda part: (-part[1], part[0]))[:SHOWN]


def _on(model: str) -> str:
    return "" if model == EVERY_MODEL else f" on {model}"


def _idle_caps(terms: Sequence[Terms], hardware: _Hardware) -> Iterator[str]:
    for one in terms:
        for limit in one.queue.limits:
            about = subject(limit)
            have = hardware.amount(about, hardware.managed) if hardware.knows(limit.resource) else None
            for name, count in _bounds(one, about):
                if have is not None and count > have:
                    field, said = one.field(about, name), text(limit.resource, count)
                    yield f"{field}: {said} never limits anybody, as nodes have {_have(limit, have)}"


def _bounds(one: Terms, about: Subject) -> Iterator[tuple[str, int]]:
    for name in ("cap", "perUser"):
        if about in one.amounts[name]:
            yield name, one.amounts[name][about]


def _have(limit: QueueLimit, have: int) -> str:
    return f"{text(limit.resource, have) if have else 'no'} {limit.resource}{_on(limit.model)}"


def _closed_queues(terms: Sequence[Terms], snapshot: Snapshot) -> Iterator[str]:
    """Queues that no namespace may use. Nothing is known without namespaces."""
    spaces = [{NAMESPACE_NAME: name, **labels} for name, labels in snapshot.namespaces.items()]
    for one in terms:
        selector = selector_of(one.queue.namespaces)
        if spaces and selector is not None and not any(matches(selector, labels) for labels in spaces):
            yield (
                f"queues[{one.position}].namespaces: no namespace matches, so nobody can use"
                f" {one.queue.name}; change the selector, or label a namespace"
            )


def _unpaid_for_ever(policy: Policy) -> Iterator[str]:
    """Groups that run without paying, and that nobody may evict."""
    for position, queue in enumerate(policy.queues):
        lets = queue.budget is not None and queue.budget.on_spent == "scavenge"
        if lets and policy.preemption.mode == "never":
            yield (
                f"queues[{position}].budget.onSpent: groups of {queue.name} that run without paying keep"
                " their places from groups that pay, because preemption.mode is never; set it to priority,"
                " or onSpent to wait"
            )


def _rights_to_nothing(terms: Sequence[Terms]) -> Iterator[str]:
    """Queues of which every group counts as borrowed, or cannot be admitted at all."""
    limited = dict.fromkeys(limit.resource for one in terms for limit in one.queue.limits)
    for one in terms:
        given = {resource for (resource, _), count in one.guarantees.items() if count}
        lacking = [resource for resource in limited if resource not in given]
        if one.queue.borrow == "never" and not given and limited:
            yield (
                f"queues[{one.position}].borrow: {one.queue.name} has no guarantee and borrows never, so it"
                f" can use nothing of {', '.join(lacking[:SHOWN])}"
            )
        for resource in (name for name in EVERYWHERE if name in lacking and given):
            yield (
                f"queues[{one.position}].limits: {one.queue.name} has no guarantee of {resource}, which"
                f" limits speak of, so all its groups that ask for {resource} are borrowed;"
                f" guarantee it {resource} too"
            )


def _beyond_the_nodes(policy: Policy, hardware: _Hardware) -> Iterator[str]:
    """Reservations of more than one domain has, or the cluster."""
    for position, one in enumerate(policy.reservations):
        field, nodes = f"reservations[{position}]", hardware.nodes
        if one.devices is None:
            if not selected(nodes, selector_of(one.nodes) or ()).any():
                yield f"{field}.nodes: no node has these labels"
            continue
        about = (one.devices.resource, one.devices.model)
        most, where = hardware.there(about, hardware.managed), "all nodes together have"
        if one.within:
            column = nodes.column(key_of_level(one.within, policy.topology.levels))
            domains = (column.codes == code for code in range(len(column.values)))
            most = max((hardware.there(about, hardware.managed & domain) for domain in domains), default=0)
            where = f"no {one.within} has more than"
        if most < one.devices.count:
            what = f"{one.devices.count} {about[0]}{_on(about[1])} are reserved, and {where} {most}"
            yield f"{field}.devices.count: {what}; reserve fewer, or add nodes"
