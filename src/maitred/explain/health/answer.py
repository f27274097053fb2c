"""What `maitred health` answers, as data; its tables are made from this alone.

{"apiVersion": "maitred.dev/v1alpha1", "kind": "Health", "at": "2026-01-31T12:00:00Z",
 "nodes": 64, "pods": 500, "about": "",
 "unwell": [{"node": "r3-n02", "state": "Lost", "family": "Infrastructure", "certainty": "certain",
             "since": "...", "words": "does not answer", "more": "...", "groups": ["ns/g"],
                 "signals": [...]}],
 "hurt":   [{"group": "ns/g", "working": 3, "members": 4, "quorum": 4, "family": "Infrastructure",
             "words": "...", "more": "...", "signals": [...], "healing": "..."}],
 "lemons": [{"node": "r3-n07", "since": "...", "tainted": true, "evidence": ["..."]}],
 "unknown": [{"condition": "Foo", "status": "True", "nodes": 2, "node": "r1-n01"}],
 "ignored": [{"name": "ns/pod", "words": "..."}], "notes": []}
"""

from typing import Literal

from maitred.model.health.signals import Certainty, Family, Signal
from maitred.model.meta import Timestamp
from maitred.model.plan import Record
from maitred.model.policy import API_VERSION

NodeState = Literal["Lost", "Unwell", "Suspected", "Leaving"]
"""`Lost`: its pods do not work, or are not known to. `Suspected`: only that groups fail on it speaks against
it. `Leaving`: it works, and will go."""


class NodeHealth(Record, frozen=True):
    node: str
    state: NodeState
    family: Family
    certainty: Certainty
    since: Timestamp | None
    words: str
    more: str
    """What to do, or what would tell more."""
    signals: tuple[Signal, ...]
    groups: tuple[str, ...]
    """Those with members on it,"""
    elsewhere: int = 0
    """and how many more, in namespaces that the reader may not see."""


class GroupHealth(Record, frozen=True):
    group: str
    members: int
    working: int
    """Members that have a node which is not lost, or have succeeded."""
    quorum: int
    below: bool
    """Whether it has fewer than its quorum; of a tree, whether a part has."""
    family: Family
    certainty: Certainty
    since: Timestamp | None
    words: str
    more: str
    """The same."""
    signals: tuple[Signal, ...]
    """The strongest first."""
    all_signals: int
    """How many there are, also those that are left out."""
    healing: str = ""
    """What the scheduler does about it, or why it does nothing; empty if it has nothing to decide."""


class LemonNode(Record, frozen=True):
    """A node that fails again and again."""

    node: str
    since: Timestamp
    """When it was named."""
    tainted: bool
    evidence: tuple[str, ...] = ()
    """Its last failures."""


class UnknownCondition(Record, frozen=True):
    """Of nodes, of a type that maitred does not know. It counts for nothing."""

    condition: str
    status: str
    nodes: int
    node: str
    """The first of them."""


class Ignored(Record, frozen=True):
    """What was said and counts for nothing."""

    name: str
    """A node, or a pod as namespace/name."""
    words: str


class FleetHealth(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Health"
    at: str = ""
    nodes: int = 0
    pods: int = 0
    about: str = ""
    """The one node or group that was asked about; empty for all."""
    unwell: tuple[NodeHealth, ...] = ()
    hurt: tuple[GroupHealth, ...] = ()
    elsewhere: int = 0
    """Groups that are hurt in namespaces that the reader may not see."""
    lemons: tuple[LemonNode, ...] = ()
    unknown: tuple[UnknownCondition, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be read."""
