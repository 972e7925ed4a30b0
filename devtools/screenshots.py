"""Takes screenshots of the pages of `kstreams serve`, for the documentation.

    python -m devtools.screenshots [FOLDER]

The pages show an app that never ran (`showcase.py`). Pictures are WebP, in docs/pages by default.
"""

from __future__ import annotations

import sys
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from playwright.sync_api import Browser, Page

from devtools.browser import chromium, chromium_path
from devtools.served_showcase import served_showcase
from devtools.showcase import LETTERS, Showcase
from devtools.shown_runs import shown_runs
from kstreams.batch.report import AppState
from kstreams.clock import SystemClock

__all__ = ("main",)

_FOLDER = Path(__file__).parents[1] / "docs" / "pages"
_TOKEN = "only-for-these-pictures"  # for a server that stops with this command
_BATCHES = 60
_QUALITY = 70
_HIGHEST = 1500
_APP = "/apps/word-count"
_STORE = f"{_APP}/stores/counts"
_PAGES = {
    "overview": _APP,
    "apps": "/",
    "node": f"{_APP}/node?name=count",
    "tasks": f"{_APP}/tasks?sort=lag",
    "batches": f"{_APP}/batches",
    "batch": f"{_APP}/batch?query=lines&number=36",
    "stores": f"{_APP}/stores",
    "store": f"{_STORE}?prefix=t",
    "diff": f"{_STORE}/diff?before=40&after=41",
    "windows": f"{_APP}/stores/per-minute?prefix=th",
    "key": f"{_STORE}/key?key=the",
    "history": f"{_STORE}/history?key=the",
    "no-key": f"{_STORE}/key?key=thx",
    "explain": f"{_STORE}/explain?key=the",
    "dropped": f"{_APP}/dropped",
    "letters": f"{_APP}/letters?topic={LETTERS}",
    "trace": f"{_APP}/trace?topic=lines&partition=3&offset=1902",
    "errors": f"{_APP}/errors",
    "versions": f"{_APP}/versions",
    "forecast": f"{_APP}/forecast",
}


@dataclass(frozen=True)
class _Look:
    name: str
    width: int
    scheme: Literal["light", "dark"]
    pages: tuple[str, ...]


_LOOKS = (
    _Look("", 1280, "light", tuple(_PAGES)),
    _Look("-dark", 1280, "dark", ("overview", "key")),
    _Look("-phone", 360, "light", ("overview", "tasks")),
    _Look("-phone-dark", 360, "dark", ("overview", "batches")),
)


def main(folder: Path) -> None:
    """Take all screenshots.

    Args:
        folder: The folder of the pictures.
    """
    path = chromium_path()
    if path is None:
        raise SystemExit(
            "there is no Chromium: apt-get install chromium, or KSTREAMS_CHROMIUM=PATH"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="kstreams-pages-") as home:
        app = Showcase(Path(home), SystemClock().now_ms()).run(_BATCHES)
        app.fail(app.now_ms - 86_400_000)
        app.set_aside(5)
        with (
            served_showcase(app, _TOKEN) as server,
            shown_runs(app),
            chromium(path) as browser,
        ):
            for look in _LOOKS:
                _take(browser, server.url, app, look, folder)


def _take(browser: Browser, url: str, app: Showcase, look: _Look, folder: Path) -> None:
    context = browser.new_context(
        viewport={"width": look.width, "height": 700}, color_scheme=look.scheme
    )
    page = context.new_page()
    page.goto(f"{url}/login")
    if not look.name:
        _save(page, folder / "login.webp")
    page.fill("#token", _TOKEN)
    page.press("#token", "Enter")
    page.wait_for_url(f"{url}/")
    for name in look.pages:
        app.now_ms = SystemClock().now_ms()
        app.commit(app.now_ms)
        app.beat(AppState.RUNNING)
        page.goto(f"{url}{_PAGES[name]}")
        page.wait_for_timeout(900)  # until the page is live
        _save(page, folder / f"{name}{look.name}.webp")
    context.close()


def _save(page: Page, file: Path) -> None:
    session = page.context.new_cdp_session(page)
    height = min(page.evaluate("document.documentElement.scrollHeight"), _HIGHEST)
    width = page.evaluate("innerWidth")
    area = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    options = {"format": "webp", "quality": _QUALITY, "captureBeyondViewport": True, "clip": area}
    found = session.send("Page.captureScreenshot", options)
    file.write_bytes(b64decode(found["data"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _FOLDER)
