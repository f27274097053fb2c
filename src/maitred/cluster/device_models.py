"""The models of the devices of nodes, by their labels."""

import numpy as np

from maitred.cluster.nodes import Codes, NodeView

Models = tuple[tuple[str, ...], Codes]
"""All models, and which of them the devices of each node are; the first is none."""


def models_of(nodes: NodeView, labels: tuple[str, ...]) -> Models:
    """`labels` say which model it is; the first that a node has counts."""
    return nodes.derived(("models", labels), lambda: _models(nodes, labels))


def _models(nodes: NodeView, labels: tuple[str, ...]) -> Models:
    found, code_of = {"": 0}, np.zeros(len(nodes.names), dtype=np.int32)
    for key in labels:
        column = nodes.column(key)
        codes = np.array([found.setdefault(value, len(found)) for value in column.values] + [0])
        code_of = np.where(code_of == 0, codes[column.codes], code_of)
    return tuple(found), code_of
