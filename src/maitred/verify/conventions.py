"""Other schedulers' languages: how their labels and annotations name a group, and what they ask for it."""

import json
from dataclasses import dataclass
from typing import Any

from .fields import Doc
from .selectors import Labels

TOPOLOGY = "maitred.dev/topology-required"
PREFERRED = "maitred.dev/topology-preferred"
SLICE_SIZE = "maitred.dev/slice-size"
SLICE_TOPOLOGY = "maitred.dev/slice-topology"
TASK_GROUPS = "yunikorn.apache.org/task-groups"
TASK_GROUP = "yunikorn.apache.org/task-group-name"
GATHER = "gang.scheduling.koordinator.sh/network-topology-spec"
KUEUE = "kueue.x-k8s.io/"
KAI = "kai.scheduler/topology"

SAME = {
    TOPOLOGY: (
        f"{KAI}-required-placement",
        f"{KUEUE}podset-required-topology",
        "armadaproject.io/gangNodeUniformityLabel",
    ),
    PREFERRED: (f"{KAI}-preferred-placement", f"{KUEUE}podset-preferred-topology"),
    SLICE_SIZE: (f"{KUEUE}podset-slice-size",),
    SLICE_TOPOLOGY: (f"{KUEUE}podset-slice-required-topology",),
}
"""What others call our marks."""


@dataclass(frozen=True)
class Language:
    title: str
    names: tuple[str, ...]
    counts: tuple[str, ...] = ()
    group: str = ""
    """The API group of its PodGroups."""


LANGUAGES = (
    Language("Coscheduling", ("scheduling.x-k8s.io/pod-group",), group="scheduling.x-k8s.io"),
    Language(
        "Volcano",
        ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name"),
        ("scheduling.volcano.sh/group-min-member",),
        "scheduling.volcano.sh",
    ),
    Language("KAI", ("pod-group-name",), ("kai.scheduler/batch-min-member",), "scheduling.run.ai"),
    Language(
        "Koordinator",
        (
            "gang.scheduling.koordinator.sh/name",
            "pod-group.scheduling.sigs.k8s.io/name",
            "pod-group.scheduling.sigs.k8s.io",
        ),
        ("gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available"),
        "scheduling.sigs.k8s.io",
    ),
    Language("YuniKorn", ("yunikorn.apache.org/app-id", "applicationId")),
    Language("Kueue", (f"{KUEUE}pod-group-name",), (f"{KUEUE}pod-group-total-count",)),
    Language("Armada", ("armadaproject.io/gangId",), ("armadaproject.io/gangCardinality",)),
    Language("Gödel", ("godel.bytedance.com/pod-group-name",), group="scheduling.godel.kubewharf.io"),
)
"""In the order in which they count."""
BY_TITLE = {one.title: one for one in LANGUAGES}
LONGEST, KEPT = 1024, 64
"""Characters of a mark. Of a longer one the first few are kept, and how many there were."""


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:KEPT]}... ({len(text)} characters)"


@dataclass(frozen=True)
class Naming:
    """A group that a pod names, and how many members it says that the group takes."""

    title: str
    name: str
    count: str | None


def namings(labels: Labels, annotations: Labels) -> list[Naming]:
    all_said = {**annotations, **labels}
    said = {key: value for key, value in all_said.items() if value}
    found = []
    for one in LANGUAGES:
        name = next((short(said[key]) for key in one.names if key in said), None)
        if name is None or (one.title == "YuniKorn" and TASK_GROUP not in all_said):
            continue
        count = next((short(said[key]) for key in one.counts if key in said), None)
        if one.title == "YuniKorn":
            count = _tasks(all_said.get(TASK_GROUPS))
        if one.title == "Kueue" and said.get(f"{KUEUE}pod-group-fast-admission") == "true":
            count = "1"
        found.append(Naming(one.title, name, count))
    return found


def _tasks(text: str | None) -> str | None:
    if text is None:
        return None
    tasks = _json(text)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return short(text)
    counts = [task.get("minMember", 0) for task in tasks]
    if not all(type(count) is int for count in counts):
        return short(text)
    return str(min(1_000_000, sum(max(0, count) for count in counts)))


def _json(text: str) -> Any:
    """None for what is no JSON, or is nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def all_marks(labels: Labels, annotations: Labels) -> tuple[Labels, list[str]]:
    """What is marked, with what others call our marks of topology; and what contradicts itself."""
    said, problems = {**annotations, **labels}, list[str]()
    for own, others in SAME.items():
        values = [short(said[key]) for key in (own, *others) if key in said]
        if len(set(values)) > 1:
            problems.append(f"{own} is said in two ways")
        if values:
            said[own] = values[0]
        if "" in values:
            problems.append(f"{own} is empty")
    if GATHER in said:
        gathered = _gathered(said[GATHER])
        if gathered is None:
            problems.append(f"{GATHER} cannot be read")
        for key, value in (gathered or {}).items():
            if said.setdefault(key, value) != value:
                problems.append(f"{key} is said in two ways")
    return said, problems


def _gathered(text: str) -> Labels | None:
    spec = _json(text)
    rules = spec.get("gatherStrategy", []) if isinstance(spec, dict) else None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        return None
    layers = [(rule.get("strategy", ""), rule.get("layer", "")) for rule in rules]
    if not all(isinstance(word, str) for pair in layers for word in pair):
        return None
    must = [layer for strategy, layer in layers if strategy == "MustGather"]
    prefer = [layer for strategy, layer in layers if strategy == "PreferGather"]
    if len(must) + len(prefer) < len(layers) or len(must) > 1:
        return None
    found = {TOPOLOGY: short(must[0])} if must else {}
    return found | ({PREFERRED: short(",".join(prefer))} if prefer else {})


def foreign_quorum(doc: Doc | None) -> int | None:
    """What a PodGroup of another scheduler says; None if there is none, or it says nothing."""
    count = 0 if doc is None else doc.doc("spec").integer("minMember")
    return count if count > 0 else None


def foreign_topology(doc: Doc, title: str) -> tuple[str, str, bool]:
    """The level that it requires, the one that it prefers, and whether that can be read."""
    spec = doc.doc("spec")
    if title == "KAI":
        wanted = spec.doc("topologyConstraint")
        return wanted.text("requiredTopologyLevel"), wanted.text("preferredTopologyLevel"), True
    if title != "Volcano" or not spec.given("networkTopology"):
        return "", "", True
    wanted = spec.doc("networkTopology")
    name = wanted.text("highestTierName")
    if wanted.text("mode", "hard") == "soft":
        return "", name, True
    return name, "", bool(name)
