"""Page requests (visits) and page contents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request

from kstreams_serve.parameters import Parameters
from kstreams_serve.roles import Role

__all__ = ("Page", "Visit")


@dataclass(frozen=True)
class Visit:
    """A request for a page.

    Attributes:
        request: The request.
        role: The role of the visitor.
        now_ms: The current time, ms since the epoch.
    """

    request: Request
    role: Role
    now_ms: int

    @property
    def sees_data(self) -> bool:
        """Whether keys, values and texts of errors may be shown."""
        return self.role >= Role.DATA

    def given(self, known: Collection[str]) -> Parameters:
        """Return the query parameters, without empty form fields.

        An empty `key` is not removed, because the empty text is a valid key.

        Args:
            known: The allowed names.

        Raises:
            Problem: The request has a parameter that is not in `known`.
        """
        fields = self.request.scope["query_string"].split(b"&")
        filled = [field for field in fields if field == b"key=" or not field.endswith(b"=")]
        return Parameters.of(b"&".join(filled), known)


@dataclass(frozen=True)
class Page:
    """The content of a page.

    Attributes:
        template: The name of the template.
        title: The title of the browser window.
        content: The values of the template.
        status: The status of the response.
        tab: The name of the tab that the page belongs to.
        is_live: Whether the page updates itself.
    """

    template: str
    title: str
    content: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    tab: str = ""
    is_live: bool = True
