"""The rules of order in words. What they compare is in `decide.agenda`."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from maitred.model.policy import Rule
from maitred.model.words import moment

if TYPE_CHECKING:
    from maitred.decide.agenda import Turn  # tables of an answer need no engine


class Words(NamedTuple):
    ahead: str
    """How others are ahead by it, after their number."""
    title: str
    shown: "Callable[[Turn], str]"
    """What it looks at."""
    because: str
    """Why a group comes first by it, with what was looked at of both."""


def _created(turn: "Turn") -> str:
    return moment(int(turn.created)) if math.isfinite(turn.created) else "not known"


WORDS: Mapping[Rule, Words] = {
    "paying": Words(
        "because they pay",
        "paying",
        lambda turn: "no" if turn.scavenges else "yes",
        "it pays for what it uses, and the other runs only while nobody does",
    ),
    "entitled": Words(
        "by the guarantees of their queues",
        "guarantee",
        lambda turn: "borrows" if turn.borrows else "within the guarantee",
        "its queue stays within its guarantee with it ({mine}, the other {theirs})",
    ),
    "priority": Words(
        "by priority",
        "priority",
        lambda turn: str(turn.priority),
        "its priority is higher ({mine} > {theirs})",
    ),
    "rotation": Words(
        "not decided in an earlier cycle",
        "rotation",
        lambda turn: str(turn.place),
        "an earlier cycle had no time for it",
    ),
    "promised": Words(
        "by places held for them",
        "promised places",
        lambda turn: "held" if turn.promised else "none",
        "places are held for it",
    ),
    "override": Words(
        "by an override",
        "override",
        lambda turn: "no" if turn.in_line else "yes",
        "an override lifts it past its queue ({mine}, the other {theirs})",
    ),
    "waited": Words(
        "because they have waited for long",
        "has waited for long",
        lambda turn: f"since {moment(int(turn.waited))}" if math.isfinite(turn.waited) else "no",
        "it has waited for longer than fairShare.longestWait ({mine}, the other {theirs})",
    ),
    "fair-share": Words(
        "because their queues have less",
        "share of the queue",
        lambda turn: f"{turn.share:.3g}",
        "its queue has less, by its weight ({mine}, the other {theirs})",
    ),
    "deadline": Words(
        "by their deadlines",
        "deadline",
        lambda turn: (
            moment(int(turn.deadline // 1000)) if math.isfinite(turn.deadline) else "none that counts"
        ),
        "it must be done earlier ({mine}, the other {theirs})",
    ),
    "measure": Words(
        "by the policy's order",
        "measure",
        lambda turn: f"{turn.measure:g}",
        "the policy's order puts it first ({mine}, the other {theirs})",
    ),
    "age": Words("by age", "age", _created, "it is older ({mine}, the other {theirs})"),
    "name": Words(
        "by name",
        "name",
        lambda turn: turn.key,
        "they are equal in everything else, and its name comes first in the alphabet",
    ),
}
BECAUSE: Mapping[str, str] = {words.title: words.because for words in WORDS.values()}
