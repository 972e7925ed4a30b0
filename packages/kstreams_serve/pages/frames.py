"""The frame of a page: its header with the app and its status, and links to the app's pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from kstreams_serve.pages.app_facts import AppFacts

__all__ = ("Frame", "Tab", "base_of", "frame_of")

_TABS = (
    ("Overview", ""),
    ("Stores", "/stores"),
    ("Batches", "/batches"),
    ("Tasks", "/tasks"),
    ("Dropped", "/dropped"),
    ("Errors", "/errors"),
    ("Versions", "/versions"),
    ("Forecast", "/forecast"),
)


@dataclass(frozen=True)
class Tab:
    """A link to a page.

    Attributes:
        name: The text.
        href: The target.
    """

    name: str
    href: str


@dataclass(frozen=True)
class Frame:
    """The data of a page's header and navigation links, which all pages of an app share.

    Attributes:
        app: The data of the app; None on pages without an app.
        base: The base path of the app's pages.
        tabs: The links to the app's pages.
        signed_in: Whether the visitor has a token.
    """

    app: AppFacts | None
    base: str
    tabs: Sequence[Tab]
    signed_in: bool


def base_of(app: str) -> str:
    """Return the base path of an app's pages."""
    return f"/apps/{quote(app, safe='')}"


def frame_of(facts: AppFacts | None, *, signed_in: bool) -> Frame:
    """Return the header and navigation links of a page.

    Args:
        facts: The data of the app; None for a page without an app.
        signed_in: Whether the visitor has a token.
    """
    if facts is None:
        return Frame(None, "", (), signed_in)
    base = base_of(facts.name)
    return Frame(facts, base, [Tab(name, f"{base}{path}") for name, path in _TABS], signed_in)
