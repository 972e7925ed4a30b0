"""A browser that records everything a page must not do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

from tests.support.servers.query_server import TOKEN, Served

_WATCH = """
document.addEventListener("securitypolicyviolation",
    (event) => console.error("policy " + event.violatedDirective + " " + event.blockedURI));
"""


@dataclass
class Visitor:
    """A user who is logged in, and the problems of the visited pages.

    Attributes:
        trouble: Requests to other servers, reports of the content policy, script errors, dialogs.
    """

    page: Page
    url: str
    trouble: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}", wait_until="load")

    def is_wider_than_the_window(self) -> bool:
        width: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return width > 0


@contextmanager
def visiting(
    browser: Browser,
    served: Served,
    *,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
    token: str = TOKEN,
) -> Iterator[Visitor]:
    """Log in by the form, in a new browser context."""
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    try:
        if scripts:
            context.add_init_script(_WATCH)
        visitor = Visitor(context.new_page(), f"http://127.0.0.1:{served.port}")
        _watch(visitor)
        visitor.go("/login")
        visitor.page.fill("#token", token)
        visitor.page.press("#token", "Enter")
        visitor.page.wait_for_url(f"{visitor.url}/")
        yield visitor
    finally:
        context.close()


def _watch(visitor: Visitor) -> None:
    page, trouble = visitor.page, visitor.trouble

    def asked(request: Request) -> None:
        if not request.url.startswith(visitor.url):
            trouble.append(request.url)

    def said(message: ConsoleMessage) -> None:
        if message.type == "error" and "status of 404" not in message.text:
            trouble.append(message.text)

    def opened(dialog: Dialog) -> None:
        trouble.append(dialog.message)
        dialog.dismiss()

    page.on("request", asked)
    page.on("console", said)
    page.on("dialog", opened)
    page.on("pageerror", lambda error: trouble.append(str(error)))
