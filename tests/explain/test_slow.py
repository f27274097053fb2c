"""What people are told of members that are slow, and that the policy has replaced."""

import pytest

from tests.decide.slow import EARLIER, POLICY, SAVED, cluster
from tests.explain.healths import health_of, hurt
from tests.explain.whys import why_of
from tests.oracle.builders import Obj

SLOW = "its steps take 9.5 s, and those of the gang 2.05 s (median)"
TOLD = {
    "now": (cluster(SAVED), "replaced now, if there is room elsewhere"),
    "later": (cluster(EARLIER), "replaced after the next checkpoint, if there is room elsewhere"),
    "never": (cluster(None), "it says nothing of checkpoints"),
}


@pytest.mark.parametrize("when", TOLD)
def test_health_and_why_tell_what_becomes_of_it(when: str) -> None:
    objects, words = TOLD[when]
    assert words in hurt(health_of(objects, POLICY), "default/train").healing
    [note] = slow_notes(objects, POLICY)
    assert words in note


def test_without_the_field_it_is_only_named() -> None:
    found = hurt(health_of(cluster()), "default/train")
    assert (SLOW in found.words, found.healing) == (True, "")
    assert slow_notes(cluster(), None) == []


def slow_notes(objects: list[Obj], policy: Obj | None) -> list[str]:
    return [note for note in why_of(objects, "default/train", policy=policy).notes if SLOW in note]
