"""The page as text: whole, bounded, the same each time, and nothing in it but what was put there."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import msgspec
import pytest

from maitred.simulate.report.axes import Axis, amount_axis, long_time_axis, size_axis, time_axis
from maitred.simulate.report.floor import MOST_NODES
from maitred.simulate.report.html import html
from maitred.simulate.report.markup import Markup, data, element
from maitred.simulate.report.overtime import condensed
from maitred.simulate.report.plot import BASELINE, POLICIES, policy_kinds
from maitred.simulate.results import BUCKETS, FloorPlan, FloorPlanNode, Result, Sample
from maitred.simulate.summary import summarise
from tests.simulate.report.results import result
from tests.simulate.report.test_table import made
from tests.simulate.test_summary import job, run

EMPTY_ELEMENTS = {"meta"}
LARGEST = 2_000_000


class Balance(HTMLParser):
    """Every element that begins ends, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [
            f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "xlink:href", "action")
        ]
        if tag not in EMPTY_ELEMENTS:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Balance:
    balance = Balance()
    balance.feed(page)
    balance.close()
    return balance


def test_a_page_is_whole_and_links_to_nothing() -> None:
    found = parsed(html(result(jobs=50, seeds=2)))
    assert found.open == []
    assert found.links == []


def test_the_same_result_gives_the_same_page() -> None:
    assert html(result(jobs=50, seeds=2)) == html(result(jobs=50, seeds=2))


def test_few_jobs_make_the_most_marks_and_still_a_page_that_can_be_mailed() -> None:
    assert len(html(result(jobs=2_000)).encode()) < LARGEST


@pytest.mark.slow
def test_many_jobs_do_not_make_a_page_larger() -> None:
    assert len(html(result(jobs=20_000, seeds=3, nodes=1_000)).encode()) < LARGEST / 2


NOTHING_HAPPENED = [
    made(run()),
    made(run(device_seconds={}, devices=0, nodes=0, duration=0.0)),
    made(run([job("impossible", started=None, ended=None)])),
    made(run([job("waiting", started=None, ended=None, waited=0.0)])),
    made(run([job(arrival=0.0, started=0.0, ended=0.0, waited=0.0)]), run(policy="other")),
    made(run(floor=FloorPlan(time=0.0, tables=(), incomplete=(), waiting=()))),
    made(run(samples=(Sample(0.0, 0.0, {}, 0.0),))),
]


@pytest.mark.parametrize("empty", NOTHING_HAPPENED)
def test_where_little_happened_there_is_still_a_page(empty: Result) -> None:
    assert parsed(html(empty)).open == []


def floor_page(*tables: FloorPlanNode) -> str:
    plan = FloorPlan(time=60.0, tables=tables, incomplete=("stuck",), waiting=())
    return html(made(run(floor=plan)))


def table(**changes: object) -> FloorPlanNode:
    usual = {"node": "n", "block": "", "rack": "", "devices": 8, "broken": 0, "seats": ()}
    return msgspec.convert({**usual, **changes}, FloorPlanNode)


def drawn(page: str) -> list[tuple[str, str]]:
    """Kinds of paths in racks, and where they are."""
    rack = page.partition('class="rack"')[2]
    return re.findall(r'<path class="([\w-]+)"[^>]* d="([^"]*)"', rack.partition("</svg>")[0])


def test_devices_of_a_node_from_the_left() -> None:
    page = floor_page(table(broken=1, seats=(("stuck", 2), ("well", 4))))
    assert drawn(page) == [
        ("held", "M0 7h28"),
        ("job-1", "M28 7h56"),
        ("free", "M84 7h14"),
        ("broken", "M98 7h14"),
    ]


def test_parts_of_devices_come_after_whole_ones() -> None:
    page = floor_page(table(devices=4, seats=(("half", 0.5), ("whole", 2))))
    assert drawn(page) == [("job-1", "M0 7h28"), ("job-0", "M28 7h7"), ("free", "M35 7h7M42 7h14")]


def test_a_node_that_is_given_more_than_it_has_is_not_drawn_wider() -> None:
    page = floor_page(table(devices=4, seats=(("a", 4), ("b", 4))))
    assert drawn(page) == [("job-0", "M0 7h28"), ("job-1", "M28 7h28")]


