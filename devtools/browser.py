"""Chromium as Debian has it, driven by Playwright: for tests of pages, and pictures of them."""

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
    """Return the browser of this machine: what KSTREAMS_CHROMIUM names, or what is installed."""
    named = os.environ.get("KSTREAMS_CHROMIUM") or shutil.which("chromium")
    return None if named is None else Path(named)


@contextmanager
def chromium(path: Path) -> Iterator[Browser]:
    """Run a browser without a window.

    Args:
        path: The browser.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()
