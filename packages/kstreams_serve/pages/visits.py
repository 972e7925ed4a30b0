"""Who looks at which page, and what a page is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request

from kstreams_serve.parameters import Parameters
from kstreams_serve.roles import Role

__all__ = ("Page", "Visit")


@dataclass(frozen=True)
class Visit:
    """A look at a page.

    Attributes:
        request: What was asked.
        role: What the visitor may see.
        now_ms: The present time, ms since the epoch.
    """

    request: Request
    role: Role
    now_ms: int

    @property
    def sees_data(self) -> bool:
        """Whether keys, values and texts of errors may be shown."""
        return self.role >= Role.DATA

    def given(self, known: Collection[str]) -> Parameters:
        """Return what the address says: fields of a form that were left empty are not there.

        An empty text is a key, too: `key` stays as it is.

        Args:
            known: The names that may be in it.

        Raises:
            Problem: Something else is.
        """
        fields = self.request.scope["query_string"].split(b"&")
        filled = [field for field in fields if field == b"key=" or not field.endswith(b"=")]
        return Parameters.of(b"&".join(filled), known)


@dataclass(frozen=True)
class Page:
    """What a visitor gets to see.

    Attributes:
        template: Its name.
        title: Of the browser's window.
        content: What the template shows.
        status: Of the answer.
        tab: The name of the tab that it belongs to.
        is_live: Whether it changes while it is looked at.
    """

    template: str
    title: str
    content: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    tab: str = ""
    is_live: bool = True
