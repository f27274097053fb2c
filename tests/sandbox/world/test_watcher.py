"""The floor is kept up to date, whatever anyone has written on one object."""

import msgspec
import pytest

from maitred.explain.floorplan import table_of
from maitred.model.node import Node
from maitred.sandbox.world.watcher import ChangeCounter, KeptObjects


def node(name: str, cpu: str) -> Node:
    return msgspec.convert({"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu}}}, Node)


def test_a_node_with_less_than_nothing_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    shelf = KeptObjects(table_of, ChangeCounter())
    for each in (node("a", "8"), node("b", "8"), node("a", "-8")):
        shelf.put(each)
    assert list(shelf.kept) == ["b"]
    assert caplog.messages[0].startswith("a is not shown: ")
