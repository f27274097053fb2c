"""Which group each pod is in, kept true as the objects that say so come and go.

A pod points to a PodGroup and to the owners above it, and each of these may change what group it is in, long
after the pod was seen. Pods that say the same are settled together, as a crew, and it is kept which objects
were looked up for each crew: so a change of an object costs as much as there are crews that it speaks of.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from maitred.cluster.tables import Tables
from maitred.model.group import PodGroup
from maitred.model.kinds import row_of
from maitred.model.membership import ALL_ALONE, SILENT, PodWords, Settled, settle
from maitred.model.objects import Object
from maitred.model.owner_chain import Found
from maitred.model.policy import Workloads

if TYPE_CHECKING:
    from maitred.cluster.members import Member

T = TypeVar("T", bound=Object)
Place = tuple[type[Object], str]
"""A kind and a key: where an object is looked up, whether or not there is one."""


@dataclass(slots=True, eq=False)
class Speakers:
    """Pods that say the same, and what became of it."""

    said: PodWords
    settled: Settled = ALL_ALONE
    read: tuple[Place, ...] = ()
    members: "dict[str, Member]" = field(default_factory=dict)


NO_SPEAKERS = Speakers(SILENT)
"""Of all pods that say nothing. Nobody asks who they are."""


class Settling:
    def __init__(self, tables: Tables, workloads: Workloads, waits_for_owners: bool) -> None:
        self.workloads = workloads
        self._tables = tables
        self._waits = waits_for_owners
        self._groups: dict[str, PodGroup] = {}
        self._crews: dict[PodWords, Speakers] = {}
        self._readers: dict[Place, dict[PodWords, Speakers]] = {}

    # -- who says what ---------------------------------------------------------------------------------

    def crew(self, said: PodWords) -> Speakers:
        """The crew of those who say this, which may be nobody yet."""
        if said is SILENT:
            return NO_SPEAKERS
        crew = self._crews.get(said)
        if crew is None:
            crew = Speakers(said)
            self._settle(crew)
        return crew

    def add(self, member: "Member") -> None:
        crew = member.crew
        if crew is NO_SPEAKERS:
            return
        if not crew.members:
            self._crews[crew.said] = crew
            for place in crew.read:
                self._readers.setdefault(place, {})[crew.said] = crew
        crew.members[member.key] = member

    def remove(self, member: "Member") -> None:
        crew = member.crew
        if crew is NO_SPEAKERS:
            return
        del crew.members[member.key]
        if not crew.members:
            del self._crews[crew.said]
            self._forget(crew)

    # -- objects ---------------------------------------------------------------------------------------

    def put_group(self, key: str, group: PodGroup | None) -> Iterator[tuple[Speakers, Settled]]:
        self._groups.pop(key, None)
        if group is not None:
            self._groups[key] = group
        return self.changed(PodGroup, key)

    def changed(self, kind: type[Object], key: str) -> Iterator[tuple[Speakers, Settled]]:
        """The crews whose group is another one now, or is described otherwise, and what it was before."""
        return self._again(list(self._readers.get((kind, key), {}).values()))

    def follow(self, workloads: Workloads) -> Iterator[tuple[Speakers, Settled]]:
        """As `changed`, for another policy."""
        if workloads == self.workloads:
            return iter(())
        self.workloads = workloads
        return self._again(list(self._crews.values()))

    def _again(self, crews: Iterable[Speakers]) -> Iterator[tuple[Speakers, Settled]]:
        for crew in crews:
            before = crew.settled
            self._forget(crew)
            self._settle(crew)
            for place in crew.read:
                self._readers.setdefault(place, {})[crew.said] = crew
            if crew.settled != before:
                yield crew, before

    def _settle(self, crew: Speakers) -> None:
        reading = TracedLookup(self)
        crew.settled = settle(crew.said, reading, self.workloads, self._waits)
        crew.read = tuple(reading.places)

    def _forget(self, crew: Speakers) -> None:
        for place in crew.read:
            readers = self._readers.get(place)
            if readers is not None and readers.pop(crew.said, None) is not None and not readers:
                del self._readers[place]

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        if kind is PodGroup:
            found = self._groups.get(key)
            return found if isinstance(found, kind) else None
        return self._tables.find(kind, key, uid)


class TracedLookup:
    """Looks things up, and remembers where."""

    def __init__(self, known: Found) -> None:
        self._known = known
        self.places: dict[Place, None] = {}

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        self.places[row_of(kind).type, key] = None
        return self._known.find(kind, key, uid)
