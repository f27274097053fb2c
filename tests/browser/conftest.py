"""Pages in a real browser. MAITRED_REQUIRE_BROWSER=1 fails these tests where there is none."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one module only: while it is open no other test of this process can have an event loop."""
    chromium = shutil.which("chromium")
    if chromium is None:
        give_up = pytest.fail if os.environ.get("MAITRED_REQUIRE_BROWSER") == "1" else pytest.skip
        give_up("no chromium on the PATH; `make test` as root, or `apt-get install chromium`, installs it")
    # Chromium refuses to sandbox itself as root. What it opens here are our own pages.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker opens a browser, not all of them."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            item.add_marker(pytest.mark.xdist_group("browser"))
