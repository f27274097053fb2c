"""Devices that pods have by claims are paid for as devices that they request; verify's own count agrees."""

from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.meta import Timestamp
from maitred.verify import verify
from tests.decide.test_budgets import MODEL, blocker, bound, remembered, spending
from tests.decide.test_queue_claims import (
    BASE,
    CLASS,
    DRIVER,
    GPU,
    OF_CLASS,
    ONE,
    OWN,
    accelerators,
    claiming,
    held,
    policy,
    template,
)
from tests.oracle.builders import Obj, gang, node, pod
from tests.oracle.device_builders import (
    claim_spec,
    device_class,
    exactly,
    first_available,
    resource_claim,
    use,
    wish,
)
from tests.oracle.effort import examples
from tests.support import NOON, decide

NOW = msgspec.convert(NOON, Timestamp)
NODE = accelerators("n1")
TWO = claim_spec(exactly("gpu", wish(CLASS, 2)))
SHARED = [use("gpu", "both")]
LOTS = st.tuples(st.integers(1, 2), st.integers(1, 9), st.booleans())


def paying(name: str, hours: float = 100, **budget: Any) -> Obj:
    """A queue whose groups run for two hours unless they say something else."""
    amount = budget or {"deviceHours": hours}
    return {"name": name, "budget": {"period": "day", **amount}, "runtime": {"default": "2h"}}


def limited(name: str, queue: str, limit: str, uses: list[Obj], **more: Any) -> Obj:
    marks = {"maitred.dev/max-runtime": limit, **more.pop("annotations", {})}
    return claiming(name, queue, uses, annotations=marks, **more)


def judged(objects: list[Obj], rules: Obj) -> Obj:
    """The Plan; it breaks no law, and what it remembers is what verify reckons."""
    plan = decide(objects, rules, NOON)
    assert [str(one) for one in verify(objects, plan, rules, now=NOW)] == []
    return plan


def totals(plan: Obj, queue: str = "a") -> tuple[float, float, float]:
    found = spending(plan, queue)
    return found["spent"], found["rate"], found["committed"]


# -- who may start -------------------------------------------------------------------------------------


def test_claims_are_paid_from_the_first_hour() -> None:
    """Each of three needs two device-hours."""
    objects = [*BASE, *NODE, ONE, *(claiming(f"p{n}", "a", OWN) for n in range(3))]
    assert bound(judged(objects, policy(paying("a", 5)))) == ["p0", "p1"]


def test_the_blocker_counts_devices_of_claims() -> None:
    four = template("four", exactly("gpu", wish(CLASS, 4)))
    plan = judged(
        [*BASE, *NODE, four, claiming("p", "a", [use("gpu", template="four")])], policy(paying("a", 5))
    )
    assert blocker(plan, "p")["detail"]["asked"] == 8
    assert "(4 an hour until its end)" in blocker(plan, "p")["message"]


def test_claims_and_requests_are_paid_together() -> None:
    by_request = pod("r", annotations={"maitred.dev/queue": "a"}, requests={GPU: "1"}, limits={GPU: "1"})
    objects = [*BASE, *NODE, ONE, by_request, claiming("s", "a", OWN)]
    assert len(bound(judged(objects, policy(paying("a", 3))))) == 1
    assert len(bound(judged(objects, policy(paying("a", 4))))) == 2


def test_a_request_by_the_name_of_the_class_is_paid_too() -> None:
    asked = {OF_CLASS: "2"}
    by_class = pod("r", annotations={"maitred.dev/queue": "a"}, requests=asked, limits=asked)
    assert bound(judged([*BASE, *NODE, by_class], policy(paying("a", 3)))) == []
    assert bound(judged([*BASE, *NODE, by_class], policy(paying("a", 4)))) == ["r"]


def test_of_alternatives_the_most_is_committed_until_one_is_chosen() -> None:
    more = template("more", first_available("gpu", wish(CLASS, 3), wish(CLASS, 1)))
    objects = [*BASE, *NODE, more, claiming("p", "a", [use("gpu", template="more")])]
    assert bound(judged(objects, policy(paying("a", 5)))) == []
    assert bound(judged(objects, policy(paying("a", 6)))) == ["p"]


def test_members_that_share_a_new_claim_pay_once() -> None:
    members = [claiming(f"g{n}", "a", SHARED, annotations=gang("g", 3)) for n in range(3)]
    objects = [*BASE, *NODE, resource_claim("both", TWO), *members]
    assert bound(judged(objects, policy(paying("a", 3.9)))) == []
    assert len(bound(judged(objects, policy(paying("a", 4))))) == 3


