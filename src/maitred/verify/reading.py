"""Reading what is to be judged: objects and policy, and what of the Plan names things that exist."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from .case import Case, Eviction, breach
from .drains import close_nodes, read_requests
from .fields import Doc
from .group_reading import read_groups
from .groups import Group
from .healing import seat_healed
from .later import read_links
from .objects import read_cluster
from .pods import Pod
from .policy import read_policy
from .promises import kept
from .room import seat_held, seat_moving
from .times import thousandths
from .timing import hold_back
from .trees import read_trees


def read_case(
    objects: Iterable[Any],
    plan: dict[str, Any] | None,
    policy: dict[str, Any] | None,
    scheduler: str | None,
    now: datetime | None,
) -> Case:
    raw = list(objects)
    cluster, rules, requests = read_cluster(raw), read_policy(policy), read_requests(raw)
    close_nodes(cluster, requests)
    doc = Doc(plan, "Plan")
    before = dict(cluster.allocations)
    for claim in doc.docs("claims"):
        if claim.given("allocation"):
            cluster.allocations.setdefault(claim.text("claim"), claim.doc("allocation"))
    time = None if now is None else thousandths(now.timestamp())
    case = Case(cluster, rules, read_trees(read_groups(cluster, rules), cluster), scheduler, time, doc)
    case.allocated_before, case.requests = before, requests
    hold_back(case)
    case.links = read_links(cluster, case.groups, rules)
    _read_binds(case)
    _read_nominations(case)
    _read_evictions(case)
    seat_held(case)
    seat_moving(case)
    seat_healed(case)
    case.kept = kept(case)
    return case


def _read_binds(case: Case) -> None:
    seen: set[str] = set()
    for doc in case.plan.docs("binds"):
        pod, faults = _named_pod(case, doc, "bound")
        if pod is not None and pod.key in seen:
            faults.append("bound more than once")
        node = case.cluster.nodes.get(doc.text("node"))
        if node is None:
            faults.append(f"bound to {doc.text('node') or 'no node'}, which does not exist")
        case.faults += [breach(1, doc.text("pod"), fault) for fault in faults]
        if pod is not None and node is not None and pod.pending and pod.key not in seen:
            case.binds.append((pod, node))
            seen.add(pod.key)


def _named_pod(case: Case, doc: Doc, what: str) -> tuple[Pod | None, list[str]]:
    """The pod to be decided that a bind or nomination names, and what is wrong with how it does."""
    pod = case.cluster.pods.get(doc.text("pod"))
    if pod is None:
        return None, [f"{what}, but there is no such pod"]
    faults = []
    if not pod.pending:
        faults.append(f"{what}, but it is not to be decided")
    elif case.scheduler is not None and pod.scheduler != case.scheduler:
        faults.append(f"{what}, but it belongs to the scheduler {pod.scheduler}")
    if doc.text("uid") != pod.uid:
        faults.append(f"{what} by uid {doc.text('uid')!r}, but it is {pod.uid!r}")
    if doc.text("group") != case.group_of[pod.key].key:
        faults.append(f"{what} as a member of {doc.text('group')!r}, not of {case.group_of[pod.key].key!r}")
    return pod, faults


def _read_nominations(case: Case) -> None:
    seen: set[str] = set()
    for doc in case.plan.docs("nominations"):
        pod, faults = _named_pod(case, doc, "nominated")
        node = case.cluster.nodes.get(doc.text("node"))
        if node is None:
            faults.append(f"nominated to {doc.text('node') or 'no node'}, which does not exist")
        if pod is not None and pod.key in seen:
            faults.append("nominated more than once")
        case.faults += [breach(5, doc.text("pod"), fault) for fault in faults]
        if pod is not None and node is not None and pod.pending and pod.key not in seen:
            case.nominations.append((pod, node))
            seen.add(pod.key)


def _read_evictions(case: Case) -> None:
    seen: set[str] = set()
    for doc in case.plan.docs("evictions"):
        pod = case.cluster.pods.get(doc.text("pod"))
        if pod is None or not (pod.running or case.lingers(pod)):
            case.faults.append(breach(4, doc.text("pod"), "evicted, but no such pod runs"))
            continue
        group = case.group_of[pod.key]
        if doc.text("uid") != pod.uid:
            case.faults.append(
                breach(4, pod.key, f"evicted by uid {doc.text('uid')!r}, but it is {pod.uid!r}")
            )
        if doc.text("group") not in ("", group.key) or (doc.given("group") is False and _grouped(group)):
            case.faults.append(breach(4, pod.key, f"evicted as a member of {doc.raw.get('group')!r}"))
        if pod.key in seen:
            case.faults.append(breach(4, pod.key, "evicted more than once"))
        else:
            case.evictions.append(Eviction(pod, doc.text("cause"), doc.text("for"), doc.doc("receipt")))
            group.evicted.add(pod.key)
            case.leaf_of[pod.key].evicted.add(pod.key)
        seen.add(pod.key)


def _grouped(group: Group) -> bool:
    """Whether a group is more than a lone pod, so that an eviction must name it."""
    return group.key != group.members[0].key
