"""Requests to a registry, with limits of time, size and number, and no secrets in texts."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from kstreams.errors import RegistryUnavailableError

__all__ = ("Refusal", "RegistrySettings", "path", "request")

_TYPE = "application/vnd.schemaregistry.v1+json"
_MOST_BYTES = 16 * 1024 * 1024
_SHOWN_CHARS = 500
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The HTTP statuses that are retried."""
_REFUSED = frozenset({401, 403})
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0


@dataclass(frozen=True)
class RegistrySettings:
    """The address and the request settings of a registry.

    Logs and errors show no secrets; pickles contain them, because workers need them.
    """

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    timeout: timedelta = timedelta(seconds=10)
    attempts: int = 6

    def __post_init__(self) -> None:
        """Check the settings, without a request."""
        parts = urlsplit(self.url)
        if parts.username or parts.password:
            raise ValueError(
                "SchemaRegistry(url=...) must not contain a user or password: "
                "give user= and password="
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            shown = "..." if "@" in self.url else repr(self.url)  # it may contain a password
            raise ValueError(
                f"SchemaRegistry(url={shown}): expected an http:// or https:// address"
            )
        if (self.user is None) != (self.password is None):
            raise ValueError("SchemaRegistry(...): give both user= and password=, or neither")
        if self.user is not None and self.token is not None:
            raise ValueError(
                "SchemaRegistry(...): give user= and password=, or token=, but not both"
            )
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError(
                "SchemaRegistry(...): give both certificate_file= and key_file=, or neither"
            )
        if self.timeout <= timedelta(0) or self.attempts < 1:
            raise ValueError(
                f"SchemaRegistry(timeout={self.timeout}, attempts={self.attempts}): "
                "both must be positive"
            )


@dataclass(frozen=True)
class Refusal:
    """An error reply of a registry.

    Attributes:
        status: The HTTP status.
        code: The registry's error code.
        message: The registry's message, truncated.
    """

    status: int
    code: int
    message: str


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirects, because the other server would get the secrets."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def path(*parts: str | int, **options: str) -> str:
    """Return the path and query of a request's URL.

    Args:
        parts: The segments of the path, which are quoted and may have any characters.
        options: The parameters of the query, which need no quoting.
    """
    joined = "".join("/" + quote(str(part), safe="") for part in parts)
    return joined + ("?" + "&".join(f"{k}={v}" for k, v in options.items()) if options else "")


def request(
    settings: RegistrySettings, place: str, body: Mapping[str, Any] | None = None, method: str = ""
) -> Any:  # noqa: ANN401  # whatever JSON has
    """Send a request, with retries; return the JSON reply or a `Refusal`.

    Args:
        settings: The address and the request settings of the registry.
        place: The path and query of the URL, as returned by `path`.
        body: The JSON body; None for a request without a body.
        method: The HTTP method; by default POST with a body, and GET without one.

    Raises:
        RegistryUnavailableError: There was no valid reply, or the registry requires other
            credentials.
    """
    wait = _FIRST_WAIT_S
    last = ""
    for attempt in range(settings.attempts):
        if attempt:
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_S)
        try:
            return _response(settings, place, body, method)
        except _Again as exc:
            last = str(exc)
    raise _unavailable(settings, f"{last}, {settings.attempts} times")


class _Again(Exception):  # never leaves
    """A transient failure of a request, after which `request` tries again."""


def _response(
    settings: RegistrySettings, place: str, body: Mapping[str, Any] | None, method: str
) -> Any:  # noqa: ANN401  # as above
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": _TYPE, "Accept": f"{_TYPE}, application/json", **_who(settings)}
    url = settings.url.rstrip("/") + place
    asking = Request(url, data, headers, method=method or None)  # noqa: S310  # checked
    try:
        with _opener(settings).open(asking, timeout=settings.timeout.total_seconds()) as answer:
            return _parsed(settings, answer.read(_MOST_BYTES + 1))
    except HTTPError as exc:
        with exc:
            return _refusal(settings, exc.code, exc.read(_MOST_BYTES))
    except (URLError, HTTPException, OSError) as exc:
        reason = exc.reason if isinstance(exc, URLError) else exc
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise _unavailable(
                settings, f"the registry's certificate is not trusted (see ca_file=): {reason}"
            ) from exc
        raise _Again(f"{type(reason).__name__}: {reason}"[:_SHOWN_CHARS]) from exc


def _opener(settings: RegistrySettings) -> Any:  # noqa: ANN401  # a private class of urllib
    handlers: list[Any] = [_NoRedirects()]
    if settings.url.startswith("https"):
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            context.load_cert_chain(
                settings.certificate_file, settings.key_file, settings.key_password
            )
        handlers.append(HTTPSHandler(context=context))
    return build_opener(*handlers)


def _who(settings: RegistrySettings) -> dict[str, str]:
    if settings.token is not None:
        return {"Authorization": f"Bearer {settings.token}"}
    if settings.user is not None:
        pair = f"{settings.user}:{settings.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


def _parsed(settings: RegistrySettings, data: bytes) -> Any:  # noqa: ANN401  # as above
    if len(data) > _MOST_BYTES:
        raise _unavailable(settings, f"the answer has more than {_MOST_BYTES:,} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise _unavailable(
            settings, "the answer is not JSON: check that url= is the address of the registry's API"
        ) from exc


def _refusal(settings: RegistrySettings, status: int, data: bytes) -> Refusal:
    if status in _AGAIN:
        raise _Again(f"the registry answers {status}")
    if status in _REFUSED:
        raise _unavailable(
            settings,
            f"the registry refuses this client ({status}): check user= and password=, or token=",
        )
    try:
        said = json.loads(data)
        code, message = int(said["error_code"]), str(said.get("message", ""))[:_SHOWN_CHARS]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _unavailable(
            settings,
            f"the answer {status} is not that of a schema registry: "
            "check that url= is the address of the registry's API",
        ) from None
    return Refusal(status, code, message)


def _unavailable(settings: RegistrySettings, why: str) -> RegistryUnavailableError:
    return RegistryUnavailableError(
        f"the schema registry at {settings.url} is unavailable: {why}",
        hint="no record was skipped: start the app again when the registry is available.",
    )
