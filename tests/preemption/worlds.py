"""Small clusters for Hypothesis in which lesser pods sit where others would fit.

They start from the clusters that the oracles use, where every waiting member has a home that is just large
enough. Here squatters take what is free: lone pods, atomic groups and gangs of low rank, so that a group of
higher rank finds its room if they go, whatever else it asks for.
"""

from collections.abc import Iterable
from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.oracle.builders import MIN_COUNT, Obj, moment, pod, pod_group
from tests.oracle.strategies import HARMLESS, clusters

START = 1_000_000
"""When everybody who runs started, give or take; in seconds since the start of 2026."""
RANKS = (1, 5, 10)
LOW = (-2, -1, 0)
UNITS = ("lone", "lone", "atomic", "gang", "spare", "basic")
MARKS: tuple[dict[str, str], ...] = (
    *({},) * 8,
    {"maitred.dev/non-preemptible": "true"},
    {"maitred.dev/min-runtime": "1h"},
    {"maitred.dev/min-runtime": "400d"},
    {"maitred.dev/last-checkpoint": "2026-01-20T00:00:00Z"},
    {"maitred.dev/last-checkpoint": "2036-01-01T00:00:00Z"},
    {"maitred.dev/checkpoint-interval": "soon"},
)
YEARS = 10 * 365 * 86_400
DELETIONS = (*(None,) * 6, (30, 86_400), (30, 0), (YEARS, YEARS))
"""The grace period that was given, and by when the pod is to be gone, in seconds after START."""


@st.composite
def squatted(
    draw: DrawFn,
    features: Iterable[str] = HARMLESS,
    max_nodes: int = 5,
    max_groups: int = 3,
    marks: bool = True,
    surplus: bool = True,
) -> list[Obj]:
    """Without `surplus` every group is seated whole or not at all."""
    objects = draw(clusters(max_nodes, 4, max_groups, features, min_nodes=2))
    ranks = {name: draw(st.sampled_from(RANKS)) for name in sorted(_group_names(objects))}
    ranked = [_ranked(obj, ranks) for obj in objects]
    found = [*ranked, *_squatters(draw, ranked, marks), *_budgets(draw)]
    return found if surplus else [_whole(obj, found) for obj in found]


@st.composite
def lingered(draw: DrawFn, features: Iterable[str] = HARMLESS) -> list[Obj]:
    """The same, where some who run are being deleted, and were given seconds or years for that.

    After a day, when these worlds are decided, some of them are on their way out and some are late."""
    return [_deleted(obj, draw(st.sampled_from(DELETIONS))) for obj in draw(squatted(features))]


def _deleted(obj: Obj, deletion: tuple[int, int] | None) -> Obj:
    if deletion is None or obj["kind"] != "Pod" or "nodeName" not in obj["spec"]:
        return obj
    grace, due = deletion
    dying = {"deletionTimestamp": moment(START + due), "deletionGracePeriodSeconds": grace}
    return {**obj, "metadata": {**obj["metadata"], **dying}}


def _whole(obj: Obj, objects: list[Obj]) -> Obj:
    """The same group, or pod of a group that its members declare, with a quorum of all members."""
    count = sum(other["kind"] == "Pod" and _family(other) == _family(obj) for other in objects)
    if obj["kind"] == "PodGroup":
        return {**obj, "spec": {**obj["spec"], "schedulingPolicy": {"gang": {"minCount": max(1, count)}}}}
    meta = obj["metadata"]
    said = {
        key: {MIN_COUNT: str(count)} for key in ("labels", "annotations") if MIN_COUNT in meta.get(key, {})
    }
    return {**obj, "metadata": {**meta, **{key: meta[key] | more for key, more in said.items()}}}


def _group_names(objects: Iterable[Obj]) -> set[str]:
    return {_family(obj) for obj in objects if obj["kind"] in ("Pod", "PodGroup")}


def _family(obj: Obj) -> str:
    """Members are named after their group, and pods that run alone after their node."""
    name = str(obj["metadata"]["name"])
    return name.rpartition("-")[0] if obj["kind"] == "Pod" else name


def _ranked(obj: Obj, ranks: dict[str, int]) -> Obj:
    if obj["kind"] not in ("Pod", "PodGroup"):
        return obj
    rank = ranks[_family(obj)]
    return {**obj, "spec": {**obj["spec"], "priority": rank}, **_started(obj, START)}


def _started(obj: Obj, at: int) -> Obj:
    if obj["kind"] != "Pod" or "nodeName" not in obj["spec"]:
        return {}
    return {"status": {**obj["status"], "startTime": moment(at)}}


def _squatters(draw: DrawFn, objects: list[Obj], marks: bool) -> list[Obj]:
    pieces = [
        (node["metadata"]["name"], size)
        for node in objects
        if node["kind"] == "Node"
        for size in _split(draw, free_cpu(node, objects))
    ]
    found: list[Obj] = []
    while pieces:
        kind = draw(st.sampled_from(UNITS))
        count = 1 if kind == "lone" else min(len(pieces), draw(st.integers(2, 3)))
        found += _unit(draw, kind, f"sq{len(found)}", [pieces.pop() for _ in range(count)], marks)
    return found


def free_cpu(node: Obj, objects: Iterable[Obj]) -> int:
    """Thousandths of a CPU that nobody uses."""
    name = node["metadata"]["name"]
    used = sum(
        _cpu(pod["spec"]["containers"][0]["resources"].get("requests", {}))
        for pod in objects
        if pod["kind"] == "Pod"
        and pod["spec"].get("nodeName") == name
        and pod["status"]["phase"] == "Running"
    )
    return _cpu(node["status"]["allocatable"]) - used


def _cpu(amounts: Obj) -> int:
    text = amounts.get("cpu", "0")
    return int(text[:-1]) if text.endswith("m") else int(Fraction(text) * 1000)


def _split(draw: DrawFn, amount: int) -> list[int]:
    parts = draw(st.integers(1, 2))
    return [amount // parts] * parts if amount >= 500 else []


def _unit(draw: DrawFn, kind: str, name: str, seats: list[tuple[str, int]], marks: bool) -> list[Obj]:
    rank, own = draw(st.sampled_from(LOW)), draw(st.sampled_from(MARKS)) if marks else {}
    app = draw(st.sampled_from(("web", "batch")))
    begun = START + draw(st.integers(0, 20)) * 600
    scheduler = draw(st.sampled_from((None, None, "other")))
    quorum = {"basic": None, "spare": max(1, len(seats) - 1)}.get(kind, len(seats))
    pods = [
        pod(
            f"{name}-{number}",
            f"{size}m",
            node=node,
            priority=rank,
            group=None if kind == "lone" else name,
            labels={"pdb": app},
            annotations=own if kind == "lone" else None,
            scheduler=scheduler,
            created=begun,
        )
        for number, (node, size) in enumerate(seats)
    ]
    running = [{**one, **_started(one, begun)} for one in pods]
    if kind == "lone":
        return running
    mode = "all" if kind == "atomic" else None
    return [pod_group(name, quorum, disruption=mode, priority=rank, annotations=own), *running]


def _budgets(draw: DrawFn) -> list[Obj]:
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"namespace": "default", "name": app},
            "spec": {"selector": {"matchLabels": {"pdb": app}}, "maxUnavailable": draw(st.integers(0, 2))},
        }
        for app in draw(st.lists(st.sampled_from(("web", "batch")), unique=True))
    ]
