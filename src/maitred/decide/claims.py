"""Which devices each claim gets: what the trial has found for them, as Kubernetes writes it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from maitred.cluster.devices.book import Grant, GrantedDevice
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.devices.requests import program_of
from maitred.cluster.devices.served import ResourceByClass
from maitred.cluster.journal import Seated
from maitred.cluster.snapshot import GroupView
from maitred.cluster.supply.devices import DeviceSupply, Granted
from maitred.cluster.trial import Trial
from maitred.decide.ask import Assignment
from maitred.decide.shares.placing import device_worth
from maitred.model.devices.claims import (
    AllocatedConfiguration,
    AllocatedDevice,
    Allocation,
    Consumer,
    DeviceAllocation,
    DeviceClaim,
    made_claim_name,
)
from maitred.model.plan import ClaimAllocation, ClaimToMake
from maitred.model.pod import NodeSelector, NodeSelectorTerm
from maitred.model.policy import Policy
from maitred.model.quantity import nano_text
from maitred.model.selector import Requirement

Served = tuple[GroupView, Assignment, Sequence[Seated]]
"""A group, who of it is bound where, and the entries by which they were seated."""


@dataclass(slots=True)
class _Claim:
    allocation: Allocation
    consumers: dict[str, Consumer] = field(default_factory=dict)


def allocate_claims(trial: Trial, served: Iterable[Served], policy: Policy) -> list[ClaimAllocation]:
    """What the claims of bound pods get, and for whom each is reserved; by claim."""
    supply = trial.supply(DeviceSupply)
    groups = [one for one in served if any(map(supply.asked_by, set(one[0].shapes.tolist())))]
    if not groups:
        return []
    entries = (entry for _, _, entries in groups for entry in entries)
    granted = supply.granted(entries, device_worth(trial, policy))
    found, made = dict[str, _Claim](), list[ClaimAllocation]()
    for view, seats, _ in groups:
        for member, row in sorted(seats):
            shape = int(view.shapes[member])
            resources = supply.made_on(row, supply.served(shape))
            if resources:
                made.append(_made(trial, granted, view, member, row, resources))
            if not view.device_claims:
                continue  # it has none, or the group is only supposed, and its claims have no names
            needs = trial.shape(shape).devices
            for key, need in zip(view.device_claims[member], needs, strict=True):
                claim = found.get(key)
                if claim is None:
                    claim = found[key] = _Claim(_allocation(trial, granted, key, need, row))
                consumer = _consumer(view, member, need)
                claim.consumers[consumer.uid or consumer.name] = consumer
    allocated = (
        ClaimAllocation(
            claim=key,
            allocation=msgspec.to_builtins(one.allocation),
            reserved_for=tuple(map(msgspec.to_builtins, one.consumers.values())),
        )
        for key, one in found.items()
    )
    return sorted((*allocated, *made), key=lambda one: one.claim)


def _made(
    trial: Trial,
    granted: Granted,
    view: GroupView,
    member: int,
    row: int,
    resources: Sequence[ResourceByClass],
) -> ClaimAllocation:
    """The one claim of a pod for all that it asks for by resources that classes serve on its node."""
    namespace, _, pod = view.pods[member].partition("/")
    key = f"{namespace}/{made_claim_name(pod)}"
    grants = [granted.own[row, one.spec].pop(0) for one in resources]
    requests = [request for grant in grants for request in spec_of(grant.program.spec).requests]
    spec = DeviceClaim(tuple(sorted(requests, key=lambda one: one.name)))
    parts = sorted((part for grant in grants for part in grant.parts), key=lambda one: one.ask.name)
    whole = Grant("", (row,), program_of(spec_bytes(spec), trial.snapshot.inventory), tuple(parts))
    consumer = Consumer("pods", pod, view.uids[member])
    return ClaimAllocation(
        claim=key,
        allocation=msgspec.to_builtins(_allocated(trial, whole, key, row)),
        reserved_for=(msgspec.to_builtins(consumer),),
        made=ClaimToMake(
            pod=view.pods[member],
            spec={"devices": msgspec.to_builtins(spec)},
            request_mappings=tuple(
                {"containerName": container, "resourceName": one.resource, "requestName": request}
                for one in resources
                for container, request in one.asked.mappings
            ),
        ),
    )


def _consumer(view: GroupView, member: int, need: ClaimNeed) -> Consumer:
    if need.group is not None:
        return Consumer("podgroups", *need.group, api_group="scheduling.k8s.io")
    return Consumer("pods", view.pods[member].partition("/")[2], view.uids[member])


def _allocation(trial: Trial, granted: Granted, key: str, need: ClaimNeed, row: int) -> Allocation:
    if need.allocated:
        known = trial.snapshot.allocated.claims[key].allocation
        assert known is not None
        return known
    if not need.spec:
        return Allocation()
    grant = granted.shared[need.claim] if need.claim else granted.own[row, need.spec].pop(0)
    return _allocated(trial, grant, key, row)


def _allocated(trial: Trial, grant: Grant, key: str, row: int) -> Allocation:
    return Allocation(
        DeviceAllocation(
            tuple(_result(key, number, part) for number, part in enumerate(grant.parts)),
            tuple(_configuration(grant, trial.snapshot.inventory)),
        ),
        _node_selector(grant, trial.nodes.names[row]),
    )


def _result(claim: str, number: int, part: GrantedDevice) -> AllocatedDevice:
    source, device = part.ask.source, part.device
    share = _share_id(f"{claim}/{number}/{device.id}") if device.is_shared else ""
    return AllocatedDevice(
        request=part.ask.name,
        driver=device.id.driver,
        pool=device.id.pool,
        device=device.id.device,
        admin_access=True if part.ask.is_admin else None,
        tolerations=source.tolerations,
        binding_conditions=device.source.binding_conditions,
        binding_failure_conditions=device.source.binding_failure_conditions,
        share_id=share,
        consumed_capacity={name: nano_text(amount) for name, amount in part.consumed or ()},
        skip_node_operations=device.skips,
    )


def _share_id(text: str) -> str:
    """A UUID that is always the same for the same share."""
    digits = sha256(text.encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], f"8{digits[13:16]}", f"8{digits[17:20]}", digits[20:32]))


def _configuration(grant: Grant, inventory: Inventory) -> Iterator[AllocatedConfiguration]:
    """That of the classes, then that of the claim, as far as it is for requests that were served. One that is
    for all of them names none."""
    asked, claim = [part.ask for part in grant.parts], spec_of(grant.program.spec)
    chosen = {ask.name.partition("/")[0]: ask for ask in asked}
    requests = [chosen[request.name] for request in claim.requests if request.name in chosen]
    names = [{ask.name, ask.name.partition("/")[0]} for ask in requests]

    def told(said: tuple[str, ...]) -> tuple[str, ...]:
        return () if all(not own.isdisjoint(said) for own in names) else said

    by_class = dict[str, list[str]]()
    for ask in requests:
        by_class.setdefault(ask.source.device_class_name, []).append(ask.name)
    for class_name, served in by_class.items():
        for one in inventory.classes[class_name].spec.config:
            yield AllocatedConfiguration("FromClass", told(tuple(served)), one.opaque)
    for own in claim.config:
        if not own.requests:
            yield AllocatedConfiguration("FromClaim", (), own.opaque)
        elif any(not each.isdisjoint(own.requests) for each in names):
            yield AllocatedConfiguration("FromClaim", told(own.requests), own.opaque)


def _node_selector(grant: Grant, node: str) -> NodeSelector | None:
    """The nodes from which all of the devices can be used."""
    labels, fields = list[Requirement](), list[Requirement]()
    for device in (part.device for part in grant.parts):
        if device.reach.node or device.source.binds_to_node:
            here = Requirement("metadata.name", "In", (node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(here,)),))
        for term in device.reach.selector.node_selector_terms if device.reach.selector else ():
            _add_new(labels, term.match_expressions)
            _add_new(fields, term.match_fields)
    if not labels and not fields:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(labels), tuple(fields)),))


def _add_new(found: list[Requirement], more: Iterable[Requirement]) -> None:
    """The order of values does not matter."""
    known = {(one.key, one.operator, frozenset(one.values)) for one in found}
    found += [one for one in more if (one.key, one.operator, frozenset(one.values)) not in known]
