"""Debian's Chromium, driven by Playwright, for tests and screenshots of web pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

__all__ = ("chromium", "chromium_path")

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--no-proxy-server",
)


def chromium_path() -> Path | None:
    """Return the path in KSTREAMS_CHROMIUM or of an installed Chromium; None without a browser."""
    named = os.environ.get("KSTREAMS_CHROMIUM") or shutil.which("chromium")
    return None if named is None else Path(named)


@contextmanager
def chromium(path: Path) -> Iterator[Browser]:
    """Run a headless browser.

    Args:
        path: The path of the browser.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()
