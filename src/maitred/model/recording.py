"""The record of a scheduler, line by line: what it saw, what it was asked, and what it decided.

A record is made of segments. Each begins with an Opening and everything that was known then, so that it can
be read without those before it. It is JSON, one line each, and not a dump of memory: a record comes from
whoever reports a problem, and reading it must not run anything.
"""

from typing import Any, TypeVar

import msgspec

from maitred.model.job import COMPLETION_INDEX
from maitred.model.kinds import KINDS, row_of
from maitred.model.membership import KEYS
from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators import jobset, leaderworkerset
from maitred.model.plan import Plan
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation
from maitred.model.storage import BIND_COMPLETED, OLD_CLASS

T = TypeVar("T", bound=Object)
VERSION = 1
RECORDED: dict[str, type[Object]] = {row.title: row.type for row in KINDS}
"""What the lines of a record may be about, as they call it."""
OWN = "maitred.dev/"
FREE_TEXTS = frozenset({"message"})
"""Fields of what is reported of pods that no decision reads, and in which anything may be."""
READ = frozenset(
    {
        COMPLETION_INDEX,
        "kubernetes.io/config.mirror",
        "storageclass.kubernetes.io/is-default-class",
        "volume.kubernetes.io/selected-node",
        OLD_CLASS,
        BIND_COMPLETED,
        jobset.EXCLUSIVE_TOPOLOGY,
        jobset.NODE_SELECTOR,
        leaderworkerset.EXCLUSIVE_TOPOLOGY,
        *KEYS,
    }
)
"""Annotations that decisions read, beside our own and those that name groups, which an audit goes by. All
others are left out: anything may be in them."""


class Line(Lean, frozen=True, tag_field="line", tag=str.lower):
    """Times are in seconds since 1970."""


class Opening(Line, frozen=True):
    version: int
    maitred: str
    """The version of maitred that decided."""
    scheduler: str | None
    at: float


class PolicyInForce(Line, frozen=True, tag="rules"):
    """The policy from here on."""

    policy: Policy


class Came(Line, frozen=True):
    """An object came or changed, at that time."""

    kind: str
    object: msgspec.Raw
    at: float


class Gone(Line, frozen=True):
    kind: str
    key: str
    at: float


class Leaving(Line, frozen=True):
    """A pod is taken as on its way out before the API server says so, or no longer."""

    pod: str
    uid: str
    leaving: bool


class Look(Line, frozen=True):
    """What was known here is what the next Decision is about; more may have come before that was made."""

    now: str
    groups: tuple[str, ...]
    explained: tuple[str, ...] | None = None
    """Those of which it was found out what is in the way; None for all."""
    rotation: Rotation | None = None
    """The budget of the cycle, and who came first in it; None for a cycle without."""


class Decision(Line, frozen=True):
    plan: Plan


AnyLine = Opening | PolicyInForce | Came | Gone | Leaving | Look | Decision

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(AnyLine).decode


def recorded(item: Object) -> tuple[str, Object]:
    """Its kind, and the object as decisions read it.

    Arguments, environments and contents of volumes are not even decoded. That leaves what controllers read
    beside the model, and annotations.
    """
    row = row_of(type(item))
    bare: Object = msgspec.convert(item, row.type, from_attributes=True)
    # Templates of pods, at any depth, have annotations too.
    return row.title, _recorded_pod(bare) if isinstance(bare, Pod) else without_secrets(bare)


def _recorded_pod(pod: Pod) -> Pod:
    """Of what is reported of it, without what programs and users wrote freely."""
    if len(kept := allowed(pod.metadata.annotations)) < len(pod.metadata.annotations):
        pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=kept))
    told = pod.status
    if told.message or told.conditions or told.container_statuses or told.init_container_statuses:
        pod = msgspec.structs.replace(pod, status=_without_messages(told))
    return pod


def _without_messages(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_without_messages, part))
    if not isinstance(part, msgspec.Struct):
        return part
    values = ((name, getattr(part, name)) for name in part.__struct_fields__)
    changed = {
        name: "" if name in FREE_TEXTS else _without_messages(value)
        for name, value in values
        if name in FREE_TEXTS or isinstance(value, msgspec.Struct | tuple)
    }
    return msgspec.structs.replace(part, **changed) if changed else part


def without_secrets(part: T) -> T:
    """An object, or a part of one, with the annotations that decisions read, and no others."""
    cleared: T = _cleared(part)
    return cleared


def _cleared(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_cleared, part))
    if isinstance(part, dict):
        return {key: _cleared(value) for key, value in part.items()}
    if not isinstance(part, msgspec.Struct):
        return part
    changed = {}
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if name == "annotations":
            changed[name] = allowed(value)
        elif isinstance(value, msgspec.Struct | tuple | dict):
            changed[name] = _cleared(value)
    return msgspec.structs.replace(part, **changed) if changed else part


def allowed(annotations: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key.startswith(OWN) or key in READ}