def test_groups_that_share_a_new_claim_pay_once() -> None:
    """And what is left pays for one more."""
    sharing = [claiming(f"s{n}", "a", SHARED) for n in range(3)]
    more = [claiming(f"t{n}", "a", OWN) for n in range(2)]
    objects = [*BASE, *NODE, ONE, resource_claim("both", TWO), *sharing, *more]
    assert bound(judged(objects, policy(paying("a", 6)))) == ["s0", "s1", "s2", "t0"]


def test_a_new_claim_is_paid_by_the_queue_that_gets_it_first() -> None:
    """`x` goes first, in a queue that has no budget. Then it costs `y` nothing."""
    both = [claiming("x", "b", SHARED), claiming("y", "a", SHARED)]
    objects = [*BASE, *NODE, resource_claim("both", TWO), *both]
    rules = policy(paying("a", 1), {"name": "b"})
    assert bound(judged(objects, rules)) == ["x", "y"]
    assert bound(judged([*objects[:-2], both[1]], rules)) == []


@pytest.mark.parametrize(("name", "counts"), [("gpu.other.com", True), ("link.other.com", False)])
def test_a_class_without_a_resource_is_of_devices_by_its_name(name: str, counts: bool) -> None:
    """`gpu.other.com` is `other.com/gpu`."""
    made = device_class(name, f'device.driver == "{DRIVER}"')
    asks = template("it", exactly("gpu", wish(name)))
    objects = [*BASE, made, *NODE, asks, claiming("p", "a", [use("gpu", template="it")])]
    assert bound(judged(objects, policy(paying("a", 1)))) == ([] if counts else ["p"])


def test_any_class_is_of_devices_where_the_policy_says_so() -> None:
    made = device_class("link.other.com", f'device.driver == "{DRIVER}"')
    asks = template("it", exactly("gpu", wish("link.other.com")))
    objects = [*BASE, made, *NODE, asks, claiming("p", "a", [use("gpu", template="it")])]
    for pattern in ("link.other.com", "deviceclass.resource.kubernetes.io/link*"):
        rules = policy(paying("a", 1)) | {"devices": {"resources": [pattern]}}
        assert bound(judged(objects, rules)) == []


# -- what runs -----------------------------------------------------------------------------------------


def test_what_runs_pays_for_what_it_was_given() -> None:
    spec = claim_spec(first_available("gpu", wish(CLASS, 3), wish(CLASS, 1)))
    running = limited("r", "a", "6h", [use("gpu", template="any")], at="n1")
    claim = held("r-gpu", spec, "n1", ["d0"], [running], request="gpu/b")
    objects = [*BASE, *NODE, template("any", *spec["devices"]["requests"]), running, claim]
    assert totals(judged(objects, policy(paying("a")))) == (4, 1, 2)


def test_a_shared_claim_is_paid_by_whom_it_was_reserved_for_first() -> None:
    """`b` came three hours later, and is there for longer. It pays for nothing."""
    first = limited("x", "a", "5h", SHARED, at="n1")
    second = limited("b", "b", "9h", SHARED, at="n1", start="2026-01-31T11:00:00Z")
    claim = held("both", TWO, "n1", ["d0", "d1"], [first, second])
    rules = policy(paying("a"), paying("b", 1))
    plan = judged([*BASE, *NODE, first, second, claim], rules)
    assert totals(plan) == (8, 2, 2)
    assert [one["queue"] for one in plan["budgets"]["queues"]] == ["a"]
    third = claiming("y", "b", SHARED)
    assert bound(judged([*BASE, *NODE, first, second, claim, third], rules)) == ["y"]


def test_whoever_joins_a_claim_that_somebody_pays_for_commits_nothing() -> None:
    """Of one that runs, also if nothing is left for a new claim; and for what it has beside that it pays."""
    first = limited("x", "a", "5h", SHARED, at="n1")
    claim = held("both", TWO, "n1", ["d0", "d1"], [first])
    objects = [*BASE, *NODE, ONE, first, claim]
    joins, more = claiming("y", "a", SHARED), claiming("z", "a", [*SHARED, use("mine", template="one")])
    assert bound(judged([*objects, joins], policy(paying("a", 10)))) == ["y"]
    assert bound(judged([*objects, more], policy(paying("a", 11.9)))) == []
    assert bound(judged([*objects, more], policy(paying("a", 12)))) == ["z"]
    alone = [*BASE, *NODE, ONE, resource_claim("both", TWO), more]
    assert [len(bound(judged(alone, policy(paying("a", hours))))) for hours in (5.9, 6)] == [0, 1]


