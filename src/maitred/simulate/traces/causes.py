"""Why things break: how often each cause was counted, and what it takes with it."""

from dataclasses import dataclass
from typing import Literal

from maitred.model.manifest.errors import InputError
from maitred.simulate.traces.rows import rows

Breaks = Literal["device", "node", "rack", "software"]
"""What goes down: one device, its node, all nodes at its switch, or only what runs on the node."""


@dataclass(frozen=True, slots=True)
class Cause:
    name: str
    breaks: Breaks
    count: int


USUAL = (
    Cause("Faulty GPU", "device", 148),
    Cause("GPU HBM3 Memory", "device", 72),
    Cause("Software Bug", "software", 54),
    Cause("Network Switch/Cable", "rack", 35),
    Cause("Host Maintenance", "node", 32),
    Cause("GPU SRAM Memory", "device", 19),
    Cause("GPU System Processor", "device", 17),
    Cause("NIC", "node", 7),
    Cause("NCCL Watchdog Timeouts", "software", 7),
    Cause("Silent Data Corruption", "device", 6),
    Cause("GPU Thermal Interface + Sensor", "device", 6),
    Cause("SSD", "node", 3),
    Cause("Power Supply", "node", 3),
    Cause("Server Chassis", "node", 2),
    Cause("IO Expansion Board", "node", 2),
    Cause("Dependency", "software", 2),
    Cause("CPU", "node", 2),
    Cause("System Memory", "node", 2),
)
"""What interrupted the training of Llama 3 405B in 54 days on 16,384 GPUs (arXiv 2407.21783, table 5)."""

CATEGORIES: dict[str, Breaks] = {
    "GPU": "device",
    "Host": "node",
    "Unplanned Maintenance": "node",
    "Network": "rack",
    "Dependency": "software",
    "Unknown": "software",
}


def read_causes(data: bytes, source: str) -> tuple[Cause, ...]:
    causes = list[Cause]()
    for row in rows(data, source, ("component", "category", "count")):
        breaks = CATEGORIES.get(row.text("category"))
        if breaks is None:
            known = ", ".join(CATEGORIES)
            raise row.refuse("category", f"{row.text('category')[:40]!r} is not one of {known}")
        causes.append(Cause(row.text("component"), breaks, row.whole("count")))
    if not any(cause.count for cause in causes):
        raise InputError(source, "", "count", "has no failure in it")
    return tuple(causes)
