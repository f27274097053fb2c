"""The oracle of queues on published examples, with their numbers; and rule by rule."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.effort import examples
from tests.oracle.queues import Queues, Sharer, amounts, fits


def limit(resource: str = "gpu", model: str = "*", **amounts: int) -> dict[str, Any]:
    return {"resource": resource, "model": model, **amounts}


def queue(name: str, *limits: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "limits": limits, **more}


def gpus(name: str, queue: str, count: int, start: int = 0, priority: int = 0, model: str = "") -> Sharer:
    return Sharer(name, queue, amounts(model, gpu=count), priority, start)


# -- Dominant Resource Fairness, NSDI 2011, section 4.1 ----------------------------------------------------


def test_dominant_resource_fairness() -> None:
    """9 CPU and 18 GB. A task of A takes 1 CPU and 4 GB, one of B 3 CPU and 1 GB: A gets three, B two, and
    both have two thirds of what they have most of."""
    tree = Queues(
        [queue("A", limit("cpu", cap=9)), queue("B", limit("memory", cap=18))],
        {("cpu", ""): 9, ("memory", ""): 18},
    )
    asks = {"A": amounts(cpu=1, memory=4), "B": amounts(cpu=3, memory=1)}
    seated = list[Sharer]()
    order = ""
    while True:
        waiting = [Sharer(name, name, ask) for name, ask in asks.items()]
        one = tree.next(waiting, seated)
        total = Counter[tuple[str, str]]()
        for group in (*seated, one):
            total.update(group.use)
        if any(total[key] > tree.there[key] for key in total):
            break
        seated.append(Sharer(f"{one.name}{len(seated)}", one.queue, one.use))
        order += one.queue
    assert Counter(order) == {"A": 3, "B": 2}
    assert tree.share("A", seated) == tree.share("B", seated) == pytest.approx(2 / 3)
    # The table of the paper lets B go first where both have nothing; here it is A, by name.
    assert order == "ABABA"


# -- Kueue: concepts, ClusterQueue -------------------------------------------------------------------------

TEAM_A, TEAM_B = (9, 36), (12, 48)
COHORT = {("cpu", ""): 21, ("memory", ""): 84}


def cohort(more: dict[str, Any] | None = None, **of_b: Any) -> Queues:
    """Two teams with their nominal quotas of CPU and Gi of memory."""
    a = [limit("cpu", guarantee=TEAM_A[0], **(more or {})), limit("memory", guarantee=TEAM_A[1])]
    b = [limit("cpu", guarantee=TEAM_B[0]), limit("memory", guarantee=TEAM_B[1])]
    return Queues([queue("team-a", *a), queue("team-b", *b, **of_b)], COHORT)


def most_cpu(tree: Queues, name: str, seated: list[Sharer]) -> int:
    """How many groups of 1 CPU and 4 Gi a queue can have in what is free."""
    count, now = 0, list(seated)
    while True:
        one = Sharer(f"w{count}", name, amounts(cpu=1, memory=4), start=count)
        free = tree.there["cpu", ""] - sum(group.use["cpu", ""] for group in now)
        if free < 1 or tree.refusal(one, now):
            return count
        now.append(one)
        count += 1


def test_kueue_borrows_what_the_other_leaves() -> None:
    """12 + 9 = 21 CPU and 48 + 36 = 84 Gi."""
    assert most_cpu(cohort(), "team-a", []) == 21


def test_kueue_admits_the_other_before_more_is_borrowed() -> None:
    tree = cohort()
    full = [Sharer("a", "team-a", amounts(cpu=9, memory=36))]
    more, own = (Sharer(q, q, amounts(cpu=1, memory=4), start=n) for n, q in enumerate(("team-a", "team-b")))
    assert tree.next([more, own], full) is own


def test_kueue_with_a_borrowing_limit() -> None:
    """9 + 1 = 10 CPU; the other team borrows 12 + 9."""
    tree = cohort({"cap": 10})
    assert most_cpu(tree, "team-a", []) == 10
    assert most_cpu(tree, "team-b", []) == 21


def test_kueue_that_does_not_lend() -> None:
    """A lendingLimit of 0: there is nothing but the own 9 CPU, whether the other has used its 12 or not."""
    assert most_cpu(cohort(lend="never"), "team-a", []) == 9
    used = [Sharer("b", "team-b", amounts(cpu=12, memory=48))]
    assert most_cpu(cohort(lend="never"), "team-a", used) == 9


def test_kueue_reclaims_within_the_cohort() -> None:
    """`reclaimWithinCohort: Any`: who fits into the nominal quota takes what others have borrowed, whatever
    the priorities; and nothing within their nominal quotas."""
    tree = cohort()
    first = Sharer("first", "team-a", amounts(cpu=9, memory=36), priority=9, start=1)
    second = Sharer("second", "team-a", amounts(cpu=12, memory=48), priority=9, start=2)
    fits_in = Sharer("b", "team-b", amounts(cpu=12, memory=48))
    assert tree.evictable(fits_in, [first, second]) == {"second": "Reclaim"}
    too_large = Sharer("b", "team-b", amounts(cpu=13, memory=48))
    assert tree.evictable(too_large, [first, second]) == {}


# -- KAI and Run:ai ----------------------------------------------------------------------------------------


def test_runai_over_quota() -> None:
    """The quick start: 4 GPUs, 2 for each team. team-a runs a1 (1) and a2 (2), team-b runs b1 (1): 3 and 1.
    Then b2 (1) comes, and team-a must be within its quota again.

    There a1 leaves. Here a2 does: a1 started first and is within the guarantee, so it is entitled.
    """
    tree = Queues([queue(name, limit(guarantee=2)) for name in ("team-a", "team-b")], {("gpu", ""): 4})
    seated = [gpus("a1", "team-a", 1, 1), gpus("a2", "team-a", 2, 2), gpus("b1", "team-b", 1, 3)]
    assert tree.evictable(gpus("b2", "team-b", 1, 4), seated) == {"a2": "Reclaim"}


def test_kai_reclaims_over_quota_regardless_of_priority() -> None:
    """kai#2065, case 2: 12 GPUs, a quota of 8 for each; A runs three tasks of 4, and B wants 4."""
    tree = Queues([queue(name, limit(guarantee=8)) for name in "AB"], {("gpu", ""): 12})
    seated = [gpus(f"A{n}", "A", 4, n, priority=90) for n in (1, 2, 3)]
    assert tree.evictable(gpus("B1", "B", 4, priority=80), seated) == {"A3": "Reclaim"}