def test_every_device_is_paid_by_one_whoever_shares_it() -> None:
    """Of three in two queues, whoever of them is left: never twice, and never by nobody."""
    users = [
        limited(name, queue, "9h", SHARED, at="n1") for name, queue in (("x", "a"), ("y", "b"), ("z", "b"))
    ]
    rules = policy(paying("a"), paying("b"))
    for left in ([0, 1, 2], [1, 2], [2], [0, 2]):
        there = [users[number] for number in left]
        plan = judged([*BASE, *NODE, *there, held("both", TWO, "n1", ["d0", "d1"], there)], rules)
        assert sum(one["rate"] for one in plan["budgets"]["queues"]) == 2


def test_of_a_claim_the_first_pays_who_pays_at_all() -> None:
    """Beside somebody who runs for nothing, whoever joins pays, and commits that."""
    first = limited("x", "a", "5h", SHARED, at="n1")
    claim, rules = held("both", TWO, "n1", ["d0", "d1"], [first]), policy(paying("a", 3.9), paying("b", 3.9))
    rules["queues"][0]["budget"]["onSpent"] = "scavenge"
    kept = remembered("2026-01-31T11:59:00Z")
    record = {"at": "2026-01-31T11:59:00Z", "scavengers": [{"group": "default/x", "pods": ["default-x"]}]}
    kept["data"]["record"] = msgspec.json.encode(record).decode()
    joins = claiming("y", "b", SHARED)
    objects = [*BASE, *NODE, first, claim, kept, joins]
    assert bound(judged(objects, rules)) == []
    rules["queues"][1]["budget"]["deviceHours"] = 4
    assert bound(judged(objects, rules)) == ["y"]
    second = limited("y", "b", "9h", SHARED, at="n1")
    both = held("both", TWO, "n1", ["d0", "d1"], [first, second])
    plan = judged([*BASE, *NODE, first, second, both, kept], rules)
    assert [(one["queue"], one["rate"]) for one in plan["budgets"]["queues"]] == [("b", 2)]


def test_when_the_payer_has_left_the_next_one_pays_and_nothing_is_paid_twice() -> None:
    """It was written down while `x` paid for the claim, and `z`, who used it too, for nothing."""
    next_one = limited("z", "a", "6h", SHARED, at="n1")
    claim = held("both", TWO, "n1", ["d0", "d1"], [next_one])
    before = remembered("2026-01-31T11:59:00Z", a={"spent": 7.9, "rate": 2.0, "committed": 2.1})
    plan = judged([*BASE, *NODE, next_one, claim, before], policy(paying("a")))
    spent, rate, committed = totals(plan) if plan["budgets"] else (0, 0, 0)
    assert (round(spent, 6), rate, committed) == (round(7.9 + 2 / 60, 6), 2, 4)


def test_access_for_an_administrator_costs_nothing() -> None:
    spec = claim_spec(exactly("gpu", wish(CLASS, admin=True)))
    running = claiming("r", "a", [use("gpu", template="look")], at="n1")
    claim = held("r-gpu", spec, "n1", ["d0"], [running], admin=True)
    assert judged([*BASE, *NODE, running, claim], policy(paying("a")))["budgets"] is None


def test_what_a_scheduler_made_for_a_request_is_paid_once() -> None:
    marks = {"maitred.dev/queue": "a", "maitred.dev/max-runtime": "6h"}
    running = pod("r", annotations=marks, requests={GPU: "2"}, node="n1")
    running["status"] = {"phase": "Running", "startTime": "2026-01-31T08:00:00Z"}
    spec = claim_spec(exactly("container-0-request-0", wish(CLASS, 2)))
    claim = held("r-extended-resources-x", spec, "n1", ["d0", "d1"], [running])
    assert totals(judged([*BASE, *NODE, running, claim], policy(paying("a")))) == (8, 2, 4)


def test_a_claim_that_is_reserved_for_nobody_on_a_node_costs_nothing() -> None:
    running = limited("r", "a", "6h", SHARED, at="n1")
    claim = held("both", TWO, "n1", ["d0", "d1"], [])
    assert judged([*BASE, *NODE, running, claim], policy(paying("a")))["budgets"] is None


