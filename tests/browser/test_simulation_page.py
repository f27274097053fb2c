"""The page of a simulation in a browser: quiet, self-contained, and readable wherever it is read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from maitred.simulate.report.html import html
from maitred.simulate.results import Result
from tests.simulate.report.results import SPLITS, result

SPITEFUL = "</script><script>alert(1)</script><img src=http://example.com/x onerror=alert(2)>\"'&\u202e"
SEVEN = ["fifo", *SPLITS, "shortest", "least-attained", "remaining"]
AA = 4.5
"""The contrast of text that WCAG asks for."""

CONTRAST = """
(element) => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  let behind = element;
  while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [one, other] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
    .map((colour) => luminance(channels(colour)));
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}
"""

ON_ITS_LINE = """
async (element) => {
  element.scrollIntoView({ block: "center" });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (element.getPointAtLength) {
    const { x, y } = element.getPointAtLength(1).matrixTransform(element.getScreenCTM());
    return [x, y];
  }
  const box = element.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}
"""
"""The middle of what is drawn may be where nothing is drawn."""


@dataclass
class Opened:
    """A page, and what it did that it should not do."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def plots(self, title: str) -> Locator:
        return self.page.get_by_role("img", name=re.compile(f"^{title}"))

    def point_at(self, mark: str) -> None:
        x, y = self.page.locator(mark).first.evaluate(ON_ITS_LINE)
        self.page.mouse.move(x, y)

    def refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()


class Opener:
    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder

    def __call__(self, made: Result, width: int = 1280, scheme: Literal["light", "dark"] = "light") -> Opened:
        file = self._folder / "page.html"
        file.write_text(html(made), encoding="utf-8")
        page = self._browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        opened = Opened(page)
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("dialog", opened.refuse)
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto(file.as_uri())
        assert opened.requests == [file.as_uri()]
        opened.requests.clear()
        return opened


@pytest.fixture
def opener(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    yield Opener(browser, tmp_path)
    for context in browser.contexts:
        context.close()


def spiteful() -> Result:
    """Jobs, policies and blockers with names that try to be more than names."""
    made = msgspec.json.encode(result(jobs=40, scenario=SPITEFUL)).decode()
    for name in (*SPLITS, "team-", "Capacity"):
        spite = msgspec.json.encode(SPITEFUL + name).decode()[1:-1]
        made = re.sub(f'(?<!"placement":"){name}', spite.replace("\\", r"\\"), made)
    return msgspec.json.decode(made, type=Result)


def test_every_policy_has_its_plots(opener: Opener) -> None:
    opened = opener(result())
    for title in ("Devices over time", "Wait against size", "Devices asked for by waiting jobs"):
        assert opened.plots(title).count() == len(SPLITS)
    assert opened.plots("Completion times").locator(".line").count() == len(SPLITS)
    assert opened.page.locator(".floor").count() == len(SPLITS)
    areas = opened.plots("Devices over time, pod-by-pod").locator(".area")
    assert areas.count() == len(SPLITS["pod-by-pod"])
    assert opened.plots("Wait against size, pod-by-pod").locator(".dot").count() > 500
    assert not opened.complaints
    assert not opened.requests


def test_many_jobs_are_shown_by_size(opener: Opener) -> None:
    opened = opener(result(jobs=2_100, policies=["whole-groups"]))
    plot = opened.plots("Wait against size")
    assert plot.locator(".boxed").count() == 10
    assert plot.locator(".dot").count() == 0


def test_the_figures_are_there_to_read(opener: Opener) -> None:
    made = result()
    page = opener(made).page
    expect(page.get_by_role("heading", level=1)).to_have_text("made-up")
    share = f"{100 * made.summaries[0].utilisation['productive']:.1f} %"
    expect(page.locator(".big").first).to_contain_text(share)
    expect(page.locator(".comparison")).to_contain_text("held by incomplete groups")
    expect(page.get_by_text("the trace ends before the horizon (pod-by-pod)")).to_be_visible()
    page.get_by_text("Completion times, as a table").click()
    expect(page.get_by_role("rowheader", name="99 % of all jobs")).to_be_visible()


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        (".split .incomplete", "held by incomplete groups"),
        (".dot", "waited"),
        (".floor [data-job]", "devices"),
        (".bars dd", "Capacity"),
        (".tall .canvas", "productive"),
        (".taller .canvas", "whole-groups-racks"),
    ],
)
def test_the_pointer_is_told(opener: Opener, mark: str, told: str) -> None:
    opened = opener(result(jobs=40))
    tip = opened.page.locator("#tip")
    expect(tip).to_be_hidden()
    opened.point_at(mark)
    expect(tip).to_be_visible()
    expect(tip).to_contain_text(told)
    opened.page.get_by_role("heading", level=1).hover()
    expect(tip).to_be_hidden()
    assert not opened.complaints


