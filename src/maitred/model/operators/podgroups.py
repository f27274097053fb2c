"""PodGroups of other schedulers. They all call their quorum the same; some have more to say."""

from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import ByName, Name, Several, Size


class ForeignGroupSpec(Lean, frozen=True):
    min_member: Size | None = None


class ForeignGroup(Object, frozen=True):
    spec: ForeignGroupSpec = ForeignGroupSpec()


class CoschedulingPodGroup(ForeignGroup, frozen=True):
    """Of scheduler-plugins."""


class KoordinatorPodGroup(ForeignGroup, frozen=True):
    """Koordinator reads those of scheduler-plugins under their old API group."""


class GodelPodGroup(ForeignGroup, frozen=True):
    pass


class NetworkTopology(Lean, frozen=True):
    mode: Name = "hard"
    highest_tier_allowed: Size | None = None
    highest_tier_name: Name = ""


class VolcanoPodGroupSpec(ForeignGroupSpec, frozen=True):
    min_task_member: ByName[Size] = {}
    queue: Name = ""
    priority_class_name: Name = ""
    network_topology: NetworkTopology | None = None


class VolcanoPodGroup(ForeignGroup, frozen=True):
    spec: VolcanoPodGroupSpec = VolcanoPodGroupSpec()


class KaiTopology(Lean, frozen=True):
    topology: Name = ""
    required_topology_level: Name = ""
    preferred_topology_level: Name = ""


class KaiSubGroup(Lean, frozen=True):
    name: Name = ""
    min_member: Size | None = None
    min_sub_group: Size | None = None
    parent: Name = ""
    topology_constraint: KaiTopology = KaiTopology()


class KaiPodGroupSpec(ForeignGroupSpec, frozen=True):
    queue: Name = ""
    priority_class_name: Name = ""
    preemptibility: Name = ""
    topology_constraint: KaiTopology = KaiTopology()
    min_sub_group: Size | None = None
    """How many of its parts it takes, instead of how many members."""
    sub_groups: Several[KaiSubGroup] = ()


class KaiPodGroup(ForeignGroup, frozen=True):
    spec: KaiPodGroupSpec = KaiPodGroupSpec()