def kai(fair: bool) -> Queues:
    """kai#1934: a tree of critical workloads and of users who share, each with a quota of 2 of 8 GPUs."""
    users = [queue(name, limit(guarantee=2), parent="shared") for name in ("alice", "bob")]
    return Queues(
        [queue("priority", limit(guarantee=8)), queue("shared", limit(guarantee=0)), *users],
        {("gpu", ""): 8},
        fair,
    )


ALICE = [gpus(f"a{n}", "alice", 1, n) for n in range(8)]


def test_kai_critical_workloads_take_from_everybody() -> None:
    """The branches part at the top, where what is shared has no guarantee at all."""
    assert set(kai(False).evictable(gpus("p", "priority", 8), ALICE)) == {f"a{n}" for n in range(8)}


def test_kai_users_reclaim_up_to_their_quota() -> None:
    taken = reclaimed(kai(False), "bob", ALICE)
    assert [one.queue for one in taken].count("bob") == 2


def test_users_reclaim_up_to_their_share_if_the_policy_says_so() -> None:
    """What kai#1934 asks for: half of 8. The share afterwards is less than what the other had before."""
    taken = reclaimed(kai(True), "bob", ALICE)
    assert [one.queue for one in taken].count("bob") == 4
    # And nothing goes back.
    assert reclaimed(kai(True), "alice", taken) == taken


def reclaimed(tree: Queues, name: str, seated: list[Sharer]) -> list[Sharer]:
    """After one GPU after the other was reclaimed for a queue, as long as that goes."""
    now = list(seated)
    for number in range(20):
        one = gpus(f"{name}-new-{number}", name, 1, 100 + number)
        victims = tree.evictable(one, now)
        if "Reclaim" not in victims.values():
            return now
        last = max((group for group in now if victims.get(group.name) == "Reclaim"), key=lambda g: g.start)
        now = [*(group for group in now if group is not last), one]
    raise AssertionError("reclaim does not end")


# -- rule by rule ------------------------------------------------------------------------------------------

TWO = [queue("a", limit(guarantee=8)), queue("b", limit(guarantee=8))]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([("x", 4, 1, 0), ("y", 4, 2, 0)], {"x", "y"}),
        # By priority, then by start; one that straddles is borrowed whole, a smaller one after it may fit.
        ([("x", 6, 1, 0), ("y", 4, 2, 0), ("z", 2, 3, 0)], {"x", "z"}),
        ([("x", 6, 1, 0), ("y", 4, 2, 9), ("z", 4, 3, 0)], {"y", "z"}),
        ([("x", 9, 1, 0)], set()),
    ],
)
def test_entitled(groups: list[tuple[str, int, int, int]], expected: set[str]) -> None:
    seated = [gpus(name, "a", count, start, priority) for name, count, start, priority in groups]
    assert Queues(TWO).entitled("a", seated) == expected


