"""Markup in names, keys, values and errors is text on every page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devtools.showcase import Names
from kstreams.clock import SystemClock
from kstreams_serve.pages.rendering import regions_of
from tests.support.servers.query_server import Served
from tests.support.servers.showcase_pages import (
    Element,
    Html,
    html,
    paths_of,
    showcase,
    showing,
)

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'\"><body onload=alert(1)>",
    "</title></style></textarea><script>alert(1)</script>",
    "<!--live:state--><b>x</b><!--/live:state-->",
    "--><script>alert(1)</script><!--",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    '" autofocus onfocus=alert(1) x="',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "<a href=//evil.example>x</a>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<link rel=stylesheet href=//evil.example>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "&lt;script&gt;&#x3c;img&#62;",
    "../../etc/passwd%2e%2e?x=1&y=2#z",
    "\u202eevil \u2066\u200b bidi",
)
"""Texts that others may choose."""


def hostile(text: str) -> Names:
    """Return names that contain a text; names of nodes and stores without its slashes."""
    part = text.replace("/", "")
    return replace(
        Names(),
        source=f"source {part}",
        split=f"split {part}",
        edge=f"edge {part}",
        count=f"count {part}",
        trend=f"trend {part}",
        sink=f"sink {part}",
        counts=f"counts {part}",
        windows=f"windows {part}",
        reason=text,
        savepoint="savepoint",
        worker=text,
        error=text,
        file=text,
        words=(text, f"a{text}"),
    )


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Html]:
    """The pages of an app whose names are plain words, for comparison."""
    app = showcase(
        tmp_path_factory.mktemp("app"), SystemClock().now_ms(), 1, partitions=2, names=hostile("a")
    )
    app.fail(app.now_ms)
    with showing(app) as served:
        return {name: _page(served, name, path) for name, path in paths_of(app).items()}


@pytest.mark.parametrize("text", PAYLOADS)
def test_markup_in_every_page_field_is_escaped(
    tmp_path: Path, usual: dict[str, Html], text: str
) -> None:
    app = showcase(tmp_path, SystemClock().now_ms(), 1, partitions=2, names=hostile(text))
    app.fail(app.now_ms)
    with showing(app) as served:
        for name, path in paths_of(app).items():
            page, plain = _page(served, name, path), usual[name]
            more = {"pre", "ul", "li"}  # of a long value, and of similar keys
            assert _tags(page) <= _tags(plain) | more, name
            assert _attributes(page) <= _attributes(plain) | {"href", "tabindex"}, name
            hrefs = {each.attributes.get("href", "") for each in page.elements}
            assert all(not href or href.startswith(("/", "#")) for href in hrefs), name
            assert _regions(page) == _regions(plain), name


def _page(served: Served, name: str, path: str) -> Html:
    return html(served, path, status=404 if name == "no key" else 200)


def _tags(page: Html) -> set[str]:
    return {each.tag for each in page.elements if not _is_icon(each)}


def _attributes(page: Html) -> set[str]:
    return {name for each in page.elements if not _is_icon(each) for name in each.attributes}


def _is_icon(element: Element) -> bool:
    """Return whether an element is the icon of the app's state, which depends on the time."""
    return element == Element("circle", {"cx": "8", "cy": "8", "r": "6"})


def _regions(page: Html) -> set[str]:
    return set(regions_of(page.data.decode()))
