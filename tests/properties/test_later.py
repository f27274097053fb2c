"""Pods that come later, over small random clusters: what comes first is seated exactly where all of it fits,
and nobody of equal or lower rank gets the room that is kept for the rest. Brute force has the last word."""

import copy
from collections import Counter
from datetime import UTC, datetime

from hypothesis import event, given

from maitred.verify import verify
from tests.oracle import brute
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.reading import key
from tests.oracle.staged import LATELY, Scene, Staged, scenes
from tests.support import decide

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def entry_of(plan: Obj, name: str) -> Obj:
    (entry,) = (one for one in plan["groups"] if one["group"] == name)
    return dict(entry)


def held(plan: Obj, name: str) -> int:
    return sum(hold["pods"] for hold in plan["holds"] if hold["group"] == name)


def with_binds(objects: list[Obj], binds: list[Obj]) -> list[Obj]:
    """The cluster once these are carried out."""
    after, places = copy.deepcopy(objects), {bind["pod"]: bind["node"] for bind in binds}
    for obj in after:
        if obj["kind"] == "Pod" and key(obj) in places:
            obj["spec"]["nodeName"] = places[key(obj)]
    return after


def rank(pods: list[Obj]) -> int:
    return max((int(pod["spec"].get("priority", 0)) for pod in pods), default=0)


def is_kept(one: Staged) -> bool:
    """Whether room is kept for what comes next: not of an owner that is suspended, and only for a while."""
    started = {pod["status"].get("startTime") for pod in one.firsts}
    return one.runs and not one.suspended and LATELY in started


@given(scenes(runs=False, rivals=0))
@examples(100)
def test_what_comes_first_is_seated_if_and_only_if_all_of_it_fits(scene: Scene) -> None:
    one, plan = scene.staged, decide(scene.objects)
    entry, fits = entry_of(plan, one.first), brute.seatable(scene.objects, one.whole)
    event(f"{one.owner}: {'fits' if fits else 'does not fit'}")
    assert (entry["verdict"] == "Scheduled") == fits, (entry, brute.best_seating(scene.objects, one.whole))
    assert held(plan, one.later) == (len(one.missing) if fits else 0)
    assert {hold["owner"] for hold in plan["holds"]} <= {one.owner}
    assert (entry["members"], entry["quorum"]) == (len(one.firsts), len(one.firsts))
    assert not plan["searchExhausted"]


@given(scenes(runs=False, rivals=0))
@examples(80)
def test_what_comes_first_is_impossible_if_and_only_if_all_of_it_never_fits(scene: Scene) -> None:
    one, entry = scene.staged, entry_of(decide(scene.objects), scene.staged.first)
    possible = brute.seatable_on_empty(scene.objects, one.whole)
    event("possible" if possible else "impossible")
    assert (entry["verdict"] != "Impossible") == possible, entry


@given(scenes(runs=False, rivals=0))
@examples(50)
def test_blockers_count_what_comes_later(scene: Scene) -> None:
    one, entry = scene.staged, entry_of(decide(scene.objects), scene.staged.first)
    if entry["verdict"] not in ("Waiting", "Impossible"):
        return
    detail = entry["blockers"][0]["detail"]
    assert detail["later"] == [{"group": one.later, "pods": len(one.missing)}]
    if "needed" in detail:
        event(entry["blockers"][0]["category"])
        assert detail["needed"] == len(one.firsts) + len(one.missing)


@given(scenes(runs=True))
@examples(100)
def test_nobody_of_equal_or_lower_rank_gets_the_room_of_what_comes_next(scene: Scene) -> None:
    one, plan = scene.staged, decide(scene.objects)
    if not is_kept(one):
        return
    rivals = {key(rival): rival for rival in scene.rivals}
    taken = [bind for bind in plan["binds"] if bind["pod"] in rivals]
    higher = [bind for bind in taken if rank([rivals[bind["pod"]]]) > rank([*one.pods, *one.missing])]
    could = brute.seatable(with_binds(scene.objects, higher), one.whole)
    can = brute.seatable(with_binds(scene.objects, taken), one.whole)
    event(f"{'could' if could else 'could not'}, {len(taken)} others bound")
    assert can == could, (plan["binds"], plan["holds"])
    waiting = held(plan, one.later) + sum(bind["pod"] not in rivals for bind in plan["binds"])
    assert waiting == (len(one.laters) + len(one.missing) if could else 0), plan


@given(scenes(runs=True))
@examples(50)
def test_no_room_is_kept_for_what_does_not_come_or_comes_too_late(scene: Scene) -> None:
    if scene.staged.runs and not is_kept(scene.staged):
        assert decide(scene.objects)["holds"] == []


@given(scenes())
@examples(200)
def test_every_law_holds_beside_rivals(scene: Scene) -> None:
    plan = decide(scene.objects)
    event(str(Counter(entry["verdict"] for entry in plan["groups"])))
    assert verify(scene.objects, plan, None, now=NOON) == []