def test_at_every_level_anew() -> None:
    tree = Queues(
        [
            queue("top", limit(guarantee=8)),
            queue("x", limit(guarantee=4), parent="top"),
            queue("y", parent="top"),
        ]
    )
    seated = [gpus("x1", "x", 4, 2), gpus("y1", "y", 4, 1, priority=9), gpus("y2", "y", 4, 0)]
    assert tree.entitled("y", seated) == set()
    assert tree.entitled("x", seated) == {"x1"}
    # Whoever is entitled further down goes first, whatever the priority.
    assert tree.entitled("top", seated) == {"x1", "y1"}


def test_guarantees_on_models() -> None:
    tree = Queues([queue("a", limit(model="H100", guarantee=8)), queue("b", limit(guarantee=4))])
    assert tree.entitled("a", [gpus("h", "a", 8, model="NVIDIA-H100")]) == {"h"}
    assert tree.entitled("a", [gpus("l", "a", 1, model="L4")]) == set()
    assert tree.entitled("b", [gpus("l", "b", 4, model="L4")]) == {"l"}
    # What no limit speaks of is nobody's: it keeps no group from being entitled.
    assert tree.entitled("b", [Sharer("c", "b", amounts("L4", gpu=1, cpu=99))]) == {"c"}


def test_guarantees_taken_together() -> None:
    children = [
        queue("x", limit(guarantee=4), parent="top"),
        queue("y", limit(model="H100", guarantee=4), parent="top"),
    ]
    assert Queues([queue("top"), *children]).guarantees("top") == [("gpu", "*", 8)]
    assert Queues([queue("top", limit(guarantee=6)), *children]).guarantees("top") == [("gpu", "*", 6)]


def test_within_a_queue_priority_decides() -> None:
    tree = Queues(TWO)
    seated = [gpus("low", "a", 8, 1, priority=1), gpus("same", "a", 8, 2, priority=5)]
    assert tree.evictable(gpus("new", "a", 8, 3, priority=5), seated) == {"low": "Preemption"}


def test_a_borrower_preempts_what_is_borrowed() -> None:
    tree = Queues(TWO)
    seated = [gpus("entitled", "a", 8, 1), gpus("borrowed", "a", 4, 2), gpus("own", "b", 8, 3)]
    assert tree.evictable(gpus("new", "b", 4, 4), seated) == {}
    assert tree.evictable(gpus("new", "b", 4, 4, priority=1), seated) == {
        "borrowed": "Preemption",
        "own": "Preemption",
    }


def test_equal_shares_are_not_enough() -> None:
    tree = Queues([queue("a", limit(cap=99)), queue("b")], {("gpu", ""): 16}, fair=True)
    assert tree.evictable(gpus("new", "b", 7), [gpus("x", "a", 8)]) == {"x": "Reclaim"}
    assert tree.evictable(gpus("new", "b", 8), [gpus("x", "a", 8)]) == {}


def test_the_order() -> None:
    tree = Queues([*TWO, queue("c", weight=2), queue("d")], {("gpu", ""): 32})
    seated = [gpus("1", "a", 8), gpus("2", "c", 4), gpus("3", "d", 4)]
    waiting = [
        gpus("over", "a", 1, 1, priority=9),
        gpus("entitled", "b", 8, 9),
        gpus("heavy", "c", 1, 8),
        gpus("light", "d", 1, 2),
        gpus("urgent", "d", 1, 7, priority=1),
    ]
    order = list[str]()
    while waiting:
        one = tree.next(waiting, seated)
        waiting.remove(one)
        seated.append(one)
        order.append(one.name)
    assert order == ["entitled", "over", "urgent", "heavy", "light"]


def test_the_order_in_a_tree() -> None:
    """Where both borrow at the top, the priority decides, however deep their queues are."""
    tree = Queues(
        [
            queue("top", limit(guarantee=1)),
            queue("x", parent="top"),
            queue("y", limit(guarantee=1), parent="top"),
        ],
        {("gpu", ""): 32},
    )
    deep, flat = gpus("deep", "x", 2, priority=10), gpus("flat", "default", 2, priority=5)
    own = gpus("own", "y", 1, priority=0)
    assert tree.next([flat, deep], []) is deep
    # Within the top queue whoever is entitled goes first, and with the rest of it outside it.
    assert tree.next([flat, deep, own], []) is own
    assert tree.next([flat, deep, own], [gpus("old", "x", 1)]) is flat


