"""Extended resources that a device class serves: where nodes have none of their own, devices of the class do.

What a pod asks for by such resources is one claim, which is made when the pod is bound. Here every resource
is a claim of its own, because it depends on the node which of them a class has to serve.
"""

from typing import NamedTuple

from maitred.cluster.devices.needs import spec_bytes
from maitred.cluster.load import Load
from maitred.cluster.nodes import Mask, NodeView
from maitred.model.devices.extended import CountedRequest, ExtendedResource


class ResourceByClass(NamedTuple):
    resource: str
    device_class: str
    spec: bytes
    """The claim that stands for it."""
    asked: ExtendedResource

    @property
    def devices(self) -> int:
        return sum(one.count for one in self.asked.requests)


def served_resources(load: Load, shape: int) -> tuple[ResourceByClass, ...]:
    """Resources that pods of a shape ask for and that a class serves."""
    classes = load.snapshot.device_classes
    if not classes:
        return ()
    needs = load.needs(shape)
    by_container = {one.resource: one for one in needs.extended}
    found = []
    for resource, count in needs.requests:
        if resource in classes:
            # Shapes that only stand for some pods have no containers.
            asked = by_container.get(resource) or ExtendedResource(
                resource, (CountedRequest("container-0-request-0", count),)
            )
            device_class = classes[resource]
            spec = spec_bytes(asked.claim(device_class))
            found.append(ResourceByClass(resource, device_class, spec, asked))
    return tuple(found)


def nodes_without(nodes: NodeView, resource: str) -> Mask:
    """Nodes that have none of a resource of their own: there, devices of a class stand for it."""
    column = nodes.resource_column(resource)
    return nodes.alive if column is None else nodes.alive & (nodes.allocatable[column] == 0)
