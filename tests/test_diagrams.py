"""The Mermaid diagrams of the documentation render in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page

from devtools.servers.mermaid import mermaid_script
from devtools.servers.process import NoServerError
from tests.named_files import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RENDER = "text => mermaid.render('drawn', text).then(drawn => drawn.svg)"


def _diagrams() -> Iterator[tuple[str, str]]:
    """Yield page and text of each diagram."""
    for page in (ROOT / "ARCHITECTURE.md", ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for text in _DIAGRAM.findall(page.read_text("utf-8")):
            yield str(page.relative_to(ROOT)), text


@pytest.fixture(scope="module")
def script() -> Path:
    try:
        return mermaid_script()
    except NoServerError as exc:
        pytest.skip(str(exc))


@pytest.fixture
def page(browser: Browser, script: Path) -> Iterator[Page]:
    page = browser.new_page()
    page.add_script_tag(path=script)
    yield page
    page.close()


@pytest.mark.long
def test_every_diagram_renders_with_its_labels(page: Page) -> None:
    pages = set()
    for name, text in _diagrams():
        drawn = page.evaluate(_RENDER, text)
        assert drawn.startswith("<svg"), name
        for label in re.findall(r'\["([\w ]+)', text):
            assert label.split()[0] in drawn, (name, label)
        pages.add(name)
    design = {f"docs/design/{each.name}" for each in (ROOT / "docs/design").glob("*.md")}
    assert {"ARCHITECTURE.md", *design} - {"docs/design/index.md"} <= pages


def test_invalid_mermaid_diagram_raises_error(page: Page) -> None:
    with pytest.raises(Error, match="Parse error"):
        page.evaluate(_RENDER, "flowchart TD\n  a --> [")
