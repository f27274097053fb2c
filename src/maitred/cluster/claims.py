"""Claims of pods: which volumes they mean by now, how many pods mount them, and on which nodes."""

from collections import Counter
from collections.abc import Iterable

from maitred.cluster.members import Member
from maitred.cluster.news import News
from maitred.cluster.tables import Tables
from maitred.cluster.volumes import StorageView, VolumeNeed, resolve
from maitred.model.categories import Effect
from maitred.model.objects import Object
from maitred.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

STORAGE_KINDS = (
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CSINode,
    CSIDriver,
    VolumeAttachment,
)


class ClaimTable:
    def __init__(self, tables: Tables, news: News) -> None:
        self._tables = tables
        self._news = news
        self._storage: StorageView | None = None
        self._attachments_stale = False
        self.version = 0
        """Grows when a claim may mean something else to a pod than before."""
        self._users: Counter[str] = Counter()
        self._rows: dict[str, list[int]] = {}

    def changed(self, kind: type[Object]) -> None:
        """An object of this kind has come, has changed, or is gone."""
        if kind is VolumeAttachment:
            # They come and go with every pod, and change no pod's needs.
            self._attachments_stale = True
        elif kind in STORAGE_KINDS:
            self._storage = None
            self.version += 1

    def count(self, claims: Iterable[str], change: int) -> None:
        """A claim that gets, or loses, a second user means something else to the first."""
        for claim in claims:
            before = self._users[claim]
            self._users[claim] = before + change
            if not self._users[claim]:
                del self._users[claim]
            if (before > 1) != (before + change > 1):
                self.version += 1
                self._news.effects |= Effect.STORAGE

    def mount(self, claims: Iterable[str], row: int) -> None:
        for claim in claims:
            self._rows.setdefault(claim, []).append(row)

    def unmount(self, claims: Iterable[str], row: int) -> None:
        for claim in claims:
            self._rows[claim].remove(row)
            if not self._rows[claim]:
                del self._rows[claim]

    def needs_of(self, member: Member, storage: StorageView) -> tuple[VolumeNeed, ...]:
        return tuple(
            resolve(claim, self._users[claim] > 1, member.brought, storage) for claim in member.claims
        )

    def in_use(self) -> dict[str, tuple[int, ...]]:
        """The nodes of the pods that mount each claim."""
        return {claim: tuple(rows) for claim, rows in self._rows.items()}

    def storage(self) -> StorageView:
        if self._storage is None:
            self._storage = StorageView(*(dict(self._tables[kind]) for kind in STORAGE_KINDS))
        elif self._attachments_stale:
            self._storage = self._storage.with_attachments(dict(self._tables[VolumeAttachment]))
        self._attachments_stale = False
        return self._storage
