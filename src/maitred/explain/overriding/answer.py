"""What is asked of an override, and what is told of those that there are."""

from typing import Annotated

import msgspec

from maitred.model.meta import Lean, Timestamp
from maitred.model.overrides import LONGEST_REASON
from maitred.model.plan import Record
from maitred.model.policy import API_VERSION


class OverrideWish(Lean, frozen=True, forbid_unknown_fields=True):
    """What is posted to lift a group."""

    reason: Annotated[str, msgspec.Meta(max_length=LONGEST_REASON)]
    until: Timestamp


class OverrideEnd(Lean, frozen=True, forbid_unknown_fields=True):
    """What is posted to end that."""


class OverrideState(Record, frozen=True):
    group: str
    by: str
    reason: str
    granted: str
    until: str
    lifts: bool | None
    """Whether it lifts the group now; null if the group does not wait."""
    words: str


class OverrideList(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "OverrideList"
    overrides: tuple[OverrideState, ...] = ()
    at: str = ""


class OverrideDone(Record, frozen=True):
    """What was written down."""

    api_version: str = API_VERSION
    kind: str = "Override"
    group: str = ""
    ended: bool = False
    override: OverrideState | None = None
