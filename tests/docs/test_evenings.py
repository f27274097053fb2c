"""The pages on which a sandbox is started, word for word: every command, in order, with what it shows."""

import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.run import ControlPlane
from tests.docs.console import ROOT, has_evening, pages
from tests.docs.evening import play, shows
from tests.docs.picture import PICTURE, is_telling, svg

SVG = "http://www.w3.org/2000/svg"
PAGES = [page for page in pages() if has_evening(page)]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_reader_sees_what_the_page_shows(
    page: Path, tmp_path: Path, bare_control_plane: ControlPlane
) -> None:
    kubectl = programs(bare_control_plane.release, lambda line: None) / "kubectl"
    for block, step, text in play(page, tmp_path, kubectl):
        assert shows(step.shown, text), f"{block}: {step.written}\n{text}"


def test_the_first_hour_is_among_them() -> None:
    assert {"README.md", "tutorial.md", "up.md", "sandbox.md"} <= {page.name for page in PAGES}


# -- the picture -------------------------------------------------------------------------------------------


def test_the_picture_refers_to_nothing_outside_of_itself() -> None:
    drawn = PICTURE.read_text()
    assert re.findall(r"url\((?!#)|@import|href|/work|/home|/root", drawn) == []
    assert set(re.findall(r"https?://[\w./]+", drawn)) == {SVG, "https://127.0.0.1"}
    assert set(re.findall(r"font-family: ([^;]+);", drawn)) == {"monospace", "sans-serif"}


def test_the_picture_is_of_the_floor() -> None:
    assert is_telling("\n".join(words(PICTURE.read_text())))


def test_a_frame_becomes_a_picture() -> None:
    drawn = svg("\x1b[32mScheduled\x1b[0m  8/8\n")
    assert words(drawn) == ["make up", "Scheduled", "  8/8"]
    assert "font-face" not in drawn


def words(drawn: str) -> list[str]:
    texts = [text.text or "" for text in fromstring(drawn).iter(f"{{{SVG}}}text")]
    return [text.replace("\xa0", " ") for text in texts if text.strip()]
