"""From signals to a verdict: in which family a fault belongs, on what evidence, and what would tell more.

- A member that fails on different nodes takes its fault along: it is the code of the group, never a node.
- Groups of at least three namespaces that fail on one node, and nowhere else, speak against the node. Fewer
  do not, whatever they write: tenants can make their own pods fail.
- What a node says of itself counts as it is, and explains what fails on it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from maitred.cluster.snapshot import JOB_SPAN, NO_INDEX
from maitred.decide.healing.members import FAILING, HealthMembers, MemberFailure
from maitred.model.health.signals import Certainty, Family, Signal, strength
from maitred.model.meta import Timestamp
from maitred.model.words import counted

FEWEST_NAMESPACES = 3
NAMES_SHOWN = 3
FAULTS: tuple[Family, ...] = ("Device", "Infrastructure", "OwnCode", "Unknown")
"""Something is broken. Of equal certainty, the first counts."""
MILDER: tuple[Family, ...] = ("Degradation", "Notice")
HARD: tuple[Family, ...] = ("Device", "Infrastructure")


class FaultVerdict(NamedTuple):
    family: Family
    certainty: Certainty
    words: str
    more: str
    since: Timestamp | None


def worst(signals: Iterable[Signal]) -> Signal:
    """Faults before what is milder; the surest first."""

    def rank(one: Signal) -> tuple[int, int, int, str]:
        mild = one.family in MILDER
        order = (MILDER if mild else FAULTS).index(one.family)
        return (mild and 1 + order, strength(one), order, f"{one.node} {one.pod} {one.kind} {one.device}")

    return min(signals, key=rank)


def earliest(signals: Iterable[Signal]) -> Timestamp | None:
    return min((one.since for one in signals if one.since is not None), default=None)


def names(found: Collection[str]) -> str:
    shown = sorted(found)[:NAMES_SHOWN]
    rest = len(found) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


# -- nodes ---------------------------------------------------------------------------------------------


def suspicion(node: str, failing: Sequence[HealthMembers], running: int) -> Signal | None:
    """Against a node that says nothing of itself. `running` are the groups with members there that do not
    fail: if these are many, the node may well be fine."""
    namespaces = {group.namespace for group in failing}
    if len(namespaces) < FEWEST_NAMESPACES:
        return None
    found = [one.signal for group in failing for one in group.failures if one.signal.kind in FAILING]
    words = (
        f"{counted(len(failing), 'group')} of {len(namespaces)} namespaces fail on it and nowhere else"
        + (
            f"; {counted(running, 'other group')} {'runs' if running == 1 else 'run'} on it"
            if running
            else ""
        )
    )
    return Signal(
        kind="GroupsFail",
        family="Infrastructure",
        certainty="likely" if running < len(failing) else "possible",
        about="node",
        words=words,
        node=node,
        since=earliest(found),
        evidence={"groups": len(failing), "namespaces": len(namespaces), "running": running},
    )


# -- groups --------------------------------------------------------------------------------------------


def hard_faults(nodes: Mapping[str, Sequence[Signal]]) -> dict[str, list[Signal]]:
    found = {node: [one for one in signals if one.family in HARD] for node, signals in nodes.items()}
    return {node: signals for node, signals in found.items() if signals}


def verdict_of(group: HealthMembers, hard: Mapping[str, Sequence[Signal]]) -> FaultVerdict:
    failures = [one for one in group.failures if one.signal.kind in (*FAILING, "OutOfMemory")]
    travelling = _travelling([one for one in failures if one.node not in hard])
    if travelling is not None:
        return travelling
    if not group.signals:
        return _short_of_members(group)
    own = worst(_weighed(group, failures))
    causes = [signal for one in failures for signal in hard.get(one.node, ())]
    cause = worst(causes) if causes else own
    if own.family not in HARD and cause is not own and strength(cause) <= strength(own):
        return _on_unwell_node(cause, [one for one in failures if one.node == cause.node])
    verdict = _as_seen(group, own)
    if own.kind == "SlowStep" and own.node in hard:
        verdict = verdict._replace(words=f"{verdict.words}; {own.node} {worst(hard[own.node]).words}")
    return verdict


def _travelling(failures: Sequence[MemberFailure]) -> FaultVerdict | None:
    """The same member failed on several nodes that are well; or different members did, in the same way."""
    by_index = defaultdict[int, list[MemberFailure]](list)
    alike = defaultdict[tuple[str, str], list[MemberFailure]](list)
    for one in failures:
        by_index[one.index].append(one)
        alike[one.signal.kind, str(one.signal.evidence.get("exitCode", ""))].append(one)
    for index in sorted(by_index.keys() - {NO_INDEX}):
        nodes = {one.node for one in by_index[index]}
        if len(nodes) > 1:
            member = f"member {index % JOB_SPAN}"
            words = f"{member} failed on {names(nodes)}: the fault goes with the member, not with a node"
            return _own_code(by_index[index], "certain", words)
    for _, found in sorted(alike.items()):
        nodes = {one.node for one in found}
        if len(nodes) > 1 and found[0].signal.kind in ("Exit", "OutOfMemory"):
            words = f"{counted(len(found), 'pod')} failed alike on {names(nodes)}: {found[0].signal.words}"
            return _own_code(found, "likely", words)
    return None


def _own_code(failures: Sequence[MemberFailure], certainty: Certainty, words: str) -> FaultVerdict:
    signals = [one.signal for one in failures]
    return FaultVerdict(
        "OwnCode", certainty, words, f"read its log: {_log_of(signals[-1])}", earliest(signals)
    )


def _weighed(group: HealthMembers, failures: Sequence[MemberFailure]) -> list[Signal]:
    """The signals of the group as they count: an exit code from one node alone may be the node's doing."""
    one_node = len({one.node for one in failures}) < 2
    return [
        replace(one, certainty="possible") if one_node and one.kind == "Exit" else one
        for one in group.signals
    ]


