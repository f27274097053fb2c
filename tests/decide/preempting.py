"""Preemption in tests: what is in the cluster before it, and who was evicted for whom.

The preemptor is the group ``g`` of priority 100, its victims are called ``low-0`` and so on and have priority
10, unless a case says otherwise. Nodes have the CPUs that a case gives them, and pods ask for one.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from maitred.verify import verify
from tests.decide.reading import full
from tests.oracle.builders import Labels, Moment, Obj, lean, metadata, moment, pod, pod_group, pods
from tests.support import decide

HIGH, LOW = 100, 10
NOW = "2026-01-02T00:00:00Z"
NOON = 12 * 3600
"""Half a day before NOW, in seconds as `moment` counts them."""


# ---- what is there before


def gang(count: int, *args: Any, **fields: Any) -> list[Obj]:
    """The preemptor: a gang that needs all of its members."""
    return party(count, count, *args, **fields)


def party(
    quorum: int | None, count: int, cpu: str | int = 1, *, group: Obj | None = None, **fields: Any
) -> list[Obj]:
    """The preemptor, with a quorum of its own; None for a basic group."""
    named = {"priority": HIGH, "created": 1, **fields}
    shared = {name: named[name] for name in ("priority", "preemption") if name in named}
    return [pod_group("g", quorum, **shared, **(group or {})), *pods("g", count, cpu, group="g", **named)]


def lone(cpu: str | int = 1, **fields: Any) -> Obj:
    """A preemptor that is a group of one; it is reported under its own name."""
    return pod("lone", cpu, **{"priority": HIGH, "created": 1, **fields})


def low(count: int, on: str = "n1", cpu: str | int = 1, name: str = "low", **fields: Any) -> list[Obj]:
    """Lone pods of low priority that run on a node."""
    return [running(f"{name}-{i}", on, cpu, **fields) for i in range(count)]


def running(name: str, on: str, cpu: str | int = 1, *, started: Moment = 0, **fields: Any) -> Obj:
    made = pod(name, cpu, node=on, **{"priority": LOW, "created": 0, **fields})
    made["status"].update(lean(startTime=moment(started)))
    return made


def band(name: str, on: Iterable[str], quorum: int | None = None, **fields: Any) -> list[Obj]:
    """A group that runs, a member on each of these nodes; ``mode`` is its disruption mode."""
    priority = fields.pop("priority", LOW)
    keys = ("disruption", "annotations", "spec", "api")
    group = {key: fields.pop(key) for key in keys if key in fields}
    own = {"priority": priority, **fields}
    members = [running(f"{name}-{i}", node, group=name, **own) for i, node in enumerate(on)]
    return [pod_group(name, quorum, priority=priority, **group), *members]


def nominated(objects: list[Obj], *nodes: str) -> list[Obj]:
    """The waiting members of the preemptor, in order, with a place that was promised to each."""
    waiting = [item for item in objects if item["kind"] == "Pod" and not item["spec"].get("nodeName")]
    for item, node in zip(waiting, nodes, strict=True):
        item["status"]["nominatedNodeName"] = node
    return objects


def leaving(objects: list[Obj], grace: int = 30) -> list[Obj]:
    """The same pods, terminating."""
    for item in objects:
        if item["kind"] == "Pod":
            item["metadata"].update(deletionTimestamp=NOW, deletionGracePeriodSeconds=grace)
    return objects


def budget(
    match: Labels | None = None,
    *,
    name: str = "budget",
    allowed: int | None = None,
    disrupted: Iterable[str] = (),
    **spec: Any,
) -> Obj:
    """A PodDisruptionBudget; ``allowed`` is what its controller says, if it has looked at it."""
    status = {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, NOW)}
    selector = {} if match is None else {"selector": {"matchLabels": dict(match)} if match else {}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name, "default"),
        "spec": {**selector, **spec},
        **({} if allowed is None else {"status": status}),
    }


def job(name: str, size: int, **spec: Any) -> Obj:
    body = {"parallelism": size, "completions": size, "completionMode": "Indexed", **spec}
    meta = {**metadata(name, "default"), "uid": f"job-{name}"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {"template": {"spec": {"containers": [{"name": "main"}]}}, **body},
        "status": {"active": size},
    }


# ---- what came of it


def decided(objects: list[Obj], **more: Any) -> Obj:
    """The Plan, which also the independent checker has nothing to say against."""
    told = {"now": NOW, **more}
    plan = decide(objects, **told)
    at = datetime.fromisoformat(told["now"])
    breaches = verify(objects, plan, told.get("policy"), told.get("scheduler"), at)
    assert not breaches, "\n".join(f"{b.name}: {b.subject}: {b.message}" for b in breaches)
    return plan


def evicted(plan: Obj, preemptor: str | None = None) -> list[str]:
    return sorted(
        eviction["pod"].removeprefix("default/")
        for eviction in plan["evictions"]
        if preemptor is None or eviction["for"] == full(preemptor)
    )


def nominations(plan: Obj) -> dict[str, str]:
    """Pod -> node."""
    return {n["pod"].removeprefix("default/"): n["node"] for n in plan["nominations"]}


def receipt(plan: Obj, name: str) -> Obj:
    [found] = [e["receipt"] for e in plan["evictions"] if e["pod"] == full(name)]
    told: Obj = found
    return told


def tolls(plan: Obj) -> list[Obj]:
    """What the victims of the preemptor cost together: the same in all receipts."""
    found = [eviction["receipt"]["toll"] for eviction in plan["evictions"]]
    return [toll for i, toll in enumerate(found) if toll not in found[:i]]
