"""Trees of groups against brute force: decide seats one if and only if that can be done, and by all laws."""

from hypothesis import given

from maitred.verify import verify
from tests.decide.reading import entry
from tests.oracle.trees import Case, trees
from tests.support import decide


@given(case=trees())
def test_a_small_tree_is_seated_if_and_only_if_that_can_be_done(case: Case) -> None:
    objects = case.objects()
    if not any(leaf.pods for leaf in case.tree.leaves()):
        return
    plan = decide(objects)
    assert not verify(objects, plan)
    assert not plan["searchExhausted"]
    told, fits = entry(plan, "root"), case.fits()
    assert (told["verdict"] == "Scheduled") == fits, told
    if told["verdict"] == "Waiting":
        assert told["blockers"][0]["category"] == "Members", "an empty cluster that has no room never has"
    for bound in plan["binds"]:
        assert bound["group"] == "default/root"


@given(case=trees())
def test_what_runs_of_a_tree_draws_the_rest_to_its_domains(case: Case) -> None:
    """The first pods that a Plan binds run; whoever is late is then seated where brute force can do it."""
    objects = case.objects()
    plan = decide(objects)
    seats = {bind["pod"].partition("/")[2]: bind["node"] for bind in plan["binds"]}
    started = {pod: seats[pod] for pod in sorted(seats)[: len(seats) // 2]}
    for leaf in case.tree.leaves():
        leaf.pods = [
            (cpu, started.get(f"{leaf.name}-{number}", "")) for number, (cpu, _) in enumerate(leaf.pods)
        ]
    if not started or not any(not at for leaf in case.tree.leaves() for _, at in leaf.pods):
        return
    later = decide(case.objects())
    assert not verify(case.objects(), later)
    assert entry(later, "root")["verdict"] == "Scheduled"
