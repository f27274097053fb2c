"""A snapshot with objects that do not exist: what would be decided if they did."""

from collections.abc import Collection

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState, Delete, Put
from maitred.model.devices.claims import ResourceClaim
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.storage import PersistentVolumeClaim

CLAIMS = (PersistentVolumeClaim, ResourceClaim)


def supposing(state: ClusterState, objects: Collection[Object]) -> Snapshot:
    """The snapshot with these groups, pods and claims too; the state stays as it is.

    Groups and pods must be new ones. A claim that is there already, for a volume or for devices, is the one
    that is meant.
    """
    new = [
        item
        for item in objects
        if not (isinstance(item, CLAIMS) and state.find(type(item), key_of(item.metadata)))
    ]
    with state.aside():
        try:
            for item in new:
                state.apply(Put(item))
            return state.snapshot()
        finally:
            for item in new:
                state.apply(Delete(type(item), key_of(item.metadata)))
