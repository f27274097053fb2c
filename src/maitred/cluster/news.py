"""What has changed since somebody last asked, in terms of whom it may concern."""

from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Literal


class Effect(Flag):
    """Kinds of change. Each can seat groups that wait for it, and no others."""

    ROOM = auto()
    """A node came, went or changed, or load left one."""
    COMPANY = auto()
    """A pod on a node came, went or changed its labels: affinity and spread count those."""
    STORAGE = auto()
    RULES = auto()
    """Priority classes, labels of namespaces: what may concern anyone."""


NO_EFFECT = Effect(0)


@dataclass(slots=True)
class News:
    groups: set[str] = field(default_factory=set)
    """Groups whose own members or declaration changed."""
    effects: Effect = NO_EFFECT
    nodes: set[str] = field(default_factory=set)
    """Nodes that changed, or whose load did."""


@dataclass(frozen=True, slots=True)
class PodEnd:
    """A pod that holds its place no more."""

    pod: str
    group: str
    """The pod itself, where it is in no group."""
    how: Literal["Succeeded", "Failed", "Gone"]
    told_to_go: bool
    """It was being deleted, so it did not fail by itself."""
