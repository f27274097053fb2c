"""Laws of nodes that are asked for: nobody asks twice, or lacks something else than room; what has come is
given to nobody else. The checker judges every Plan by its own reading."""

from hypothesis import given
from hypothesis import strategies as st

from maitred.verify import verify
from tests.decide.test_provisioning import NOW, POLICY, crew, node, request
from tests.oracle import builders as b
from tests.oracle.effort import examples
from tests.support import Obj, decide

OUTCOMES = ("Accepted", "Provisioned", "Failed", "CapacityRevoked", "BookingExpired")
NAMES = ("one", "two", "three")


@st.composite
def scenes(draw: st.DrawFn) -> list[Obj]:
    """Groups of which some have asked, nodes of which some have come since then, and pods on some of them."""
    objects = list[Obj]()
    for name in NAMES[: draw(st.integers(1, 3))]:
        count, gpu = draw(st.integers(1, 3)), draw(st.sampled_from([1, 4, 8]))
        objects += crew(name, count, gpu, created=-draw(st.sampled_from([0.25, 5, 9])))
        if draw(st.booleans()):
            said = draw(st.sets(st.sampled_from(OUTCOMES), max_size=2))
            made = -draw(st.sampled_from([1, 4, 40]))
            objects.append(request(name, made, **dict.fromkeys(said, "")))
    for number in range(draw(st.integers(1, 4))):
        objects.append(
            node(f"n{number}", -draw(st.sampled_from([0.5, 2, 600])), draw(st.sampled_from([4, 8])))
        )
        if draw(st.booleans()):
            objects.append(b.pod(f"on-n{number}", gpu=draw(st.integers(1, 4)), node=f"n{number}"))
    return objects


@examples(40)
@given(scenes())
def test_the_checker_agrees(objects: list[Obj]) -> None:
    plan = decide(objects, POLICY)
    assert [str(one) for one in verify(objects, plan, POLICY, now=NOW)] == []
    kept = {name: one["for"] for one in plan["reservations"] for name in one["nodes"]}
    for bind in plan["binds"]:
        assert kept.get(bind["node"], f"group {bind['group']}") == f"group {bind['group']}"
    # Nothing is kept twice, and who has been asked for does not ask.
    assert sum(len(one["nodes"]) for one in plan["reservations"]) == len(kept)
    asked = {one["metadata"]["name"] for one in objects if one["kind"] == "ProvisioningRequest"}
    assert asked.isdisjoint(one["name"] for one in plan["provisioning"])


@examples(15)
@given(scenes())
def test_without_the_policy_requests_change_nothing(objects: list[Obj]) -> None:
    plain = {"nodeTemplates": POLICY["nodeTemplates"]}
    others = [one for one in objects if one["kind"] != "ProvisioningRequest"]
    assert decide(objects, plain) == decide(others, plain)