def test_the_order_in_a_queue() -> None:
    """By priority alone, as for evictions: if the one that fits went first, it would take back the place that
    it had to leave for the other, again and again."""
    tree = Queues(TWO, {("gpu", ""): 8})
    fits_in, large = gpus("fits", "a", 4, 1), gpus("large", "a", 12, 2, priority=1)
    assert tree.cause(large, fits_in, [fits_in]) == "Preemption"
    assert tree.next([fits_in, large], []) is large


def test_limits() -> None:
    tree = Queues(
        [
            queue("top", limit(cap=10)),
            queue("x", limit(cap=6, perUser=4), parent="top"),
            queue("y", parent="top"),
            queue("proud", limit(guarantee=2), borrow="never"),
        ],
        {("gpu", ""): 20},
    )

    def wants(queue: str, count: int, user: str = "", *seated: Sharer) -> str:
        return tree.refusal(Sharer("new", queue, amounts(gpu=count), user=user), seated)

    assert wants("x", 4) == ""
    assert wants("x", 5) == "perUser of x"
    assert wants("x", 2, "", Sharer("old", "x", amounts(gpu=3))) == "perUser of x", "nobody knows of whom"
    assert wants("x", 7) == "cap of x"
    assert wants("x", 4, "ann") == ""
    assert wants("x", 5, "ann") == "perUser of x"
    assert wants("x", 4, "bob", Sharer("old", "x", amounts(gpu=2), user="ann")) == ""
    assert wants("y", 5, "", gpus("old", "x", 6)) == "cap of top"
    assert wants("proud", 2) == ""
    assert wants("proud", 3) == "proud never borrows"


def test_what_is_never_lent_is_kept() -> None:
    tree = Queues(
        [
            queue("mean", limit(guarantee=6), lend="never"),
            queue("grim", limit(model="H100", guarantee=2), lend="never"),
            queue("a", limit(guarantee=4)),
            queue("b"),
        ],
        {("gpu", "H100"): 8, ("gpu", "L4"): 8},
    )
    used = [gpus("m", "mean", 2, model="L4"), gpus("x", "b", 2, model="H100")]
    # 12 are free, 4 and 2 are kept; of the 6 on H100 only the 2 of grim are.
    assert tree.refusal(gpus("new", "b", 6, model="L4"), used) == ""
    assert tree.refusal(gpus("new", "b", 7, model="H100"), used) == "mean never lends"
    assert tree.refusal(gpus("new", "b", 5, model="H100"), used) == "grim never lends"
    # Who takes what is kept for itself, or is entitled beside it, is not refused.
    assert tree.refusal(gpus("new", "mean", 4, model="H100"), used) == ""
    rest = [*used, gpus("y", "b", 4, model="H100"), gpus("z", "b", 6, model="L4")]
    assert tree.refusal(gpus("new", "a", 2, model="H100"), rest) == ""


@pytest.mark.parametrize(
    ("pattern", "model", "right"),
    [
        ("*", "", True),
        ("H100", "NVIDIA-H100-80GB-HBM3", True),
        ("H100", "", False),
        ("L4", "NVIDIA-L40S", False),
        ("L4*", "NVIDIA-L40S", True),
        ("nvidia.h100", "NVIDIA-H100-80GB", True),
    ],
)
def test_patterns(pattern: str, model: str, right: bool) -> None:
    assert fits(pattern, model) is right


@examples(100)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 6), st.integers(0, 2)), max_size=6),
    st.booleans(),
    st.integers(1, 6),
)
def test_nobody_takes_back_what_was_reclaimed_from_him(
    running: list[tuple[str, int, int]], fair: bool, count: int
) -> None:
    """Two queues never change places by turns, by guarantees or by shares."""
    tree = Queues(TWO, {("gpu", ""): 24}, fair)
    seated = [gpus(f"g{n}", name, c, n, p) for n, (name, c, p) in enumerate(running)]
    claimant = gpus("new", "a", count, 99)
    for name, cause in tree.evictable(claimant, seated).items():
        victim = next(group for group in seated if group.name == name)
        after = [*(group for group in seated if group is not victim), claimant]
        if cause == "Reclaim":
            again = Sharer(victim.name, victim.queue, victim.use, victim.priority, 200)
            assert tree.cause(again, claimant, after) != "Reclaim"