def _short_of_members(group: HealthMembers) -> FaultVerdict:
    working = f"{counted(group.working, 'member')} {'works' if group.working == 1 else 'work'}"
    words = f"{working}, and it needs {group.quorum}: no signal says why the others are missing"
    return FaultVerdict("Unknown", "possible", words, f"ask what it waits for: maitred why {group.key}", None)


def _on_unwell_node(cause: Signal, failures: Sequence[MemberFailure]) -> FaultVerdict:
    failed = counted(len(failures), "member")
    words = f"{failed} failed on {cause.node}, which {cause.words}"
    if cause.kind == "GroupsFail":
        words = f"{failed} failed on {cause.node}, on which groups of other namespaces fail too"
    since = earliest([cause, *(one.signal for one in failures)])
    return FaultVerdict(cause.family, cause.certainty, words, more_words(cause), since)


def _as_seen(group: HealthMembers, first: Signal) -> FaultVerdict:
    alike = [one for one in group.signals if one.kind == first.kind and one.family == first.family]
    if first.about == "node":
        there = f"{counted(group.places[first.node], 'member')} on {first.node}"
        words = f"{there}: {first.words}" if first.family == "Notice" else f"{there}, which {first.words}"
        nodes = {one.node for one in alike}
        if len(nodes) > 1:
            words += f"; the same on {names(nodes - {first.node})}"
    else:
        words = f"{_called(first)}: {first.words}"
        more = len({one.pod for one in alike}) - 1
        words += f"; so it is with {counted(more, 'other member')}" if more > 0 else ""
    return FaultVerdict(first.family, first.certainty, words, more_words(first), earliest(alike))


def _called(signal: Signal) -> str:
    """A device that all members have claimed is nobody's alone."""
    name = signal.pod.partition("/")[2] or "the group"
    return f"{name} on {signal.node}" if signal.node else name


# -- what would tell more ------------------------------------------------------------------------------


def _log_of(signal: Signal) -> str:
    namespace, _, name = signal.pod.partition("/")
    return f"kubectl logs -n {namespace} {name}{' --previous' if 'restarts' in signal.evidence else ''}"


def _describe(signal: Signal) -> str:
    namespace, _, name = signal.pod.partition("/")
    return f"kubectl describe pod -n {namespace} {name}"


def more_words(signal: Signal) -> str:
    if "helps" in signal.evidence:
        return str(signal.evidence["helps"])
    match signal.kind:
        case "Exit":
            elsewhere = "run it on another node: if it fails there too, it is its own code"
            return f"{elsewhere}; its log: {_log_of(signal)}"
        case "OutOfMemory":
            return f"compare the memory that it uses with its limit; its log: {_log_of(signal)}"
        case "Killed" | "Evicted" | "Refused" | "NotStarted" | "Image" | "Config":
            return f"read its events: {_describe(signal)}"
        case "SlowStep":
            return "run it on another node: if it is slow there too, its share of the work is larger"
        case "Spot" | "Maintenance" | "Removal":
            return "save a checkpoint: the node goes whether or not its pods are ready for that"
        case "DevicesUnhealthy" | "DeviceReported":
            return f"drain {signal.node} and have the device repaired; see also its driver's log"
        case "PluginSilent" | "PluginMissing":
            return f"look at the pod of the device plugin on {signal.node}"
        case "Cordon":
            return f"kubectl uncordon {signal.node} when its maintenance is over"
        case "GroupsFail":
            return f"cordon {signal.node} and test it: if the groups work elsewhere, it is the node"
        case "DeviceTainted" | "DeviceGone":
            return "look at the driver that publishes the device: kubectl get resourceslices -o yaml"
    return f"look at the node: kubectl describe node {signal.node}"
