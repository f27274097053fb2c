"""The page of an audit in a browser: quiet, self-contained, and readable wherever it is read."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from maitred.explain.audit.answer import Audit
from maitred.explain.audit.page import page
from tests.browser.test_simulation_page import AA, CONTRAST, SPITEFUL, Opened
from tests.explain.audited import GPU, Json, audited, job, node, pod

EIGHT: Json = {"requests": {GPU: 8, "cpu": 1}}
Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Open:
    def open_page(audit: Audit, width: int = 1280, scheme: Literal["light", "dark"] = "light") -> Opened:
        file = tmp_path / "page.html"
        file.write_text(page(audit), encoding="utf-8")
        shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        made = Opened(shown)
        shown.on("console", lambda message: made.complaints.append(message.text))
        shown.on("pageerror", lambda error: made.complaints.append(str(error)))
        shown.on("dialog", made.refuse)
        shown.on("request", lambda request: made.requests.append(request.url))
        shown.goto(file.as_uri())
        assert made.requests == [file.as_uri()]
        return made

    return open_page


def found(name: str = "train") -> Audit:
    """A gang of which one of two is seated, servers that leave no cores, and a request that never fits."""
    members = [pod("a", node="n0", owner=("Job", name), **EIGHT), pod("b", owner=("Job", name), **EIGHT)]
    server = pod("web", node="n1", requests={"cpu": 16}, owner=("ReplicaSet", "web"))
    return audited(
        node("n0"), node("n1"), job(name, 2), *members, server, pod("huge", requests={GPU: 9, "cpu": 9})
    )


def test_it_says_what_was_found(opened: Open) -> None:
    made = opened(found())
    made.page.get_by_role("heading", name="Half-started gangs").wait_for()
    expect(made.page.locator(".big")).to_contain_text("8")
    for name in ("ml/train", "n1", "ml/huge"):
        expect(made.page.get_by_role("rowheader", name=name).first).to_be_visible()
    made.point_at(".split .incomplete")
    expect(made.page.locator("#tip")).to_contain_text("held by half-started gangs")
    assert not made.complaints


def test_a_cluster_with_nothing_to_tell_has_a_page_too(opened: Open) -> None:
    made = opened(audited())
    expect(made.page.get_by_text("There are no gangs.")).to_be_visible()
    assert not made.complaints


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_page(opened: Open, width: int) -> None:
    made = opened(found("t" * 200), width)
    assert made.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(opened: Open, scheme: Literal["light", "dark"]) -> None:
    made = opened(found(), scheme=scheme)
    for text in ("h1", "h2", "h3", ".lead", ".glance dt", ".plain td", ".plain th"):
        contrast = made.page.locator(text).first.evaluate(CONTRAST)
        assert contrast >= AA, f"{text} in {scheme}: {contrast:.1f}"


def test_names_are_text_whatever_they_say(opened: Open) -> None:
    text = msgspec.json.encode(found()).decode()
    for name in ("ml/train", "ml/huge", "n1"):
        text = text.replace(f'"{name}"', msgspec.json.encode(SPITEFUL + name).decode())
    made = opened(msgspec.json.decode(text, type=Audit))
    expect(made.page.get_by_role("rowheader").first).to_contain_text("</script>")
    assert made.page.locator("img[src]").count() == 0
    assert not made.complaints
