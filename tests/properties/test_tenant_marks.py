"""Whatever a tenant writes into marks: decisions go on, others are seated, and no record grows with it."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.decide import decide
from maitred.model.group import MARKS
from maitred.model.meta import Timestamp
from maitred.model.policy import Policy
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
texts = st.one_of(
    numbers, times, st.text(max_size=20), st.just("x" * 200_000), st.sampled_from(["true", "g"])
)
marks = st.dictionaries(st.sampled_from([*MARKS, INDEX]), texts, max_size=5)


def tenant(written: Sequence[Mapping[str, str]]) -> list[Obj]:
    """Pods that wait and pods that run, one for each set of marks; in one group unless they say otherwise."""
    return [
        b.pod(
            f"liar-{number}",
            cpu=1,
            namespace="liars",
            annotations={"maitred.dev/group": "g", **one},
            node="n0" if number % 2 else None,
        )
        for number, one in enumerate(written)
    ]


@given(st.lists(marks, min_size=1, max_size=4))
@examples(150)
def test_others_are_seated_whatever_a_tenant_marks_its_pods_with(written: list[Mapping[str, str]]) -> None:
    names = [{key: text[:200] if key == MARKS[0] else text for key, text in one.items()} for one in written]
    objects = [
        *(b.node(f"n{number}", cpu=4, pods=10) for number in range(2)),
        *tenant(names),
        *honest(),
    ]
    plan = decide(snapshot_of(objects), Policy(), NOW)
    [others] = [group for group in plan.groups if group.group == "default/honest"]
    assert others.verdict == "Scheduled"
    text = msgspec.json.encode(plan)
    assert len(text) < LONGEST
    assert not [breach for breach in verify(objects, msgspec.json.decode(text)) if "honest" in breach.subject]


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
