"""Overrides: somebody, by name, has lifted one group past the turn and the limits of its queue, for a time.

They are kept in one object of maitred's own namespace, where no tenant can write: a ConfigMap with the label
`maitred.dev/record: overrides`. A decision reads it like any other object, and its Plan leaves out those that
are over. An override is about one group as it was then: neither another group of its name nor one that has
grown has any part in it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from math import isfinite
from typing import Annotated

import msgspec

from maitred.model.memory import MemoryObject, Name, remembered
from maitred.model.meta import Lean, Timestamp
from maitred.model.quantity import text
from maitred.model.times import after
from maitred.model.words import moment

OVERRIDES = "maitred-overrides"
VERB, API_GROUP, GROUPS = "override", "maitred.dev", "groups"
"""Who may override: whom RBAC allows this verb on this resource, in the namespace of the group."""
LONGEST_TIME, LONGEST_TIME_WORDS = timedelta(days=7), "7 days"
LONGEST_REASON, LONGEST_USER = 300, 256
MOST_OVERRIDES, MOST_OF_NAMESPACE, MOST_RESOURCES = 200, 20, 32
LARGEST = 2**63 - 1
TICK = timedelta(seconds=1)
"""Creation times have whole seconds."""
UNREAD = "overrides (maitred-overrides) cannot be read, so none of them counts: {}"

Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_REASON)]
By = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_USER)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Asked = Annotated[dict[Name, Amount], msgspec.Meta(max_length=MOST_RESOURCES)]


class Override(Lean, frozen=True, omit_defaults=False):
    group: Name
    """As it is decided,"""
    source: tuple[Name, Name, Name]
    """and as the state knows it: what it comes from, its key, the UID of its owner."""
    created: Timestamp
    """When the group was created: what is younger than this, and than the override, is another group."""
    asks: Asked
    """What all its members ask for together, in the units of the engine: so much is lifted, and no more."""
    by: By
    reason: Reason
    granted: Timestamp
    until: Timestamp

    @property
    def is_sound(self) -> bool:
        """Whether it is what maitred writes."""
        lasts = self.granted < self.until <= after(self.granted, LONGEST_TIME)
        return lasts and not reason_problem(self.reason) and self.by.isprintable()

    def is_of(self, source: tuple[str, str, str], created: float) -> bool:
        """Whether it is about this very group. `created` in seconds since 1970, infinity if not known."""
        return self.source == source and (self.is_as_old_as(created) or not isfinite(created))

    def is_as_old_as(self, created: float) -> bool:
        """Whether something was there already when the group was lifted."""
        return created <= after(max(self.granted, self.created), TICK).timestamp()

    def excess(self, asks: Mapping[str, int], counted: Iterable[str]) -> str:
        """What it asks for by now beyond what was lifted, of the resources that count; empty if nothing."""
        for resource in sorted(counted):
            had, now = self.asks.get(resource, 0), asks.get(resource, 0)
            if now > had:
                more, then = text(resource, now), text(resource, had)
                return f"the group asks for {more} {resource} by now, and asked for {then} when it was lifted"
        return ""

    @property
    def words(self) -> str:
        """`until ... by alice: the demo is at noon`."""
        return f"until {moment(int(self.until.timestamp()))} by {self.by}: {self.reason}"


class OverrideMemory(Lean, frozen=True, omit_defaults=False):
    overrides: Annotated[tuple[Override, ...], msgspec.Meta(max_length=MOST_OVERRIDES)] = ()
    """By the names of the groups, one of each."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    def of(self, group: str) -> Override | None:
        return next((one for one in self.overrides if one.group == group), None)

    def at(self, now: datetime) -> "OverrideMemory":
        """Those that are not over. The same object if none is."""
        left = tuple(one for one in self.overrides if one.until > now)
        return self if len(left) == len(self.overrides) else OverrideMemory(left)

    def without(self, group: str) -> "OverrideMemory":
        return OverrideMemory(tuple(one for one in self.overrides if one.group != group))


NO_OVERRIDES = OverrideMemory()


class OverrideNote(Lean, frozen=True, omit_defaults=False):
    """What is told of an override to those whom it concerns. Others are told neither who nor why."""

    by: str
    reason: str
    until: str


def note_of(override: Override) -> OverrideNote:
    return OverrideNote(override.by, override.reason, moment(int(override.until.timestamp())))


def granted(memory: OverrideMemory, override: Override, now: datetime) -> OverrideMemory | str:
    """With one more override, which takes the place of an earlier one of the group; or why it cannot be."""
    others = memory.at(now).without(override.group)
    namespace = override.group.partition("/")[0]
    if problem := reason_problem(override.reason) or time_problem(override.until, now):
        return problem
    if not override.is_sound:
        return "the override is not complete"
    if len(others.overrides) >= MOST_OVERRIDES:
        return f"there are {MOST_OVERRIDES} overrides already; end one first: maitred override --end GROUP"
    if sum(one.group.startswith(f"{namespace}/") for one in others.overrides) >= MOST_OF_NAMESPACE:
        return (
            f"there are {MOST_OF_NAMESPACE} overrides in namespace {namespace} already; end one first: "
            f"maitred override --end GROUP"
        )
    return OverrideMemory(tuple(sorted((*others.overrides, override), key=lambda one: one.group)))


def form_problem(override: Override) -> str:
    """Why it could not be read again once it is written down; empty if it could. What a group asks for is for
    its tenants to say."""
    try:
        msgspec.convert(msgspec.to_builtins(override), Override)
    except msgspec.ValidationError as error:
        return f"the override of {override.group} cannot be written down: {error}"
    return ""


def reason_problem(reason: str) -> str:
    """Why this is no reason that can be written down; empty if it is one."""
    if not reason.strip():
        return "say why: the reason is shown to everybody who pays for it"
    if len(reason) > LONGEST_REASON:
        return f"the reason has {len(reason)} characters, and may have {LONGEST_REASON}"
    if not reason.isprintable():
        return "the reason has control characters or line breaks; write it as one line of plain text"
    return ""


def time_problem(until: datetime, now: datetime) -> str:
    if until <= now:
        return f"{moment(int(until.timestamp()))} is not in the future"
    if until > after(now, LONGEST_TIME):
        return f"an override lasts for {LONGEST_TIME_WORDS} at most; give an earlier time"
    return ""


def overrides_of(kept: MemoryObject | None) -> tuple[OverrideMemory, str]:
    """What is remembered, and what is wrong with it if it cannot be read."""
    found, problem = remembered(kept, OverrideMemory, NO_OVERRIDES, _unsound)
    return found, problem and UNREAD.format(problem)


def _unsound(found: OverrideMemory) -> str:
    if len({one.group for one in found.overrides}) < len(found.overrides):
        return "it has a group twice"
    bad = next((one.group for one in found.overrides if not one.is_sound), None)
    return "" if bad is None else f"that of {bad} lasts too long, or its reason is not plain text"
