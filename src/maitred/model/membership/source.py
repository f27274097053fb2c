"""What a source of membership is: one row of the table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from maitred.model.group import Group, Marks, PodGroup
from maitred.model.job import Job
from maitred.model.meta import ObjectMeta, mark
from maitred.model.objects import Object
from maitred.model.operators.podgroups import ForeignGroup
from maitred.model.pod import Pod
from maitred.model.training import PyTorchJob


class GroupId(NamedTuple):
    """Groups of one name are different groups if they come from different sources, or from an owner that was
    made anew under its name."""

    source: str
    """The title of the source."""
    key: str
    """`namespace/name`."""
    uid: str = ""
    """Of the owner, where an owner makes the group."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The group that a pod belongs to, as one source has it."""

    id: GroupId
    quorum: int | None = None
    """As this pod says it; None where the other pods or an object must be asked."""

    @property
    def key(self) -> str:
        return self.id.key

    @property
    def source(self) -> str:
        return self.id.source


Sizing = PodGroup | Job | ForeignGroup | PyTorchJob
"""Objects that say how many members a group takes."""
T = TypeVar("T", bound=Object)


class Known(Protocol):
    """The objects that whoever asks knows of."""

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None: ...

    def every(self, kind: type[T]) -> Iterator[T]: ...


class Objects:
    """What is known, with what would take long to look for again."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._jobs: dict[str, dict[str, list[Job]]] = {}

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        return self._known.find(kind, key, uid)

    def jobs_marked(self, mark_key: str) -> Mapping[str, Sequence[Job]]:
        """Jobs by the value of a mark, with their namespace before it."""
        found = self._jobs.get(mark_key)
        if found is None:
            found = self._jobs[mark_key] = {}
            for job in self._known.every(Job):
                if name := mark(job.metadata, mark_key):
                    found.setdefault(in_namespace(job.metadata, name), []).append(job)
        return found


class Members(Protocol):
    """The members that whoever asks knows of, of one group."""

    @property
    def marks(self) -> Iterable[Marks]: ...

    @property
    def counts(self) -> Iterable[int]:
        """The quorum, as each of those has it that says one."""

    @property
    def there(self) -> int:
        """Members that there are; of a group that is gone, the most that there were at a time."""

    @property
    def succeeded(self) -> int: ...

    @property
    def succeeded_and_kept(self) -> int:
        """Those that succeeded and whose pods were not deleted since."""


GroupRule = Callable[[str, Iterable[Marks], Group | None], Group]
"""The group of this key, from the marks on its members and from what an object declares."""
QuorumRule = Callable[[GroupId, Members, Objects], int | None]
"""How many members a group takes, as an observer tells it. None where no one says, or where they disagree."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What decisions make of the groups of a source."""

    group: GroupRule
    renamed: Callable[[Pod, str], Pod]
    """The pod in a group of another name."""
    named: bool = False
    """Whether the pod itself names the group; else its owner implies it."""


@dataclass(frozen=True, slots=True)
class Source:
    title: str
    """As answers call it."""
    keys: tuple[str, ...]
    """The labels and annotations that it reads."""
    find: Callable[[Pod], Membership | None]
    quorum: QuorumRule
    decided: Decided | None = None
    """None: decisions do not go by it, audits do."""


def in_namespace(about: ObjectMeta, name: str) -> str:
    return f"{about.namespace or 'default'}/{name}"
