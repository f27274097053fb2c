"""Everything that a node can run out of, one entry each: a trial keeps one of each kind."""

from maitred.cluster.supply.columns import Columns
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.supply.interface import Supply
from maitred.cluster.supply.ports import Ports
from maitred.cluster.supply.volumes import Volumes

SUPPLIES: tuple[type[Supply], ...] = (Columns, Ports, Volumes, DeviceSupply)
CATEGORIES = frozenset({supply.category for supply in SUPPLIES if supply.category is not None})
"""Of their blockers."""
