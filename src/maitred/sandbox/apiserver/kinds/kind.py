"""A kind of object as it is served: its names, its type, and the rules that it follows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from maitred.sandbox.apiserver.kinds.names import NameRule, subdomain
from maitred.sandbox.apiserver.kinds.strategy import PLAIN, Strategy
from maitred.sandbox.apiserver.schema.types import Body, Struct

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def unchanged(body: Body) -> Body:
    return body


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    group: str
    version: str
    name: str
    plural: str
    type: Struct
    namespaced: bool = True
    strategy: Strategy = PLAIN
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    name_rule: NameRule = subdomain
    fields: Mapping[str, str] = field(default_factory=dict)
    """What a field selector may ask for, beside the name and the namespace, and what is meant by none."""
    field_paths: Mapping[str, str] = field(default_factory=dict)
    """Where such a field is in the stored form, if it has another name there."""
    deprecation: str = ""
    """Said to everyone who uses it."""
    is_counted: bool = False
    """Whether `metadata.generation` counts the changes of what is asked for."""
    is_graceful: bool = False
    """Whether its deletion takes a while, and is for its kubelet to complete."""
    is_returned: bool = False
    """Whether a deletion answers with the object, and not with a status."""
    is_orphaning: bool = False
    """Whether what it owns stays by default when it is deleted."""
    needs_version: bool = False
    """Whether an update must say which version it changes."""
    is_put_to_create: bool = False
    """Whether an update of an object that is not there creates it."""
    is_born_with_status: bool = False
    """Whether its creator may say its status."""
    status_has_metadata: bool = True
    """Whether a write to `status` may change labels and annotations too."""
    columns: tuple[Body, ...] = ()
    """What a table of it shows, as the definition of a custom kind has it."""
    stored_as: str = ""
    """The name of its shelf, where the same objects are served as more than one kind."""
    to_stored: Callable[[Body], Body] = field(default=unchanged)
    from_stored: Callable[[Body], Body] = field(default=unchanged)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def list_name(self) -> str:
        return f"{self.name}List"

    @property
    def shelf(self) -> str:
        return self.stored_as or f"{self.plural}.{self.group}"

    @property
    def refused_as(self) -> str:
        """The group in which it is kept. Events are the same objects in two groups."""
        return self.shelf.partition(".")[2]

    @property
    def is_custom(self) -> bool:
        """Whether a CustomResourceDefinition has brought it."""
        return self.type.custom

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def is_stored_form(self) -> bool:
        return self.from_stored is unchanged
