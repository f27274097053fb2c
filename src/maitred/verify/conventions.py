"""Other schedulers' languages: how their labels and annotations name a group, and what they ask for it."""

import json
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
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
SEGMENTS, SEGMENT = "kai.scheduler/segment-size", "kai.scheduler/segment-topology"
LAYERS = f"{KUEUE}podset-slice-required-topology-constraints"

SAME = {
    TOPOLOGY: (
        f"{KAI}-required-placement",
        f"{KUEUE}podset-required-topology",
        "armadaproject.io/gangNodeUniformityLabel",
    ),
    PREFERRED: (f"{KAI}-preferred-placement", f"{KUEUE}podset-preferred-topology"),
    SLICE_SIZE: (SEGMENTS, f"{KUEUE}podset-slice-size"),
    SLICE_TOPOLOGY: (f"{SEGMENT}-required-placement", f"{KUEUE}podset-slice-required-topology"),
}
"""What others call our marks."""
OWN = ("maitred.dev/group", "maitred.dev/min-count", *SAME)


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
    torn: bool = False
    """It says two things of this, or one that cannot be read."""


def namings(labels: Labels, annotations: Labels) -> list[Naming]:
    said, found = {**annotations, **labels}, []
    for one in LANGUAGES:
        names = _values(one.names, labels, annotations)
        counts = _values(one.counts, labels, annotations)
        if not names or (one.title == "YuniKorn" and TASK_GROUP not in said):
            continue
        count, torn = next(iter(counts), None), len({*names}) > 1 or len({*counts}) > 1
        if one.title == "YuniKorn":
            count = _tasks(said.get(TASK_GROUPS))
            torn = len({*names}) > 1 or (count is None and TASK_GROUPS in said)
        if one.title == "Kueue" and said.get(f"{KUEUE}pod-group-fast-admission") == "true":
            count = "1"
        found.append(Naming(one.title, names[0], count, torn))
    return found


def _values(keys: tuple[str, ...], labels: Labels, annotations: Labels) -> list[str]:
    return [short(value) for key in keys for marks in (labels, annotations) if (value := marks.get(key))]


def _tasks(text: str | None) -> str | None:
    """What its task groups take; None if that is not said, or no number of members."""
    tasks = _json(text or "")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return None
    least = [task.get("minMember", 0) for task in tasks]
    numbers = all(type(one) is int and one >= 0 for one in least)
    return str(sum(least)) if numbers and 1 <= sum(least) <= 1_000_000 else None


def torn(labels: Labels, annotations: Labels) -> list[str]:
    """Marks of ours that are there in both forms, and differ."""
    differing = [key for key in OWN if len({*_values((key,), labels, annotations)}) > 1]
    return [f"label and annotation {key} differ" for key in differing]


def _json(text: str) -> Any:
    """None for what is no JSON, or is nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def all_marks(labels: Labels, annotations: Labels) -> tuple[Labels, list[str]]:
    """What is marked, with what others call our marks of topology; and what contradicts itself."""
    said, problems = {**annotations, **labels}, torn(labels, annotations)
    if f"{SEGMENT}-preferred-placement" in said and f"{SEGMENT}-required-placement" not in said:
        said.pop(SEGMENTS, None)
    for own, others in SAME.items():
        if any(said.get(key) == "" for key in others):
            problems.append(f"what another scheduler calls {own} is empty")
        values = [short(said[key]) for key in (own, *others) if key in said and (key == own or said[key])]
        if len(set(values)) > 1:
            problems.append(f"{own} is said in two ways")
        if values:
            said[own] = values[0]
        if "" in values:
            problems.append(f"{own} is empty")
    for key, read in ((LAYERS, _layers), (GATHER, _gathered)):
        found = read(said[key]) if key in said else {}
        if found is None:
            problems.append(f"{key} cannot be read")
        for own, value in (found or {}).items():
            if said.setdefault(own, value) != value:
                problems.append(f"{own} is said in two ways")
    return said, problems


def _layers(text: str) -> Labels | None:
    """The narrowest of Kueue's slices within slices."""
    try:
        layers = [(layer["topology"], layer["size"]) for layer in _json(text)]
    except (TypeError, KeyError):
        return None
    levels, sizes = [level for level, _ in layers], [size for _, size in layers]
    whole = all(type(size) is int and 1 <= size <= 1_000_000 for size in sizes)
    named = all(isinstance(level, str) and level for level in levels)
    if not 1 <= len(layers) <= 3 or not whole or not named or len({*levels}) < len(levels):
        return None
    if any(wide % narrow for wide, narrow in pairwise(sizes)):
        return None
    return {SLICE_SIZE: str(sizes[-1]), SLICE_TOPOLOGY: levels[-1]}


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


def foreign_quorum(doc: Doc | None, title: str) -> int | None:
    """What a PodGroup of another scheduler says; None if there is none, or it says nothing."""
    spec = Doc(None, "") if doc is None else doc.doc("spec")
    if title == "KAI" and spec.given("minMember"):
        return max(1, spec.integer("minMember"))
    if title == "KAI" and spec.given("minSubGroup"):
        return _of_parts(spec)
    count = spec.integer("minMember")
    return count if count > 0 else None


def wrong_parts(doc: Doc) -> bool:
    """Whether a PodGroup of KAI counts both members and parts, or more parts than it has."""
    spec = doc.doc("spec")
    there = [part for part in spec.docs("subGroups") if not part.text("parent")]
    counted = spec.given("minSubGroup")
    return counted and (spec.given("minMember") or spec.integer("minSubGroup") > len(there))


def _of_parts(spec: Doc) -> int | None:
    """Members of the smallest parts of a PodGroup of KAI, as many as it takes; None for parts in a circle."""
    parts = {part.text("name"): part for part in spec.docs("subGroups")}
    inside: dict[str, list[str]] = {}
    for name, part in parts.items():
        inside.setdefault(part.text("parent"), []).append(name)
    known: dict[str, int] = {}
    try:
        for name in TopologicalSorter(inside).static_order():
            known[name] = _smallest(parts.get(name, spec), [known[inner] for inner in inside.get(name, ())])
    except CycleError:
        return None
    return max(1, known.get("", 0))


def _smallest(part: Doc, inner: list[int]) -> int:
    wanted = part.integer("minSubGroup") if part.given("minSubGroup") else None
    return sum(sorted(inner)[:wanted]) if inner else part.integer("minMember")


def foreign_topology(doc: Doc, title: str) -> tuple[str, str, bool]:
    """The level that it requires, the one that it prefers, and whether that can be read."""
    spec = doc.doc("spec")
    if title == "KAI":
        wanted = spec.doc("topologyConstraint")
        return wanted.text("requiredTopologyLevel"), wanted.text("preferredTopologyLevel"), True
    if title != "Volcano" or not spec.given("networkTopology"):
        return "", "", True
    wanted = spec.doc("networkTopology")
    name, mode = wanted.text("highestTierName"), wanted.text("mode", "hard")
    if mode == "soft":
        return "", name, True
    return (name, "", bool(name)) if mode == "hard" else ("", "", False)