def test_nodes_that_are_left_out_are_counted() -> None:
    page = floor_page(*[table(node=f"n{number}") for number in range(MOST_NODES + 1)])
    assert f"The first {MOST_NODES:,} of {MOST_NODES + 1:,} nodes are shown." in page


def test_one_device_is_one_device() -> None:
    plan = FloorPlan(time=60.0, tables=(table(seats=(("alone", 1),)),), incomplete=(), waiting=())
    page = html(made(run([job(devices=1)], floor=plan)))
    assert "1 job held 1 device;" in page
    assert "1 device&#10;waited 10 s" in page
    assert "1 devices" not in page


def test_jobs_without_seats_are_counted_as_all_others_are() -> None:
    jobs = [job(), job("waiting", started=None), job("waiting", started=None)]
    assert "Never placed: 2 of 3 jobs (red)." in html(made(run(jobs)))
    page = html(made(run(jobs), run(jobs[:2], seed=2)))
    assert "Never placed: 1.5 of 2.5 jobs of a run, on average (red)." in page
    assert "Shown are the jobs of all 2 runs." in page


def test_what_pod_by_pod_is_told_is_explained_where_it_is_shown() -> None:
    told = "placement pod by pod knows no other reason"
    assert html(made(run(wait_by_blocker={"Unschedulable": 60.0}))).count(told) == 2
    assert told not in html(made(run(wait_by_blocker={"Capacity": 60.0})))


def test_pod_by_pod_is_grey_wherever_it_stands_and_takes_no_colour_from_others() -> None:
    pods = run(policy="pods", placement="pod-by-pod")
    others = [run(policy=f"p{number}") for number in range(len(POLICIES) + 1)]
    colours = [*POLICIES, POLICIES[0]]
    for place in (0, 3, len(others)):
        runs = [*others[:place], pods, *others[place:]]
        assert policy_kinds(summarise(runs)) == [*colours[:place], BASELINE, *colours[place:]]


def test_the_most_of_a_low_plot_is_not_written_over_the_mark_below_it() -> None:
    assert [name for _, name in amount_axis(577, 2).marks] == ["0", "500"]
    assert [name for _, name in amount_axis(800, 2).marks] == ["0", "500", "800"]


def test_devices_over_time_stay_the_same_in_fewer_samples() -> None:
    (one,) = result(jobs=5, policies=["pod-by-pod"]).runs
    few = condensed(one.samples, 7)
    assert len(few) <= 7
    for bucket in BUCKETS:
        total = sum((sample.end - sample.start) * sample.devices[bucket] for sample in few)
        assert total == pytest.approx(one.device_seconds[bucket])


def test_what_is_not_markup_is_escaped() -> None:
    made_up = element("p", "<b>&\x00", Markup("<i></i>"), title='"quoted"', data_tip=None)
    assert made_up == '<p title="&quot;quoted&quot;">&lt;b&gt;&amp;\\x00<i></i></p>'
    assert "</script>" not in data({"name": "</script>"}).removesuffix("</script>")


@pytest.mark.parametrize(
    "axis",
    [
        *(time_axis(span) for span in (0.0, 0.5, 59.0, 3600.0, 86_400.0, 31 * 86_400.0, 4000 * 86_400.0)),
        *(amount_axis(most) for most in (0.0, 0.4, 1.0, 8.0, 512.0, 6776.0, 1e6)),
        *(long_time_axis(1.0, longest) for longest in (0.0, 5.0, 1e3, 1e7, 1e9)),
        *(
            size_axis(least, most)
            for least, most in ((0, 0), (0, 1), (1, 1), (3, 3), (1, 4096), (8, 100_000))
        ),
    ],
)
def test_marks_are_few_apart_and_on_the_axis(axis: Axis) -> None:
    places = [place for place, _ in axis.marks]
    assert 1 <= len(places) <= 8
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert all(right - left > 0.05 for left, right in pairwise(places))
    assert len({name for _, name in axis.marks}) == len(places)


def test_the_order_of_summaries_is_that_of_runs() -> None:
    runs = result(jobs=30, seeds=2).runs
    mixed = tuple(sorted(runs, key=lambda one: one.seed))
    assert html(Result("made-up", summarise(mixed), mixed)) == html(Result("made-up", summarise(runs), runs))
