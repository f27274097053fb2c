"""A gang with a slow member, which has just saved its work."""

from tests.decide.healing import train
from tests.oracle import builders as b
from tests.oracle.builders import Obj

NOW = "2026-01-31T12:00:00Z"
SAVED, EARLIER = "2026-01-31T11:59:30Z", "2026-01-31T11:30:00Z"
POLICY: Obj = {"healing": {"slow": {"replace": True}}}
STEPS = ("2.0", "2.1", "2.0", "9.5")


def cluster(
    saved: str | None = SAVED, nodes: int = 5, steps: tuple[str, ...] = STEPS, **more: object
) -> list[Obj]:
    """A gang of four on n1 to n4; its last member is slow."""
    members = train("n1", "n2", "n3", "n4", **more)  # type: ignore[arg-type]
    for pod, step in zip(members[1:], steps, strict=True):
        marks = pod["metadata"].setdefault("annotations", {})
        marks["maitred.dev/step-time"] = step
        if saved:
            marks["maitred.dev/last-checkpoint"] = saved
        pod.setdefault("status", {}).update(phase="Running", startTime="2026-01-31T10:00:00Z")
    return [*(b.node(f"n{i}", gpu=8) for i in range(1, nodes + 1)), *members]


def a_budget() -> Obj:
    """None of its four may be disrupted."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": b.metadata("all", "default", {}),
        "spec": {"minAvailable": 4, "selector": {}},
        "status": {"disruptionsAllowed": 0},
    }
