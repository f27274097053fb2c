"""What has changed since this was last asked, in terms of which groups it may concern."""

from dataclasses import dataclass, field
from typing import Literal

from maitred.model.categories import NO_EFFECT, Effect


@dataclass(slots=True)
class News:
    groups: set[str] = field(default_factory=set)
    """Groups whose own members or declaration changed."""
    effects: Effect = NO_EFFECT
    nodes: set[str] = field(default_factory=set)
    """Nodes that changed, or whose load did."""
    health: bool = False
    """Whether anything changed that tells of failures, or what is remembered of them."""
    version: int = 0
    """Grows with every change of pods, groups and nodes that a snapshot would show."""

    def take(self) -> "News":
        """What there is. From here on only what comes after it is kept."""
        taken = News(self.groups, self.effects, self.nodes, self.health, self.version)
        self.groups, self.effects, self.nodes, self.health = set(), NO_EFFECT, set(), False
        return taken

    def failed(self, changed: bool) -> None:
        """Whether what is reported of nodes and pods is another than before."""
        self.version += changed
        self.health |= changed

    def go_back(self, earlier: "News") -> None:
        """As if nothing had changed since `earlier` was taken."""
        self.groups, self.effects, self.nodes = earlier.groups, earlier.effects, earlier.nodes
        self.health, self.version = earlier.health, earlier.version


@dataclass(frozen=True, slots=True)
class PodEnd:
    """A pod that holds its place no more."""

    pod: str
    group: str
    """The pod itself, where it is in no group."""
    how: Literal["Succeeded", "Failed", "Gone"]
    told_to_go: bool
    """It was being deleted, so it did not fail by itself."""


class Ends:
    """Pods that have ended since this was last asked."""

    def __init__(self) -> None:
        self._found: list[PodEnd] = []

    def note(self, end: PodEnd | None) -> None:
        if end is not None:
            self._found.append(end)

    def take(self) -> tuple[PodEnd, ...]:
        found, self._found = tuple(self._found), []
        return found
