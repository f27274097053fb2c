"""What maitred says of the same objects: the engine, and the checker that shares no code with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from maitred.verify import verify
from tests.devices.made import SPACE
from tests.support import decide

Obj = dict[str, Any]

PLACEMENT_LAWS = range(1, 4)
"""Those of amounts, gangs and constraints; the others are about words and evictions."""


@dataclass(frozen=True)
class Ours:
    node: str | None
    claims: tuple[Obj, ...] = ()
    """Those of the Plan: `{claim, allocation, reservedFor}`."""
    why_not: str = ""
    faults: tuple[str, ...] = field(default=())
    """What the checker finds wrong with the Plan."""

    def allocations(self, names: Iterable[str]) -> dict[str, Obj]:
        """Of these claims, by name."""
        found = {item["claim"].removeprefix(f"{SPACE}/"): item["allocation"] for item in self.claims}
        return {name: found[name] for name in names if name in found}


def decided(objects: list[Obj], pod: str) -> Ours:
    try:
        plan = decide(objects)
    except Exception as error:  # a difference like others: it must not hide them
        return Ours(None, faults=(f"there is none, the engine fails: {error!r}",))
    faults = _faults(objects, plan)
    for bind in plan["binds"]:
        if bind["pod"] == f"{SPACE}/{pod}":
            return Ours(bind["node"], tuple(plan["claims"]), faults=faults)
    blockers = [blocker["message"] for group in plan["groups"] for blocker in group["blockers"]]
    return Ours(None, why_not="; ".join(blockers), faults=faults)


def faults_of(objects: list[Obj], pod: Obj, node: str, allocations: Mapping[str, Obj]) -> tuple[str, ...]:
    """What the checker finds wrong with what kube-scheduler did: nothing, if both are right."""
    key, uid = f"{SPACE}/{pod['metadata']['name']}", pod["metadata"]["uid"]
    user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": uid}
    claims = [
        {"claim": f"{SPACE}/{name}", "allocation": allocation, "reservedFor": [user]}
        for name, allocation in allocations.items()
    ]
    entry = {"group": key, "verdict": "Scheduled", "members": 1, "quorum": 1, "placed": 1}
    lists: Obj = {name: [] for name in ("nominations", "evictions", "volumes", "warnings")}
    plan = {
        "apiVersion": "maitred.dev/v1alpha1",
        "kind": "Plan",
        "binds": [{"pod": key, "uid": uid, "node": node, "group": key}],
        "groups": [{**entry, "domains": {}, "blockers": [], "remedies": []}],
        "claims": claims,
        "wakeAt": None,
        "searchExhausted": False,
        **lists,
    }
    return _faults(objects, plan)


def _faults(objects: list[Obj], plan: Obj) -> tuple[str, ...]:
    return tuple(
        f"{breach.subject}: {breach.message}"
        for breach in verify(objects, plan)
        if breach.law in PLACEMENT_LAWS
    )
