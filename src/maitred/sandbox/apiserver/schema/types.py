"""Types of the API, as far as a server must know them: to read, patch, default and describe objects."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

Body: TypeAlias = dict[str, Any]
"""An object as it is on the wire. It may be changed until it is stored, and never afterwards."""


class Scalar(Enum):
    STRING = "string"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "number"
    BOOL = "bool"
    QUANTITY = "quantity"
    INT_OR_STRING = "intOrString"
    TIME = "time"
    MICRO_TIME = "microTime"
    BYTES = "bytes"
    """Base64 text."""
    ANY = "any"
    """Whatever JSON can say; it is kept as it is, and owned as a whole."""


class Relation(Enum):
    """What the items of a list are to each other when two writers of it meet."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Unset(Enum):
    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Field:
    type: "Type"
    number: tuple[int, ...] = ()
    """Of it in protobuf, behind that of a message around it which JSON does not have."""
    default: Any = UNSET
    required: bool = False
    """An object without it is refused."""
    listed: bool = False
    """The description of the API calls it required."""
    kept: bool = False
    """On the wire also when it is empty; others are left out then."""
    explicit: bool = False
    """An empty value that is given is not the same as none, and stays: Go has a pointer here."""
    nullable: bool = False
    """Null is a value of its own; only custom resources have this."""
    replaced: bool = False
    """A strategic merge patch replaces it instead of merging it."""
    retains_keys: bool = False
    """A client that merges says which keys stay; the server hears it in the patch."""
    unique: bool = False
    """No two items of the list have the same keys."""
    form: str = ""
    """What a text, each of a list of texts, or the keys and values of a map look like; such as `label`."""
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    """Least and most: of a number, of the length of a text, of how many items a list has."""
    either: bool = False
    """Exactly one of the fields with this mark must be given."""
    immutable: bool = False
    lasting: bool = False
    """An update may change it, but neither set nor clear it; of a list, neither add nor remove items."""

    @property
    def is_ruled(self) -> bool:
        marks = (
            self.required,
            self.unique,
            self.form,
            self.choices,
            self.bounds,
            self.immutable,
            self.lasting,
        )
        return any(marks)


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    name: str
    fields: dict[str, Field] = field(default_factory=dict)
    atomic: bool = False
    """Owned as a whole."""
    granular: bool = False
    """Not owned as a whole in this one place, though it is elsewhere."""
    preserves_unknown: bool = False
    """Fields that are not listed are kept; only custom resources do this."""
    custom: bool = False
    """Of a custom resource: values stay as they are given, and its schema's rules judge them."""


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    value: "Type"
    atomic: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    item: "Type"
    relation: Relation = Relation.ATOMIC
    keys: tuple[str, ...] = ()
    """Of a MAP: the fields that tell its items apart."""
    merge_key: str = ""
    """For strategic merge patches. Empty: the list is replaced, or merged as a set if `merges`."""
    merges: bool = False
    """A strategic merge patch merges it instead of replacing it."""


Type: TypeAlias = Scalar | Struct | MapOf | ListOf
