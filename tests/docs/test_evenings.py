"""The pages on which a sandbox is started, word for word: every command, in order, with what it shows."""

from pathlib import Path

import pytest

from maitred.sandbox.controlplane.build import programs
from maitred.sandbox.controlplane.run import ControlPlane
from tests.docs.console import ROOT, has_evening, pages
from tests.docs.evening import play, shows

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
