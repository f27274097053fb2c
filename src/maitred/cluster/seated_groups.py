"""Groups that have members on nodes, numbered; what is known of one is looked up again when it changed."""

from collections.abc import Iterable

from maitred.cluster.members import GroupRecord
from maitred.cluster.snapshot import NO_GROUP, SeatedGroup
from maitred.model.membership import GroupId


class SeatedTable:
    def __init__(self) -> None:
        self._groups: list[SeatedGroup | None] = []
        self._free: list[int] = []
        self._changed: dict[int, GroupRecord] = {}
        self._ids: dict[int, GroupId] = {}

    def arrive(self, record: GroupRecord) -> int:
        """One more member sits down; the number of its group."""
        record.bound += 1
        if record.number == NO_GROUP:
            record.number = self._free.pop() if self._free else len(self._groups)
            if record.number == len(self._groups):
                self._groups.append(None)
            self._ids[record.number] = record.id
        self.changed(record)
        return record.number

    def depart(self, record: GroupRecord) -> None:
        record.bound -= 1
        if record.bound:
            self.changed(record)
            return
        self._groups[record.number] = None
        del self._ids[record.number]
        self._changed.pop(record.number, None)
        self._free.append(record.number)
        record.number = NO_GROUP

    def changed(self, record: GroupRecord) -> None:
        if record.number != NO_GROUP:
            self._changed[record.number] = record

    def ids(self, numbers: Iterable[int]) -> set[GroupId]:
        return {self._ids[number] for number in numbers}

    def view(self) -> tuple[SeatedGroup | None, ...]:
        for number, record in self._changed.items():
            self._groups[number] = record.seated()
        self._changed = {}
        return tuple(self._groups)
