"""Whatever a tenant writes into marks: decisions go on, others are seated, and no record grows with it."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.decide import decide
from maitred.model.group import MARKS
from maitred.model.membership import KEYS
from maitred.model.meta import Timestamp
from maitred.model.policy import Policy
from maitred.model.protection import ALL_PROTECTION_MARKS
from maitred.model.runtime import EXPECTED_RUNTIME, LIMIT_MARKS
from maitred.model.timing import TIMING_MARKS
from maitred.verify import verify
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.support import NOON, snapshot_of

NOW = msgspec.convert(NOON, Timestamp)
INDEX = "batch.kubernetes.io/job-completion-index"
LONGEST = 20_000
"""Of a Plan about a handful of pods, whatever is written on them."""

numbers = st.sampled_from(["0", "1", "3", "-1", "٣", "1e9", "9" * 19, "9" * 5_000, "0" * 5_000 + "1"])
times = st.sampled_from(
    ["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "99999999999w", "1s"]
)
documents = st.sampled_from(
    [
        "[" * 100_000,
        '{"gatherStrategy":' + "[" * 100_000,
        '[{"minMember":' + "[" * 50_000 + "]" * 50_000 + "}]",
        '[{"minMember":1e400}]',
        '[{"minMember":' + "9" * 3_000 + "}]",
        '{"gatherStrategy":[{"strategy":"MustGather","layer":["rack"]}]}',
        '{"gatherStrategy":[' + ",".join(['{"strategy":"PreferGather","layer":"y"}'] * 5_000) + "]}",
    ]
)
texts = st.one_of(
    numbers,
    times,
    documents,
    st.text(max_size=20),
    st.sampled_from(["true", "g", "", "a/b", "x" * 200_000, "a\nb\x1b[31m"]),
)
EVERY_MARK = sorted({*MARKS, *KEYS, *ALL_PROTECTION_MARKS, INDEX})
"""Ours, and those of other schedulers and operators that say something of a group."""
marks = st.dictionaries(st.sampled_from(EVERY_MARK), texts, max_size=5)
APPLICATION = {"yunikorn.apache.org/app-id": "app", "yunikorn.apache.org/task-group-name": "t"}


def tenant(written: Sequence[Mapping[str, str]], named: Mapping[str, str]) -> list[Obj]:
    """Pods that wait and pods that run, one for each set of marks; in one group unless they say otherwise."""
    return [
        b.pod(
            f"liar-{number}",
            cpu=1,
            namespace="liars",
            annotations={**named, **one},
            node="n0" if number % 2 else None,
        )
        for number, one in enumerate(written)
    ]


@given(
    st.lists(marks, min_size=1, max_size=4),
    st.sampled_from([{"maitred.dev/group": "g"}, {"pod-group-name": "g"}, APPLICATION, {}]),
)
@examples(300)
def test_others_are_seated_whatever_a_tenant_marks_its_pods_with(
    written: list[Mapping[str, str]], named: Mapping[str, str]
) -> None:
    assert_harmless(tenant(written, named))


@pytest.mark.parametrize("mark", EVERY_MARK)
@pytest.mark.parametrize("text", ["x" * 200_000, "[" * 100_000], ids=["long", "deep"])
def test_no_mark_may_be_too_long_or_too_deep(mark: str, text: str) -> None:
    named = APPLICATION if mark.startswith("yunikorn") else {"pod-group-name": "g"}
    assert_harmless(tenant([{mark: text}] * 2, named))


@pytest.mark.parametrize("kind", ["Job", "JobSet", "Anything"])
@pytest.mark.parametrize("field", ["name", "uid", "kind", "apiVersion"])
def test_an_owner_reference_may_be_of_any_length(kind: str, field: str) -> None:
    """The API server asks only that they are not empty."""
    liars = tenant([{"maitred.dev/min-count": "1"}] * 4, {})
    for liar in liars:
        owner = {"apiVersion": "v1", "kind": kind, "name": "x", "uid": "u", "controller": True}
        liar["metadata"]["ownerReferences"] = [{**owner, field: "x" * 200_000}]
    assert_harmless(liars)


def assert_harmless(liars: list[Obj]) -> None:
    """Others are seated, and the record stays small; also where the liars would have to leave for them."""
    plan = decided_beside(liars, room=4)
    [others] = [group for group in plan["groups"] if group["group"] == "default/honest"]
    assert others["verdict"] == "Scheduled"
    decided_beside(liars, room=2)


def decided_beside(liars: list[Obj], room: int) -> Obj:
    objects = [*(b.node(f"n{number}", cpu=room, pods=10) for number in range(2)), *liars, *honest()]
    text = msgspec.json.encode(decide(snapshot_of(objects), Policy(), NOW))
    assert len(text) < LONGEST
    plan: Obj = msgspec.json.decode(text)
    breaches = verify(objects, plan)
    assert not [one for one in breaches if "honest" in one.subject or not plan["evictions"]]
    return plan


def honest() -> list[Obj]:
    return [b.pod(f"honest-{n}", cpu=1, annotations=b.gang("honest", 4), priority=1) for n in range(4)]


@pytest.mark.parametrize("mark", ["maitred.dev/min-count", "maitred.dev/slice-size"])
def test_a_number_of_thousands_of_digits_ends_nothing(mark: str) -> None:
    annotations = {"maitred.dev/group": "g", "maitred.dev/slice-topology": "rack", mark: "9" * 5_000}
    plan = decide(snapshot_of([b.node("n0"), b.pod("p", annotations=annotations), *honest()]), Policy(), NOW)
    assert {group.group: group.verdict for group in plan.groups}["default/g"] == "Invalid"


def test_members_of_many_opinions_are_not_all_quoted() -> None:
    pods = [
        b.pod(f"p{n}", annotations={"maitred.dev/group": "g", "maitred.dev/min-count": str(n + 1)})
        for n in range(50)
    ]
    plan = decide(snapshot_of([b.node("n0"), *pods]), Policy(), NOW)
    [group] = plan.groups
    assert group.blockers[0].message.endswith(", 45 more")


@pytest.mark.parametrize("mark", sorted({*TIMING_MARKS, *LIMIT_MARKS, EXPECTED_RUNTIME}))
def test_a_group_has_one_warning_of_each_mark_that_cannot_be_read(mark: str) -> None:
    """Whatever its members write; a warning is told in every cycle."""
    pods = [b.pod(f"p{n}", annotations={**b.gang("g", 2), mark: f"{n}{'x' * 900}"}) for n in range(50)]
    [warning] = decide(snapshot_of([b.node("n0"), *pods]), Policy(), NOW).warnings
    assert warning.startswith(f"group default/g: {mark}: ")
    assert len(warning) < 300
