"""Pages of the documentation fit a phone, and have no barriers that axe finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from devtools.workspace import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = ROOT / "docs"
PAGES = ("glossary", "how-to/protobuf")

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a site of two documentation pages, with the Sphinx settings of the full site."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    listed = "\n".join(PAGES)
    (source / "index.md").write_text(
        f"# Index\n\n```{{toctree}}\n:caption: Read\n\n{listed}\n```\n"
    )
    for page in PAGES:
        (source / page).parent.mkdir(exist_ok=True)
        (source / f"{page}.md").write_text((DOCS / f"{page}.md").read_text())
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-c", str(DOCS)]
    subprocess.run([*command, str(source), str(site)], check=True, capture_output=True)
    return site


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_have_no_serious_barriers_and_do_not_scroll_sideways(
    site: Path, browser: Browser, scheme: str, width: int
) -> None:
    dark = scheme == "dark"
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    with context, context.new_page() as page:
        for name in PAGES:
            page.goto(f"file://{site / name}.html")
            found = Axe().run(page).response["violations"]
            serious = [each for each in found if each["impact"] in ("serious", "critical")]
            assert serious == [], name
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, name
