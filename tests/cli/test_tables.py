"""A Plan for people: a line for each group, reasons in full, nothing that a terminal or a pipe trips over."""

from maitred.explain.tables import plan_lines
from maitred.model.plan import Bind, Blocker, GroupVerdict, Plan, Remedy
from tests.explain.evictions import eviction

TOPOLOGY = "no rack has room for 8 members; the best, r7, holds 6 of 8 because r7-n03 and r7-n04 are cordoned"


def bind(group: str, number: int, node: str) -> Bind:
    return Bind(f"{group}-{number}", "", node, group)


PLAN = Plan(
    binds=(
        *(bind("ml/train", i, f"n{i % 2}") for i in range(8)),
        *(bind("ml/wide", i, f"m{i:02}") for i in range(20)),
        bind("default/web", 0, "n1"),
    ),
    nominations=(bind("ml/big", 0, "n7"),),
    evictions=(
        eviction("ml/x-0", "ml/x", "ml/big"),
        eviction("ml/x-1", "ml/x", "ml/big"),
        eviction("ml/lone", None, "ml/big"),
    ),
    groups=(
        GroupVerdict("ml/train", "Scheduled", 8, 8, 8, {"rack": "r1"}),
        GroupVerdict("ml/wide", "Scheduled", 24, 16, 20, {}, (Blocker("Capacity", "4 more do not fit"),)),
        GroupVerdict("default/web", "Scheduled", 1, 1, 1),
        GroupVerdict("ml/big", "Preempting", 1, 1, 0),
        GroupVerdict(
            *("ml/eval", "Waiting", 8, 8, 0, {}),
            blockers=(Blocker("Topology", TOPOLOGY), Blocker("Health", "2 nodes are cordoned")),
            remedies=(Remedy("uncordon r7-n03"),),
        ),
    ),
)


def lines(plan: Plan, width: int | None = None) -> list[str]:
    return [line.plain for line in plan_lines(plan, width)]


def test_the_whole_page() -> None:
    assert lines(PLAN) == [
        "GROUP        VERDICT     PLACED  QUORUM  WHERE     WHY",
        "default/web  Scheduled   1/1     1       n1",
        "ml/train     Scheduled   8/8     8       rack r1",
        "ml/wide      Scheduled   20/24   16      20 nodes  Capacity: 4 more do not fit",
        "ml/big       Preempting  0/1     1       n7",
        f"ml/eval      Waiting     0/8     8                 Topology: {TOPOLOGY}",
        "",
        "ml/wide: Scheduled, 20 of 24 members placed, quorum 16",
        "  Capacity  4 more do not fit",
        "",
        "ml/eval: Waiting, 0 of 8 members placed, quorum 8",
        f"  Topology  {TOPOLOGY}",
        "  Health    2 nodes are cordoned",
        "  Remedy    uncordon r7-n03",
        "",
        "Binds",
        "  ml/train     8 pods on n0 (4), n1 (4)",
        "  ml/wide      20 pods on m00, m01, m02, m03, m04, m05, m06, m07 and 12 more nodes",
        "  default/web  1 pod on n1",
        "",
        "Nominations",
        "  ml/big  1 pod on n7",
        "",
        "Evictions",
        "  ml/big  3 pods of ml/lone (1), ml/x (2)",
        "          priority 10 yields to 100; 0 device-hours lost; 3 deleted for good",
        "",
        "5 groups: 3 scheduled, 1 preempting, 1 waiting; 29 pods to bind, on 22 nodes, 3 pods to evict.",
    ]


def test_a_terminal_of_a_hundred_columns() -> None:
    shown = lines(PLAN, 100)
    assert max(len(line) for line in shown) <= 100
    assert not any(line.endswith(" ") for line in shown)
    assert shown[5].endswith("...")
    start = shown.index(next(line for line in shown if line.startswith("  Topology")))
    assert " ".join(line.strip() for line in shown[start : start + 2]) == f"Topology  {TOPOLOGY}"


def test_nothing_to_decide() -> None:
    assert lines(Plan()) == ["No pod waits to be scheduled."]


def test_the_search_bound_and_the_time_are_told() -> None:
    group = GroupVerdict("a/b", "Waiting", 1, 1, 0)
    shown = "\n".join(lines(Plan(groups=(group,), search_exhausted=True, wake_at="2026-01-01T00:00:00Z")))
    assert "policy.search.steps" in shown
    assert "2026-01-01T00:00:00Z" in shown


def test_markup_and_control_characters_are_only_text() -> None:
    blocker = Blocker("Affinity", "label \x1b[31mred\nand [bold]b[/bold]")
    shown = lines(Plan(groups=(GroupVerdict("a/b", "Waiting", 1, 1, 0, {}, (blocker,)),)))
    assert shown[1].endswith("Affinity: label \\x1b[31mred\\nand [bold]b[/bold]")


def test_a_long_name_moves_its_own_line_only() -> None:
    groups = (GroupVerdict("ml/" + "a" * 60, "Waiting", 1, 1, 0), GroupVerdict("ml/b", "Waiting", 1, 1, 0))
    first, second = lines(Plan(groups=groups))[1:3]
    assert first.index("Waiting") == 65
    assert second.index("Waiting") == 52
