"""Storage as a remedy: claims made ready, or volumes that are within reach.

- `{"kind": "claims", "problems": ["claim ns/name does not exist"]}`: what is to be put right, with volumes
  that every node can reach;
- `{"kind": "volumes", "key": "topology.kubernetes.io/zone", "value": "z1"}`: volumes that can be reached from
  the nodes of this domain; both null for volumes that every node can reach.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from maitred.cluster.snapshot import GroupView, Shape, Snapshot
from maitred.cluster.volumes import VolumeNeed
from maitred.explain.remedies.changes import Change, with_members_like
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.needs import Needs
from maitred.model.plan import Remedy
from maitred.model.pod import NodeSelector, NodeSelectorTerm
from maitred.model.selector import Requirement

ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class ReadyClaims:
    """What is wrong with the claims is put right."""

    problems: tuple[str, ...]
    share: float = 0.0

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_volumes(snapshot, number, lambda need: VolumeNeed() if need.problem else need)

    def remedy(self, view: GroupView) -> Remedy:
        return Remedy(
            f"make its storage ready and reachable from all nodes: {'; '.join(self.problems)}",
            {"kind": "claims", "problems": list(self.problems)},
        )


@dataclass(frozen=True, slots=True)
class NearVolumes:
    """The volumes are where the nodes are."""

    zone: str
    """Empty if they can be reached from everywhere."""
    share: float = 0.5

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_volumes(snapshot, number, self._near)

    def _near(self, need: VolumeNeed) -> VolumeNeed:
        inside = NodeSelectorTerm((Requirement(ZONE, "In", (self.zone,)),))
        affinity = NodeSelector((inside,)) if self.zone else None
        return VolumeNeed(affinity=affinity, driver=need.driver, handle=need.handle, exclusive=need.exclusive)

    def remedy(self, view: GroupView) -> Remedy:
        where = f"the nodes of zone {self.zone}" if self.zone else "all nodes"
        place = {"key": ZONE, "value": self.zone} if self.zone else {"key": None, "value": None}
        return Remedy(f"use volumes that {where} can reach", {"kind": "volumes", **place})


def with_volumes(snapshot: Snapshot, number: int, change: Callable[[VolumeNeed], VolumeNeed]) -> Snapshot:
    def changed(shape: Shape, needs: Needs) -> tuple[Shape, Needs]:
        return replace(shape, volumes=tuple(map(change, shape.volumes))), needs

    return with_members_like(snapshot, number, changed)


def supplies(rehearsal: Rehearsal, ranked: RankedGroup) -> Iterator[Change]:
    """What could be done about the volumes of a group, the easiest first."""
    shapes = {int(shape) for shape in ranked.view.shapes}
    needs = [need for shape in shapes for need in rehearsal.snapshot.shapes[shape].volumes]
    problems = sorted({need.problem for need in needs if need.problem})
    if problems:
        yield ReadyClaims(tuple(problems))
    elif needs:
        anywhere = NearVolumes("")
        seats = rehearsal.probe(anywhere.applied(rehearsal.snapshot, ranked.number), ranked)
        labels = [rehearsal.snapshot.nodes.labels[row] for _, row in seats]
        zones = {one.get(ZONE, "") for one in labels}
        if len(zones) == 1 and "" not in zones:
            yield NearVolumes(zones.pop())
        yield anywhere
