"""One thing that was seen, with its evidence."""

from typing import Any, Literal

from maitred.model.meta import Timestamp
from maitred.model.plan import Record

Family = Literal["Infrastructure", "Device", "OwnCode", "Degradation", "Notice", "Unknown"]
"""Where a fault comes from. `Infrastructure`: kubelet, device plugin, network, storage, the machine.
`OwnCode`: what runs in the container, or how it was written down. `Notice`: nothing is broken yet, and the
node will go. `Unknown`: the evidence fits several of these."""
Certainty = Literal["certain", "likely", "possible"]
CERTAINTIES: tuple[Certainty, ...] = ("certain", "likely", "possible")
"""The strongest first."""
About = Literal["node", "device", "pod"]
Kind = Literal[
    "NotReady",
    "Unreachable",
    "Closed",
    "Condition",
    "Taint",
    "GroupsFail",
    "Spot",
    "Maintenance",
    "Removal",
    "Cordon",
    "DevicesUnhealthy",
    "PluginSilent",
    "PluginMissing",
    "DeviceTainted",
    "DeviceGone",
    "DeviceReported",
    "NodeLost",
    "Refused",
    "Evicted",
    "Image",
    "Config",
    "NotStarted",
    "Exit",
    "Killed",
    "OutOfMemory",
    "SlowStep",
]
Evidence = dict[str, Any]


class Signal(Record, frozen=True):
    kind: Kind
    family: Family
    certainty: Certainty
    about: About
    words: str
    """What is wrong, without the name of what it is about."""
    node: str = ""
    device: str = ""
    """A resource such as nvidia.com/gpu, or driver/pool/device."""
    pod: str = ""
    since: Timestamp | None = None
    evidence: Evidence = {}
    """What it was read from. Texts that programs or people wrote freely are under `message` alone."""


def strength(signal: Signal) -> int:
    """The smaller, the stronger."""
    return CERTAINTIES.index(signal.certainty)
