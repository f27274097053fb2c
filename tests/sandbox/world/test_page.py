"""docs/sandbox.md has every field of worlds and stories."""

import re
from pathlib import Path

import msgspec
import pytest

from maitred.model.world import Levels, NodeKind, World
from maitred.model.world_devices import Partition, WorldDevice
from maitred.sandbox.kubelets import marks
from maitred.sandbox.world.story import Step, Story, StoryGang, StoryNodes, StoryWait

PAGE = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text()
PROSE = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
WORDS = {word for code in re.findall(r"`([^`]+)`", PROSE) for word in re.split(r"[^\w/-]+", code)}
ENVELOPE = {"apiVersion", "kind"}


@pytest.mark.parametrize(
    "settings",
    [World, Levels, NodeKind, WorldDevice, Partition, Story, Step, StoryGang, StoryWait, StoryNodes],
)
def test_every_field_is_on_the_page(settings: type[msgspec.Struct]) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(settings)} - ENVELOPE <= WORDS


def test_every_mark_is_on_the_page() -> None:
    written = (marks.KUBELET, marks.FAULT, marks.RUN_SECONDS, marks.EXIT_CODE, marks.START_SECONDS)
    assert all(mark in PAGE for mark in written)
