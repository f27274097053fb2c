"""Nodes, which everybody may know, without the images of strangers and the resources that only they name."""

from dataclasses import dataclass

from maitred.cluster.nodes import NodeView
from maitred.explain.why.progress import full_name
from maitred.model.node import ContainerImage

LASTING = ("rows",)
"""What was derived from names of nodes alone; columns of labels are kept too."""


@dataclass(frozen=True, slots=True)
class Told:
    """What nodes are told of, where that is not everything."""

    names: tuple[str, ...]
    resources: tuple[str, ...]
    own_images: frozenset[str]
    """The reader's, in full."""
    other_images: tuple[tuple[str, str], ...]
    """Those that others ask for, and what they are called."""


def nodes_as_told(nodes: NodeView, told: Told) -> NodeView:
    """Built once for all who are told the same."""
    return nodes.derived(told, lambda: _built(nodes, told))


def _built(nodes: NodeView, told: Told) -> NodeView:
    return NodeView(
        names=told.names,
        alive=nodes.alive,
        resources=told.resources,
        allocatable=nodes.allocatable,
        labels=nodes.labels,
        taint_ids=nodes.taint_ids,
        taint_sets=nodes.taint_sets,
        images=_images(nodes, told),
        feature_ids=nodes.feature_ids,
        feature_sets=nodes.feature_sets,
        unwell=nodes.unwell,
        missing=nodes.missing,
        cache={key: value for key, value in nodes.cache.items() if _lasts(key)},
    )


def _lasts(key: object) -> bool:
    return key in LASTING or (isinstance(key, tuple) and key[0] == "column")


def _images(nodes: NodeView, told: Told) -> tuple[tuple[ContainerImage, ...], ...]:
    """Images that nobody asks for are left out: no decision and no answer is about them."""
    others, shown = dict(told.other_images), dict[ContainerImage, ContainerImage | None]()

    def show(image: ContainerImage) -> ContainerImage | None:
        if any(full_name(name) in told.own_images for name in image.names):
            return image
        names = tuple(others[name] for name in image.names if name in others)
        return ContainerImage(names, image.size_bytes) if names else None

    for image in {image for images in nodes.images for image in images}:
        shown[image] = show(image)
    return tuple(
        tuple(found for image in images if (found := shown[image]) is not None) if images else ()
        for images in nodes.images
    )
