"""Why one rather than another, and why a pod had to leave."""

from typing import Any

import msgspec
import pytest

from maitred.explain.why.answer import Comparison, EvictionAnswer
from maitred.explain.why.comparing import compare, without_group
from maitred.explain.why.evicted import receipt
from maitred.explain.why.names import Names
from maitred.explain.why.tables import comparison_lines, eviction_lines
from maitred.model.history import History, PastEviction
from maitred.model.manifest import InputError
from maitred.model.plan import Eviction
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.support import Obj, decide, snapshot_of


def gang(name: str, count: int = 2, created: int = 0, **fields: Any) -> list[Obj]:
    return [
        b.pod_group(name, count, created=created),
        *b.pods(name, count, group=name, created=created, gpu=8, **fields),
    ]


def nodes(count: int) -> list[Obj]:
    return [b.node(f"n{i}", gpu=8, cpu=64) for i in range(count)]


def compared(objects: list[Obj], one: str = "default/one", two: str = "default/two") -> Comparison:
    answer = compare(situation_of(objects), one, two)
    again = msgspec.json.decode(msgspec.json.encode(answer), type=Comparison)
    assert next(iter(comparison_lines(again, 80))).plain.startswith("default/")
    return again


def decisive(answer: Comparison) -> tuple[str, str | None]:
    (point,) = (point for point in answer.points if point.decides)
    return point.rule, point.first


# -- one rather than another ---------------------------------------------------------------------------


def test_a_higher_priority_decides() -> None:
    answer = compared([*nodes(3), *gang("one", created=0), *gang("two", created=5, priority=10)])
    assert decisive(answer) == ("priority", "other")
    assert answer.summary == (
        "default/two comes before default/one: its priority is higher (10 > 0); "
        "without default/two, default/one would fit"
    )
    assert answer.fits_without_other is True


def test_age_then_name_decide() -> None:
    older = compared([*nodes(3), *gang("one", created=9), *gang("two", created=5)])
    assert decisive(older) == ("age", "other")
    alike = compared([*nodes(3), *gang("one"), *gang("two")])
    assert decisive(alike) == ("name", "group")
    assert alike.fits_without_other is None, "it does not wait"


def test_the_order_may_be_first_come_first_served() -> None:
    objects = [*nodes(3), *gang("one", created=0), *gang("two", created=5, priority=10)]
    answer = compare(situation_of(objects, policy={"order": "fifo"}), "default/one", "default/two")
    assert decisive(answer) == ("age", "group")
    assert "priority" not in [point.rule for point in answer.points]


def test_one_that_runs_already_and_may_not_be_made_to_leave() -> None:
    running = [b.pod(f"two-{i}", gpu=8, group="two", node=f"n{i}") for i in range(2)]
    answer = compared([*nodes(3), *gang("one"), b.pod_group("two", 2), *running])
    assert decisive(answer) == ("runs already", "other")
    assert answer.fits_without_other is True
    assert answer.preemption == "there is no pod of a lower priority to evict"


def test_one_that_runs_and_is_to_leave() -> None:
    running = [b.pod(f"two-{i}", gpu=8, group="two", node=f"n{i}", priority=0) for i in range(2)]
    objects = [*nodes(2), *gang("one", priority=10), b.pod_group("two", 2), *running]
    answer = compared(objects)
    assert decisive(answer) == ("takes its places", "group")
    assert answer.summary == (
        "default/one comes before default/two, which leaves for it (Preemption): priority 10 is higher than 0"
    )
    assert answer.cause == "Preemption"
    assert answer.preemption.startswith(
        "default/two will be evicted for default/one (priority 10 > 0): 2 pods of default/two leave"
    )
    other_way = compare(situation_of(objects), "default/two", "default/one")
    assert (decisive(other_way), other_way.summary) == (("takes its places", "other"), answer.summary)


def test_one_that_would_not_help() -> None:
    answer = compared([*nodes(3), *gang("one", 4, created=9), *gang("two", created=5)])
    assert answer.fits_without_other is False
    assert answer.summary.endswith("but without default/two, default/one would not fit either")
    assert answer.without_other.startswith("Impossible: Capacity")


def test_one_that_may_not_start() -> None:
    answer = compared([*nodes(1), *gang("one", created=0, gates=["q"]), *gang("two", created=5)])
    assert decisive(answer) == ("may start", "other")


def test_nobody_is_compared_with_itself() -> None:
    with pytest.raises(InputError, match="default/one cannot be compared with itself; name another group"):
        compare(situation_of([*nodes(1), *gang("one")]), "default/one", "default/one")


def test_taking_a_group_out_gives_back_all_that_it_held() -> None:
    rest = [*nodes(3), *gang("one")]
    claim = b.pvc("disk", volume="v")
    held = [b.pod("two-0", gpu=3, cpu=2, group="two", node="n1", claims=["disk"])]
    full = snapshot_of([*rest, claim, b.pod_group("two", 1), *held])
    emptied, never = without_group(full, Names(full), "default/two"), snapshot_of([*rest, claim])
    assert (emptied.used == never.used).all()
    assert len(emptied.bound.node) == len(never.bound.node) == 0
    assert emptied.claims_in_use == never.claims_in_use == {}


# -- why a pod had to leave ----------------------------------------------------------------------------

LOW = [b.pod(f"low-{i}", gpu=8, node=f"n{i}", priority=0, owner="Job/low") for i in range(2)]
PREEMPTING = [*nodes(2), *LOW, *gang("high", priority=10)]


def past() -> History:
    """The same evictions, as if they had been carried out, twice."""
    plan = decide(PREEMPTING)
    evictions = [msgspec.convert(eviction, Eviction) for eviction in plan["evictions"]]
    return History(since=0.0, evictions=[PastEviction(at, one) for at in (60.0, 120.0) for one in evictions])


def test_a_pod_that_is_to_leave() -> None:
    answer = receipt(situation_of(PREEMPTING), "low-0", "default")
    (only,) = answer.evictions
    assert only.at is None
    assert answer.summary.startswith("default/low-0 is to be evicted for default/high (priority 10 > 0)")
    assert answer.known_since is None


def test_receipts_come_newest_first() -> None:
    answer = receipt(situation_of(nodes(2), history=past()), "default/low-1", "elsewhere")
    assert [one.at for one in answer.evictions] == ["1970-01-01T00:02:00Z", "1970-01-01T00:01:00Z"]
    assert answer.summary.startswith("default/low-1 was evicted for default/high")
    again = msgspec.json.decode(msgspec.json.encode(answer), type=EvictionAnswer)
    lines = [line.plain for line in eviction_lines(again, 80)]
    assert any(line.startswith("For") and "default/high, priority 10" in line for line in lines)


def test_a_pod_that_stays() -> None:
    answer = receipt(situation_of([*nodes(1), LOW[0]]), "low-0", "default")
    assert (answer.summary, answer.evictions) == (
        "default/low-0 was not evicted, and will not be by the current plan",
        (),
    )


def test_a_pod_that_nobody_knows() -> None:
    with pytest.raises(
        InputError, match=r"no pod default/lo-1, and no evicted .* did you mean default/low-1"
    ):
        receipt(situation_of(nodes(2), history=past()), "lo-1", "default")
    with pytest.raises(InputError, match="without a ledger, past evictions are not known"):
        receipt(situation_of(nodes(2)), "low-1", "default")
