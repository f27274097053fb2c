"""Plans that make room, by hand."""

from maitred.model.plan import Bind, Departure, Eviction, GroupVerdict, Plan, Receipt, Toll


def eviction(
    name: str, *, preemptor: str = "default/g", group: str | None = None, job: str = "", hours: float = 0.0
) -> Eviction:
    """Of a pod of the default namespace, with its Job if one is named."""
    words = f"Job {job} is suspended, and maitred resumes it when it fits again"
    suspended = Departure(f"Job {job}", "suspend", True, words)
    deleted = Departure("", "delete", None, "it has no controller, so it is not created again")
    receipt = Receipt(
        unit=group or f"default/{name}",
        rule="priority 100 is higher than 10",
        priority=10,
        preemptor_priority=100,
        work_lost_device_hours=hours,
        lost_since="2026-01-01T00:00:00Z" if hours else None,
        budgets=(),
        departure=suspended if job else deleted,
        toll=Toll(),
    )
    return Eviction(f"default/{name}", f"default-{name}", group, preemptor, "Preemption", receipt)


def seat(name: str, node: str, group: str = "default/g") -> Bind:
    return Bind(f"default/{name}", f"default-{name}", node, group)


def preempting(*evictions: Eviction, seats: tuple[Bind, ...], group: str = "default/g") -> Plan:
    verdict = GroupVerdict(group, "Preempting", len(seats), len(seats), 0)
    return Plan(nominations=seats, evictions=evictions, groups=(verdict,))
