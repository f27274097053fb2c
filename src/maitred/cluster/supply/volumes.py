"""Volumes: nodes attach so many, claims share those that exist, and some have to be made."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.load import Load
from maitred.cluster.nodes import Mask
from maitred.cluster.supply.attachments import Attachments, Mount
from maitred.cluster.supply.fit import Fit
from maitred.cluster.supply.interface import Lift, Supply
from maitred.cluster.supply.volume_limits import VolumeLimits
from maitred.cluster.volumes import VolumeNeed

NOTHING: Lift = frozenset()


class Volumes(Supply):
    category = "Volume"

    def __init__(self, load: Load) -> None:
        super().__init__(load)
        self._attachments: Attachments | None = None
        """Made when first asked for: most trials seat no pod with volumes."""

    @property
    def attachments(self) -> Attachments:
        if self._attachments is None:
            in_use = self._claims_in_use() if self.load.occupied else None
            self._attachments = Attachments(self.load.snapshot, self.load.nodes, in_use)
            for entry in self.load.seated():
                self.take(entry)
        return self._attachments

    def _claims_in_use(self) -> Mapping[str, Sequence[int]]:
        """Without those of pods that are gone."""
        known, gone = self.load.snapshot.claims_in_use, np.flatnonzero(~self.load.here)
        if not known or not len(gone):
            return known
        rows = {claim: list(places) for claim, places in known.items()}
        for claim, row in self._claims_of(gone):
            rows[claim].remove(row)
        return {claim: places for claim, places in rows.items() if places}

    def _claims_of(self, pods: Rows) -> Iterator[tuple[str, int]]:
        """Claims that some of the bound pods mount, each with its row."""
        load = self.load
        for pod in pods[load.mounting[pods]].tolist():
            for claim in load.bound.occupants[pod].claims:
                yield claim, int(load.bound.node[pod])

    # -- change and undo -------------------------------------------------------------------------------

    def take(self, entry: Seated) -> None:
        volumes, rows = self.load.shape(entry.shape).volumes, entry.rows.tolist()
        if volumes and self._attachments is not None:
            self._attachments.mounts[entry] = [
                self._attachments.mount(volumes, row, copies, rows)
                for row, copies in zip(rows, entry.copies.tolist(), strict=True)
            ]

    def give_back(self, entry: Seated) -> None:
        if self._attachments is not None:
            mounts = self._attachments.mounts.pop(entry, ())
            for mount in reversed(mounts):
                self._attachments.unmount(mount)

    def let_go(self, entry: Seated) -> None:
        """Whoever came after it may have a better volume now, so all are given out anew."""
        if self.load.shape(entry.shape).volumes:
            self._attachments = None

    def move(self, entry: Moved, gone: bool) -> None:
        if self._attachments is None or not self.load.occupied or not self.load.snapshot.claims_in_use:
            return
        change = self._attachments.leave if gone else self._attachments.arrive
        for claim, row in self._claims_of(entry.pods):
            change(claim, row)

    # -- how many fit ----------------------------------------------------------------------------------

    def asked_by(self, shape: int) -> bool:
        return bool(self.load.shape(shape).volumes)

    def held_by(self, pods: Rows) -> bool:
        return bool(self.load.mounting[pods].any())

    def never_serves(self, shape: int) -> bool:
        return any(need.problem for need in self.load.shape(shape).volumes)

    def passes(self, shape: int) -> int:
        return len(self.load.shape(shape).volumes)

    def fit(self, shapes: Sequence[int], lift: Lift = NOTHING, others_may_help: bool = False) -> Fit:
        """It stays the same while nothing is mounted: whoever looks for victims asks again and again."""
        known, key = self.attachments.derived, ("fit", tuple(shapes), others_may_help)
        if key not in known:
            needs = [self.load.shape(shape).volumes for shape in shapes]
            known[key] = VolumeLimits(self.load, self.attachments, others_may_help).fit(needs)
        fit: Fit = known[key]
        return fit

    def serves(self, seats: Sequence[tuple[int, int, int]]) -> bool:
        """Whether every claim gets a volume: they are given out, and taken back."""
        attachments, mounts = self.attachments, list[tuple[Sequence[VolumeNeed], Mount]]()
        derived, attachments.derived = attachments.derived, {}
        rows, copies = dict[int, list[int]](), Counter[tuple[int, int]]()
        for shape, row, count in seats:
            copies[shape, row] += count
        for shape, row in sorted(copies):
            rows.setdefault(shape, []).append(row)
        for shape, row in sorted(copies):
            volumes = self.load.shape(shape).volumes
            mount = attachments.mount(volumes, row, copies[shape, row], rows[shape])
            mounts.append((volumes, mount))
        served = all(attachments.is_served(volumes, mount) for volumes, mount in mounts)
        for _, mount in reversed(mounts):
            attachments.unmount(mount)
        attachments.derived = derived
        return served

    def with_driver(self, need: VolumeNeed) -> Mask:
        """Nodes that have the driver of a volume, where the driver keeps pods away from the others."""
        return VolumeLimits(self.load, self.attachments, in_favour=False).with_driver(need)

    # -- which volume for which claim ------------------------------------------------------------------

    def given(self, entry: Seated) -> Iterator[tuple[int, list[list[str]]]]:
        """For each row of an entry: for each volume of its shape, those that exist and that its pods got.
        The pods of the entry on a node are alike, so it does not matter which of them gets which; where there
        are fewer than pods, the rest is made."""
        for mount in self.attachments.mounts[entry]:
            yield (
                mount.row,
                [[slot.volume for slot in slots if slot.volume is not None] for slots in mount.slots],
            )

    def shared_volume(self, claim: str) -> str | None:
        """The existing volume that several pods get by one claim."""
        slot = self.attachments.shared.get(claim)
        return None if slot is None else slot.volume