@given(st.lists(LOTS, min_size=1, max_size=6), st.integers(1, 40))
@examples(6)
def test_claims_cost_what_requests_cost(lots: list[tuple[int, int, bool]], hours: int) -> None:
    """Devices, hours, and whether it runs: whichever way they are asked for, the same groups start, and the
    same is spent."""
    rules = policy(paying("a", hours))
    claims: list[Obj] = [device_class(CLASS, f'device.driver == "{DRIVER}"', resource=GPU)]
    requests: list[Obj] = [node("n1", allocatable={GPU: "12"})]
    claims += accelerators("n1", 12)
    begun, free = "2026-01-31T08:00:00Z", iter(f"d{n}" for n in range(12))
    for number, (count, span, runs) in enumerate(lots):
        name, limit, at = f"g{number}", f"{span}h", "n1" if runs else ""
        spec = claim_spec(exactly("gpu", wish(CLASS, count)))
        by_claim = limited(name, "a", limit, [use("gpu", template=f"t{number}")], at=at)
        claims += [template(f"t{number}", *spec["devices"]["requests"]), by_claim]
        if runs:
            claims.append(held(f"{name}-gpu", spec, "n1", list(islice(free, count)), [by_claim]))
        marks = {"maitred.dev/queue": "a", "maitred.dev/max-runtime": limit}
        by_request = pod(name, annotations=marks, requests={GPU: str(count)}, node=at or None)
        if runs:
            by_request["status"] = {"phase": "Running", "startTime": begun}
        requests.append(by_request)
    plans = [judged(objects, rules) for objects in (claims, requests)]
    assert bound(plans[0]) == bound(plans[1])
    assert plans[0]["budgets"] == plans[1]["budgets"]


# -- money ---------------------------------------------------------------------------------------------


def test_money_is_charged_by_the_model_of_the_node() -> None:
    nodes = [*accelerators("n1", model="", label="H100"), *accelerators("n2", model="", label="A100")]
    prices = [
        {"resource": GPU, "model": "H100", "perHour": 3},
        {"resource": GPU, "model": "A100", "perHour": 1},
    ]
    rules = policy(paying("a", money=5)) | {"prices": {"devices": prices, "currency": "EUR"}}
    dear = claiming("p", "a", OWN)
    dear["spec"]["nodeSelector"] = {MODEL: "H100"}
    objects = [*BASE, *nodes, ONE, dear]
    assert blocker(judged(objects, rules), "p")["detail"]["asked"] == 6
    objects = [*BASE, *nodes, ONE, claiming("p", "a", OWN)]
    assert [one["node"] for one in judged(objects, rules)["binds"]] == ["n2"]


@pytest.mark.parametrize("name", [GPU, CLASS, OF_CLASS, "*"])
def test_a_price_may_name_the_class_in_any_way(name: str) -> None:
    rules = policy(paying("a", money=100)) | {"prices": {"devices": [{"resource": name, "perHour": 2.5}]}}
    running = limited("r", "a", "6h", OWN, at="n1")
    claim = held("r-gpu", claim_spec(exactly("gpu", wish(CLASS))), "n1", ["d0"], [running])
    assert totals(judged([*BASE, *NODE, ONE, running, claim], rules)) == (10, 2.5, 5)


# -- the checker ---------------------------------------------------------------------------------------


def test_the_checker_finds_claims_that_no_budget_pays() -> None:
    objects = [*BASE, *NODE, ONE, claiming("p", "a", OWN)]
    plan = judged(objects, policy(paying("a", 2)))
    assert bound(plan) == ["p"]
    (fault,) = [str(one) for one in verify(objects, plan, policy(paying("a", 1)), now=NOW)]
    assert "commits 2 device-hours to groups that start, and of 1" in fault


def test_the_checker_finds_claims_that_are_not_written_down() -> None:
    running = limited("r", "a", "6h", SHARED, at="n1")
    objects = [*BASE, *NODE, running, held("both", TWO, "n1", ["d0", "d1"], [running])]
    plan = judged(objects, policy(paying("a")))
    plan["budgets"]["queues"][0]["rate"] = 1.0
    (fault,) = [str(one) for one in verify(objects, plan, policy(paying("a")), now=NOW)]
    assert "spends by the hour 1, and it is 2" in fault