def test_a_job_is_shown_wherever_it_sits(opener: Opener) -> None:
    opened = opener(result())
    floor = opened.page.locator(".floor").first
    opened.point_at(".floor [data-job='0']")
    assert floor.locator(".hot").count() > 0
    assert floor.locator(".hot").count() == floor.locator("[data-job='0']").count()


def test_a_legend_fades_its_series(opener: Opener) -> None:
    page = opener(result()).page
    button = page.get_by_role("button", name="whole-groups-racks")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.locator(".taller .line.faded").count() == 1
    button.click()
    assert page.locator(".faded").count() == 0


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_page(opener: Opener, width: int) -> None:
    page = opener(result(scenario="a" * 300, policies=["b" * 300, "pod-by-pod"]), width).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("main *:not(.scroll *)")]
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => one.outerHTML.slice(0, 200))"""
    )
    assert beyond == []


def test_a_wide_table_says_so_and_keeps_its_labels_in_sight(opener: Opener) -> None:
    page = opener(result(jobs=40, policies=SEVEN)).page
    expect(page.locator(".hint")).to_be_visible()
    labels = page.locator(".comparison .title div, .comparison tbody tr:not(.title) th")
    before = [box["x"] for box in map(Locator.bounding_box, labels.all()) if box]
    scrolled = page.locator(".hint + .scroll").evaluate(
        "(box) => { box.scrollLeft = 300; return box.scrollLeft; }"
    )
    assert scrolled > 100
    assert [box["x"] for box in map(Locator.bounding_box, labels.all()) if box] == before


def test_a_table_that_fits_says_nothing(opener: Opener) -> None:
    page = opener(result(jobs=40, policies=SEVEN[:2])).page
    expect(page.locator(".hint")).to_be_hidden()


def test_seven_policies_leave_little_of_a_row_empty(opener: Opener) -> None:
    page = opener(result(jobs=40, policies=SEVEN)).page
    boxes = [one.bounding_box() for one in page.locator(".panels").first.locator(".card").all()]
    assert len({box["y"] for box in boxes if box}) == 2


def test_what_was_saved_is_told_beside_each_policy_but_the_baseline(opener: Opener) -> None:
    page = opener(result(jobs=40)).page
    glances = page.locator("section").first.locator(".card")
    assert glances.filter(has_text="Against pod-by-pod").count() == 2
    expect(glances.filter(has_text="compared with this one")).to_contain_text("pod-by-pod")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(opener: Opener, scheme: Literal["light", "dark"]) -> None:
    page = opener(result(), scheme=scheme).page
    for text in (
        "h1",
        "h2",
        "h3",
        "h4",
        ".lead",
        ".note",
        ".glance dt",
        ".marks span",
        ".comparison td",
        ".comparison small",
        ".best",
    ):
        contrast = page.locator(text).first.evaluate(CONTRAST)
        assert contrast >= AA, f"{text} in {scheme}: {contrast:.1f}"


def test_day_and_night_differ(opener: Opener) -> None:
    colours = [
        opener(result(jobs=20), scheme=scheme).page.evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    ]
    assert colours[0] != colours[1]


def test_names_are_text_whatever_they_say(opener: Opener) -> None:
    opened = opener(spiteful())
    expect(opened.page.get_by_role("heading", level=1)).to_contain_text("</script>")
    assert opened.page.locator("img[src]").count() == 0
    for mark in (".dot", ".floor [data-job]", ".taller .canvas", ".bars dd"):
        opened.point_at(mark)
        expect(opened.page.locator("#tip")).to_contain_text("</script>")
    assert not opened.complaints
    assert not opened.requests
