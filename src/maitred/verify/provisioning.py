"""Nodes that are asked for: docs/provisioning.md, a second time. Whoever lacks nothing but room asks once,
for all of its members, and of the nodes that have come since then none is given to others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from .ask_rules import AskRules
from .calendars import Span
from .case import Breach, Case, breach
from .fields import Doc
from .groups import Group
from .objects import Node
from .times import thousandths

ASKED = 17
MOST_SETS = 32
ENDED = ("Failed", "CapacityRevoked", "BookingExpired")


def called(group: str) -> str:
    return "maitred-" + sha256(group.encode()).hexdigest()[:16]


def request_for(case: Case, group: str) -> Doc | None:
    place = f"{group.split('/')[0]}/{called(group)}"
    return case.cluster.raw.get(("ProvisioningRequest", place))


# -- who asks ----------------------------------------------------------------------------------------------


def judge_asking(case: Case) -> Iterator[Breach]:
    said, rules = {one.text("group"): one for one in case.plan.docs("provisioning")}, case.policy.asking
    if len(said) < len(case.plan.docs("provisioning")):
        yield breach(ASKED, "provisioning", "a group asks twice")
    verdicts = {one.text("group"): one for one in case.plan.docs("groups") if not one.text("parent")}
    for key, one in said.items():
        problem = _why_wrong(case, rules, verdicts.get(key), one)
        if problem:
            yield breach(ASKED, key, problem)
    if not rules.kind or case.now is None:
        return
    for group in case.groups:
        verdict = verdicts.get(group.key)
        if verdict is not None and group.key not in said and _must_ask(case, rules, group, verdict):
            yield breach(ASKED, group.key, "lacks nothing but room, and no nodes are asked for")


def _why_wrong(case: Case, rules: AskRules, verdict: Doc | None, one: Doc) -> str:
    key = one.text("group")
    group = next((group for group in case.groups if group.key == key), None)
    if not rules.kind:
        return "asks for nodes, and the policy does not say so"
    if group is None or verdict is None or not _lacks_only_room(verdict):
        return "asks for nodes, and lacks something else than room"
    if request_for(case, key) is not None or one.text("name") != called(key):
        return "asks for nodes a second time"
    if group.topology or group.slice_topology:
        return "asks for nodes, and needs them in one domain"
    if any(pod.wants_devices for pod in group.pending):
        return "asks for nodes, and claims devices"
    if case.now is not None and not _has_waited(case, rules, group):
        return "asks for nodes too early"
    return _miscounted(group, one.docs("pods"))


def _miscounted(group: Group, sets: list[Doc]) -> str:
    members = {pod.key: pod for pod in group.pending}
    examples = [one.text("pod") for one in sets]
    count = sum(one.integer("count") for one in sets)
    if len(set(examples)) < len(sets) or any(name not in members for name in examples):
        return "asks for nodes for pods that are not its own, or for one twice"
    if count != len(members):
        return f"asks for nodes for {count} pods, and {len(members)} wait"
    kinds = {tuple(sorted(members[name].requests.items())) for name in examples}
    if any(tuple(sorted(pod.requests.items())) not in kinds for pod in members.values()):
        return "asks for nodes for pods that are like none of some of its members"
    return ""


def _must_ask(case: Case, rules: AskRules, group: Group, verdict: Doc) -> bool:
    """As far as that is known here: of a group whose pods are all there, and alike."""
    if not _lacks_only_room(verdict) or request_for(case, group.key) is not None:
        return False
    alike = len({tuple(sorted(pod.requests.items())) for pod in group.pending}) == 1
    plain = not (group.topology or group.slice_topology or group.parent)
    owned = any(pod.controller is not None for pod in group.pending)
    claims = any(pod.wants_devices for pod in group.pending)
    simple = alike and plain and not owned and not claims and group.kind != "CompositePodGroup"
    return simple and len(group.pending) <= MOST_SETS and _has_waited(case, rules, group)


def _lacks_only_room(verdict: Doc) -> bool:
    categories = {one.text("category") for one in verdict.docs("blockers")}
    return verdict.text("verdict") == "Waiting" and categories == {"Capacity"}


def _has_waited(case: Case, rules: AskRules, group: Group) -> bool:
    created = [pod.created for pod in group.members if pod.created is not None]
    return not created or thousandths(min(created)) + rules.after <= (case.now or 0)


# -- what comes --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CameFor:
    """A request that is not over, and since when it has been there."""

    name: str
    group: str
    span: Span
    nodes: frozenset[str] = field(default_factory=frozenset)
    """Those that were made since then."""


def came_for(case: Case) -> dict[str, CameFor]:
    """By the names of requests."""
    found = dict[str, CameFor]()
    if not case.policy.asking.kind or case.now is None:
        return found
    for group in case.groups:
        request = request_for(case, group.key)
        made = None if request is None else request.doc("metadata").moment("creationTimestamp")
        if request is None or made is None or not group.pending or _is_over(request):
            continue
        begin = thousandths(made)
        if begin <= case.now < begin + case.policy.asking.keep:
            name, span = called(group.key), (begin, begin + case.policy.asking.keep)
            found[name] = CameFor(name, group.key, span, frozenset(_made_since(case, begin)))
    return found


def _is_over(request: Doc) -> bool:
    conditions = request.doc("status").docs("conditions")
    return any(one.text("type") in ENDED and one.text("status") == "True" for one in conditions)


def _made_since(case: Case, begin: int) -> Iterator[str]:
    for name in case.cluster.nodes:
        made = case.cluster.raw[("Node", name)].doc("metadata").moment("creationTimestamp")
        if made is not None and thousandths(made) >= begin:
            yield name


def has_strangers(case: Case, node: Node, group: str) -> bool:
    """Whether pods are on it that are not the group's, but for those that belong to nodes."""
    there = (pod for pod in case.cluster.pods.values() if pod.node_name == node.name and pod.holds)
    return any(not pod.is_daemon and case.leaf_of[pod.key].key != group for pod in there)
