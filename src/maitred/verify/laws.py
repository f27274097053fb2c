"""The laws about bindings: no overcommit, no split gang, every hard constraint; and the front door."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from .beginnings import judge_beginnings
from .booked import judge_booked
from .case import Breach, Case, breach
from .choices import judge_choices
from .claim_laws import judge_allocations, judge_standing_claims
from .drains import judge_maintenance
from .evictions import judge_evictions
from .filters import clash, from_devices
from .groups import Group
from .healing import judge_healing
from .holds import judge_holds
from .impossible import judge_impossible
from .kept import judge_kept
from .limits import judge_deadlines
from .made_reservations import judge_made
from .naming import judge_askers, may_be_barred
from .need import judge_need
from .nominations import judge_nominations
from .objects import Node
from .order import stuck
from .overrides import judge_overrides
from .planned import judge_planned
from .pods import Pod
from .provisioning import judge_asking
from .reading import read_case
from .receipts import judge_receipts
from .reserved import judge_reserved, reserved_nodes
from .rights import judge_rights
from .room import judge_room
from .selectors import matches
from .silence import judge_silence
from .spares import judge_spares
from .spending import judge_spending
from .trees import Tree, judge_parts, rule_of
from .usage import judge_usage
from .volumes import SOLE, attachments, claim_of
from .world import World


def verify(
    objects: list[dict[str, Any]],
    plan: dict[str, Any] | None,
    policy: dict[str, Any] | None = None,
    scheduler: str | None = None,
    now: datetime | None = None,
) -> list[Breach]:
    """The laws that a Plan breaks, or, without a Plan, those that the bindings in the objects break.

    `objects` are raw Kubernetes objects as JSON or YAML parsing gives them, lists of them included.
    `scheduler` narrows the judgement as it narrows the decision, and `now` is the time that it was made for:
    without it nothing is judged that depends on the time. Objects that cannot be read are a ValueError that
    names the object and the field.
    """
    case = read_case(objects, plan, policy, scheduler, now)
    case.reserved_from = reserved_nodes(case)
    if plan is None:
        standing = {*judge_nodes(case, None), *judge_standing_gangs(case), *judge_sharing(case)}
        return sorted({*standing, *judge_standing_claims(case)})
    found = set(case.faults)
    found |= {*judge_nodes(case, case.binds), *judge_gangs(case), *judge_constraints(case)}
    found |= {
        *judge_choices(case),
        *judge_allocations(case),
        *judge_evictions(case),
        *judge_maintenance(case),
        *judge_nominations(case),
        *judge_need(case),
        *judge_holds(case),
        *judge_room(case),
        *judge_kept(case),
        *judge_healing(case),
        *judge_spares(case),
        *judge_rights(case),
        *judge_usage(case),
        *judge_overrides(case),
        *judge_spending(case),
        *judge_deadlines(case),
        *judge_planned(case),
        *judge_booked(case),
        *judge_reserved(case),
        *judge_asking(case),
        *judge_made(case),
        *judge_beginnings(case),
        *judge_askers(case),
    }
    found |= {*judge_receipts(case), *judge_silence(case), *judge_impossible(case), *judge_parts(case)}
    return sorted(found)


def judge_nodes(case: Case, binds: list[tuple[Pod, Node]] | None) -> Iterator[Breach]:
    """Law 1. With binds, only the nodes that they touch are judged, and only for what they add."""
    world = case.before if binds is None else case.after
    for name, node in case.cluster.nodes.items():
        pods = world.on[name]
        blamed = pods if binds is None else [pod for pod, place in binds if place is node]
        yield from _overcommitted(world, node, blamed)
        yield from _clashing(node, pods, blamed)
        yield from _overattached(world, node, pods, blamed)


def _overcommitted(world: World, node: Node, blamed: list[Pod]) -> Iterator[Breach]:
    for resource in sorted({name for pod in blamed for name, amount in pod.requests.items() if amount > 0}):
        have, used = node.allocatable.get(resource, 0), world.used[node.name][resource]
        if used > have and not from_devices(world, node, resource):
            unit = "thousandths of a CPU" if resource == "cpu" else resource
            yield breach(1, node.name, f"{used} {unit} are given away, it has {have}")


def _clashing(node: Node, pods: list[Pod], blamed: list[Pod]) -> Iterator[Breach]:
    for pod in blamed:
        for other in pods:
            for port in sorted(pod.ports):
                if pod is not other and any(clash(port, taken) for taken in other.ports):
                    both = " and ".join(sorted((pod.key, other.key)))
                    yield breach(1, node.name, f"host port {port[2]}/{port[1]} is given to {both}")


def _overattached(world: World, node: Node, pods: list[Pod], blamed: list[Pod]) -> Iterator[Breach]:
    handles = {handle for pod in pods for handle in attachments(world, pod)}
    others = {handle for pod in pods if pod not in blamed for handle in attachments(world, pod)}
    for driver, limit in sorted(world.cluster.attach_limits.get(node.name, {}).items()):
        count = sum(d == driver for d, _ in handles)
        if count > limit and any(d == driver for d, _ in handles - others):
            yield breach(1, node.name, f"{count} volumes of {driver} are attached, it can attach {limit}")


def judge_standing_gangs(case: Case) -> Iterator[Breach]:
    """Law 2 over what runs: a group with a running member must have its quorum."""
    for group in case.groups:
        ours = case.scheduler is None or any(pod.scheduler == case.scheduler for pod in group.members)
        if ours and group.running and group.quorum is not None and not group.met():
            count, what = group.tally(())[2], "parts" if isinstance(group, Tree) else "members"
            yield breach(2, group.key, f"{count} {what} run or succeeded, its quorum is {group.quorum}")


def judge_sharing(case: Case) -> Iterator[Breach]:
    """Law 3 over what runs.

    Node selectors, affinity, spread and taints hold at the moment of binding and may have changed since
    (IgnoredDuringExecution), so of the hard constraints only those that hold at all times are judged:
    amounts, host ports and attach limits under law 1, and here that nobody shares a ReadWriteOncePod claim.
    """
    users: dict[str, set[str]] = {}
    for _, pod in case.before.pods():
        for use in pod.claims:
            claim = claim_of(case.before, pod, use)
            if claim is not None and SOLE in claim.modes:
                users.setdefault(claim.key, set()).add(pod.key)
    for key, pods in sorted(users.items()):
        if len(pods) > 1:
            yield breach(3, key, f"may be used by one pod only, is used by {', '.join(sorted(pods))}")


def judge_gangs(case: Case) -> Iterator[Breach]:
    """Law 2: what a Plan binds, and whether its verdicts and counts say the same.

    Of two groups that share a name, an entry could speak of the other if that has members to decide.
    """
    allowed = Counter(group.key for group in case.groups if case.allowed(group))
    for group in case.groups:
        seats = {pod.key for pod, _ in case.bound(group)}
        bound, (size, quorum, placed) = len(seats), group.tally(seats)
        if bound and group.missing:
            yield breach(2, group.key, f"{bound} members are bound, but there is no such PodGroup")
        if bound and group.problems:
            yield breach(2, group.key, f"{bound} members are bound, but it is invalid: {group.problems[0]}")
        if bound and quorum is not None and not group.met(seats):
            yield breach(2, group.key, f"{bound} bound: {placed} of a quorum of {quorum}")
        if allowed[group.key] == case.allowed(group):
            for entry in case.entries.get(group.key, []):
                counts = {"members": size, "placed": placed, "quorum": quorum}
                for name, number in counts.items():
                    if number is not None and entry.raw.get(name) != number:
                        yield breach(2, group.key, f"{name} is {entry.raw.get(name)}, should be {number}")
                verdict = entry.text("verdict")
                if verdict == "Invalid" and not bound and may_be_barred(case, group):
                    continue
                yield from _judge_verdict(group, verdict, placed, bound, group.met(seats))


def _judge_verdict(group: Group, verdict: str, placed: int, bound: int, met: bool) -> Iterator[Breach]:
    if verdict == "Invalid" and bound:
        yield breach(2, group.key, f"Invalid, and yet {bound} members are bound")
    if verdict == "Invalid" and not group.problems and not group.doubts:
        yield breach(7, group.key, "Invalid, but nothing in the objects makes it so")
    elif verdict != "Invalid" and group.problems and not group.missing:
        yield breach(7, group.key, f"{verdict}, but it is invalid: {group.problems[0]}")
    if verdict == "Invalid" or (group.problems and not group.missing):
        return
    if group.missing:
        if verdict != "Waiting":
            yield breach(2, group.key, f"{verdict}, but there is no such PodGroup: should be Waiting")
    elif group.quorum is not None and (verdict == "Scheduled") != met:
        yield breach(2, group.key, f"{verdict} with {placed} members of a quorum of {group.quorum}")


def judge_constraints(case: Case) -> Iterator[Breach]:
    """Law 3: gates, some order of the binds, managed nodes, and the topology of whole groups."""
    for pod, reason in stuck(case.before, case.binds):
        yield breach(3, pod.key, reason)
    managed = case.policy.managed
    for pod, node in case.binds:
        if managed is not None and not matches(managed, node.labels):
            yield breach(3, pod.key, f"bound to {node.name}, which the policy does not manage")
    for group in case.groups:
        bound = case.bound(group)
        if bound and group.barred:
            yield breach(3, group.key, f"{len(bound)} members are bound, but {group.barred}")
        if bound:
            broken = rule_of(group, case.staying(group), bound)
            if broken is not None:
                yield breach(3, group.key, broken)
