"""Which volume a Plan gives to which claim."""

import pytest

from maitred.verify import verify

from .make import Raw, claim, node, pod, seating, storage_class, uses, volume

ZONE = "topology.kubernetes.io/zone"
LOCAL = "kubernetes.io/no-provisioner"
ZONES = [node(name, labels={ZONE: name}) for name in ("a", "b")]
WANTED = claim("c", storage_class="s")
WAITING = [*ZONES, pod("p", volumes=uses("c")), WANTED, storage_class("s", provisioner=LOCAL)]
MAKING = [*WAITING[:-1], storage_class("s")]
IN_A = volume("v", "a", storage_class="s")
KEPT = volume("v", "a", storage_class="s", claimRef={"namespace": "default", "name": "c"})


def given(name: str | None, place: str = "a", key: str = "c") -> Raw:
    return {"claim": f"default/{key}", "volume": name, "node": place}


def breaches(objects: list[Raw], *volumes: Raw, seats: dict[str, str] | None = None) -> list[str]:
    made = {**seating(seats or {"p": "a"}), "volumes": list(volumes)}
    return [f"{one.law} {one.subject}: {one.message}" for one in verify(objects, made)]


def test_a_volume_that_exists_and_suits() -> None:
    assert breaches([*WAITING, IN_A], given("v")) == []


def test_a_volume_that_is_made() -> None:
    assert breaches(MAKING, given(None)) == []


def test_a_plan_without_the_field_says_nothing_of_volumes() -> None:
    assert verify([*WAITING, IN_A], seating({"p": "a"})) == []


SELECTED = claim(
    "c", storage_class="s", metadata={"annotations": {"volume.kubernetes.io/selected-node": "a"}}
)
WRONG: dict[str, tuple[list[Raw], list[Raw], str]] = {
    "not said": ([*WAITING, IN_A], [], "does not say which volume it gets"),
    "not asked for": (
        [*WAITING, IN_A, claim("d", storage_class="s")],
        [given("v"), given("w", key="d")],
        "no pod that is bound waits",
    ),
    "bound already": (
        [*ZONES, pod("p", volumes=uses("c")), claim("c", "v"), volume("v")],
        [given("v")],
        "no pod that is bound waits",
    ),
    "for another node": ([*WAITING, IN_A], [given("v", "b")], "its volume is for b"),
    "a volume that does not exist": ([*WAITING, IN_A], [given("w")], "which does not exist"),
    "a volume out of reach": (
        [*WAITING, IN_A, volume("w", "b", storage_class="s")],
        [given("w")],
        "cannot be used from a",
    ),
    "a volume that is too small": (
        [*WAITING, IN_A, volume("w", "a", storage_class="s", size="1Mi")],
        [given("w")],
        "does not suit",
    ),
    "a volume of another class": (
        [*WAITING, IN_A, volume("w", "a", storage_class="t")],
        [given("w")],
        "does not suit",
    ),
    "another one is kept for it": (
        [*WAITING, volume("w", "a", storage_class="s"), KEPT],
        [given("w")],
        "v is kept for it",
    ),
    "none can be made": ([*WAITING, IN_A], [given(None)], "no volume can be made for it on a"),
    "one is being made": (
        [*ZONES, pod("p", volumes=uses("c")), SELECTED, storage_class("s"), IN_A],
        [given("v")],
        "one is being made",
    ),
    "twice": ([*WAITING, IN_A], [given("v"), given("v")], "is given a volume 2 times"),
}


@pytest.mark.parametrize("story", WRONG)
def test_a_wrong_choice_is_told(story: str) -> None:
    objects, volumes, words = WRONG[story]
    assert any(words in one for one in breaches(objects, *volumes)), breaches(objects, *volumes)


def test_one_volume_for_two_claims() -> None:
    both = [*WAITING, IN_A, pod("q", volumes=uses("d")), claim("d", storage_class="s")]
    found = breaches(both, given("v"), given("v", key="d"), seats={"p": "a", "q": "a"})
    assert "1 v: the volume is given to 2 claims" in found


def test_the_choice_of_the_plan_counts_and_not_the_first_that_comes_to_mind() -> None:
    """The smallest volume that suits `c` is the only one for `d`, so the Plan gives `c` the other."""
    both = [
        *WAITING,
        volume("small", storage_class="s", size="1Gi"),
        volume("large", "a", storage_class="s", size="9Gi"),
        pod("q", volumes=uses("d")),
        claim("d", storage_class="s"),
    ]
    seats = {"p": "a", "q": "b"}
    assert breaches(both, given("large"), given("small", "b", "d"), seats=seats) == []
    assert breaches(both, given("small"), given("large", "b", "d"), seats=seats) != []
