"""Run-time limits of queues: whatever users write, Jobs end when their groups have had their time."""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maitred.model.runtime import KUEUE_LIMIT, MAX_RUNTIME, SET_DEADLINE, SLINKY_LIMIT
from maitred.verify import verify
from tests.oracle import builders as b
from tests.oracle.effort import examples
from tests.support import NOON, Obj, decide

NOW = datetime.fromisoformat(NOON)
QUEUES = ("top", "mine", "yours", "default")
PLACES: tuple[tuple[str | None, ...], ...] = (("n1",), (None,), ("n1",), (None,), ("n1", None))
"""Where the pods of a Job are: all on a node, none, or some."""
ABSURD = ("-1h", "0", "never", "9" * 50, "1e9", "٣h")
spans = st.sampled_from(["none", "1s", "30m", "2h", "1d"])
said = st.one_of(st.sampled_from(["90s", "45m", "3h", "2d"]), st.sampled_from(ABSURD))
numbers = st.one_of(st.integers(1, 200_000).map(str), st.sampled_from(ABSURD))


def ago(minutes: int) -> str:
    return (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


@st.composite
def marks(draw: st.DrawFn) -> Obj:
    asked = draw(
        st.fixed_dictionaries({}, optional={MAX_RUNTIME: said, KUEUE_LIMIT: numbers, SLINKY_LIMIT: numbers})
    )
    noted = draw(st.none() | st.integers(1, 300_000))
    queue = draw(st.sampled_from(["mine", "yours", ""]))
    note = {} if noted is None else {SET_DEADLINE: str(noted)}
    return {**asked, **note, **({"maitred.dev/queue": queue} if queue else {})}


@st.composite
def workloads(draw: st.DrawFn, name: str) -> list[Obj]:
    size = draw(st.integers(1, 3))
    completions = draw(st.sampled_from([size, size, size, None, size + 2]))
    spec: Obj = {"parallelism": size, **({} if completions is None else {"completions": completions})}
    if completions == size:
        spec["completionMode"] = draw(st.sampled_from(["Indexed", "Indexed", "Indexed", "NonIndexed"]))
    about, begun = draw(marks()), draw(st.integers(1, 600))
    own = draw(st.sampled_from(["none", "none", "ours", "any"]))
    if own != "none":
        spec["activeDeadlineSeconds"] = draw(st.integers(1, 100_000)) + draw(st.sampled_from([0, 60 * begun]))
    if own == "ours":
        about[SET_DEADLINE] = str(spec["activeDeadlineSeconds"])
    job = b.owner_object("batch/v1", "Job", name, "default", spec, annotations=about)
    places = draw(st.sampled_from(PLACES))
    job["status"] = {"startTime": ago(begun)} if draw(st.integers(0, 5)) else {}
    found = [job]
    for index in range(size):
        own_marks = draw(st.sampled_from([{}, {}, {MAX_RUNTIME: draw(said)}]))
        node = draw(st.sampled_from(places))
        labels = {"batch.kubernetes.io/job-completion-index": str(index)}
        pod = b.pod(
            f"{name}-{index}", cpu=1, owner=f"Job/{name}", labels=labels, annotations=own_marks, node=node
        )
        if node is not None and draw(st.integers(0, 3)):
            pod["status"]["startTime"] = ago(draw(st.integers(0, begun)))
        found.append(pod)
    return found


@st.composite
def pods_alone(draw: st.DrawFn) -> list[Obj]:
    """That nobody controls: each by itself, or in a gang; in one, somebody may control another member."""
    gang, about = draw(st.booleans()), draw(marks())
    found = [b.pod_group("g", 2)] if gang else []
    for index in range(draw(st.integers(0, 3))):
        own = draw(st.sampled_from([None, None, draw(st.integers(1, 100_000))]))
        spec = {} if own is None else {"activeDeadlineSeconds": own}
        owner = draw(st.sampled_from([None, None, None, None, None, "ReplicaSet/web"]))
        more: Any = {"group": "g"} if gang else {}
        node = draw(st.sampled_from(["n1", "n1", None]))
        pod = b.pod(f"alone-{index}", cpu=1, annotations=about, node=node, owner=owner, spec=spec, **more)
        if node is not None and draw(st.integers(0, 3)):
            pod["status"]["startTime"] = ago(draw(st.integers(0, 600)))
        found.append(pod)
    return found


@st.composite
def policies(draw: st.DrawFn) -> Obj:
    def terms() -> Obj:
        enforce, pods = draw(st.integers(0, 3)) > 0, draw(st.booleans())
        return {"default": draw(spans), "most": draw(spans), "enforce": enforce, "enforcePods": pods}

    parents = {"mine": "top", "yours": "top"}
    return {"queues": [{"name": q, "parent": parents.get(q, ""), "runtime": terms()} for q in QUEUES]}


@given(policies(), st.data())
@examples(60)
def test_deadlines_are_as_an_independent_checker_says_and_one_plan_sets_all(
    policy: Obj, data: st.DataObject
) -> None:
    jobs = [*data.draw(workloads("one")), *data.draw(workloads("two"))]
    objects = [b.node("n1", cpu=16), *jobs, *data.draw(pods_alone())]
    plan = decide(objects, policy, NOON)
    assert verify(objects, plan, policy, None, NOW) == []
    assert not plan["evictions"]
    carry_out(objects, plan)
    assert [one for one in decide(objects, policy, NOON)["deadlines"] if one["seconds"] is not None] == []


def carry_out(objects: list[Obj], plan: Obj) -> None:
    known: dict[tuple[str, str], Any] = {
        (one["kind"], f"default/{one['metadata']['name']}"): one for one in objects
    }
    for deadline in plan["deadlines"]:
        seconds = deadline["seconds"]
        if deadline["pod"]:
            spec = known["Pod", deadline["pod"]]["spec"]
            assert seconds < spec.get("activeDeadlineSeconds", seconds + 1), "no deadline is made later"
            spec["activeDeadlineSeconds"] = seconds
            continue
        job = known["Job", deadline["job"]]
        annotations = job["metadata"].setdefault("annotations", {})
        before = job["spec"].pop("activeDeadlineSeconds", None)
        annotations.pop(SET_DEADLINE, None)
        if seconds is not None:
            assert before is None or seconds < before, "no deadline is made later"
            job["spec"]["activeDeadlineSeconds"], annotations[SET_DEADLINE] = seconds, str(seconds)
