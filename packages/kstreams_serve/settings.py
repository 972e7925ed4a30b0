"""The settings of a server, with checks that reject insecure settings."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from kstreams.errors import KStreamsError
from kstreams_serve.forwarded import TrustedProxies
from kstreams_serve.roles import Role

__all__ = ("Limits", "Listening", "ServeError", "ServeSettings", "read_tokens")

_SHORTEST_TOKEN = 16
_OTHERS = 0o077
_ROLES = tuple(role.name.lower() for role in Role if role is not Role.OPEN)
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")


class ServeError(KStreamsError, ValueError):
    """A server does not start: its settings are insecure or invalid."""

    __str__ = KStreamsError.__str__


@dataclass(frozen=True)
class Limits:
    """Limits of single requests and of all requests.

    Attributes:
        head_bytes: The bytes of request line and headers.
        body_bytes: The bytes of a request body.
        key_bytes: The bytes of a key, as text.
        keys: The keys of one request.
        rows: The rows of one page.
        answer_bytes: The approximate bytes of a response.
        read_seconds: The time for a page, which then ends with a cursor.
        slice_seconds: The time for which a page may delay other requests.
        head_seconds: The time for the head of a request, and for its body.
        wait_seconds: The wait of a request for a version.
        restore_seconds: The wait of a request for the restore of a partition.
        pages: The pages that are read at the same time.
        connections: The open connections.
        streams: The open event streams of followers.
        send_seconds: The time within which a client must accept more bytes of its response.
        stream_seconds: The time of a follower until it must reconnect.
        failures_a_minute: The accepted number of wrong tokens per address and minute.
        savepoints: The savepoints of an app beyond which commands create no more, because each
            retains its version.
    """

    head_bytes: int = 16 * 1024
    body_bytes: int = 256 * 1024
    key_bytes: int = 8 * 1024
    keys: int = 500
    rows: int = 1000
    answer_bytes: int = 1024 * 1024
    read_seconds: float = 2.0
    slice_seconds: float = 0.005
    head_seconds: float = 10.0
    wait_seconds: float = 30.0
    restore_seconds: float = 2.0
    pages: int = 32
    connections: int = 256
    streams: int = 100
    send_seconds: float = 30.0
    stream_seconds: float = 3600.0
    failures_a_minute: int = 10
    savepoints: int = 100


@dataclass(frozen=True)
class Listening:
    """The address and the access settings of a server.

    Args:
        tokens: The roles by token; tokens have at least 16 characters.
        host: The address of the server.
        port: The port; 0 uses a free one.
        names: The host names of the server, in addition to the address.
        certificate: The file of the TLS certificate; with `key_file`.
        key_file: The file of the private key.
        behind_proxy: Whether a proxy in front of the server terminates TLS.
        limits: The limits; see `Limits`.
        origins: The origins of other servers whose pages may send requests with a token:
            `https://HOST[:PORT]`.
        holders: The owners of tokens, by token, for the log of commands.
        forwarded_allow_ips: The addresses and networks of proxies whose `X-Forwarded-For` names the
            client; the header is ignored in other requests.

    Raises:
        ServeError: A token is too short; an origin or the address of a proxy is invalid; or the
            server would be open to other machines without TLS.
    """

    tokens: Mapping[str, Role] = field(repr=False)
    host: str = "127.0.0.1"
    port: int = 8080
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key_file: Path | None = None
    behind_proxy: bool = False
    limits: Limits = Limits()
    origins: tuple[str, ...] = ()
    holders: Mapping[str, str] = field(default_factory=dict, repr=False)
    forwarded_allow_ips: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the settings."""
        for token in self.tokens:
            if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
                raise ServeError(
                    f"a token has {len(token)} characters; expected {_SHORTEST_TOKEN} or more, "
                    "all of them printable ASCII",
                    hint="`openssl rand -hex 32` prints a token.",
                )
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise ServeError(
                    f"origin {origin!r} is invalid; expected https://HOST or https://HOST:PORT"
                )
        self._check_proxies()
        if (self.certificate is None) != (self.key_file is None):
            given, missing = "certificate", "key_file"
            if self.certificate is None:
                given, missing = missing, given
            raise ServeError(
                f"{given} is set, but {missing} is missing",
                hint="set both or neither (kstreams serve: --tls-cert and --tls-key).",
            )
        if not self.is_loopback and self.certificate is None and not self.behind_proxy:
            raise ServeError(
                f"the server would listen at {self.host} without TLS: others in the network could "
                "read tokens and data",
                hint="set certificate and key_file (kstreams serve: --tls-cert, --tls-key), or "
                "behind_proxy (--behind-proxy) if a proxy terminates TLS.",
            )

    def _check_proxies(self) -> None:
        try:
            TrustedProxies(self.forwarded_allow_ips)
        except ValueError as exc:
            raise ServeError(
                f"forwarded_allow_ips has an invalid trusted proxy: {exc}",
                hint="write each proxy as 10.0.0.7 or 10.0.0.0/8; * is not supported, because "
                "clients could then choose their address.",
            ) from exc

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True)
class ServeSettings(Listening):
    """The settings of a query server.

    Args:
        poll: The interval of checks for new versions; by default 20 ms for a directory, a second
            otherwise.
        allows_actions: Whether tokens of the role `act` may send commands to apps.

    Raises:
        ServeError: There is no token, or none that may send the allowed commands; or see
            `Listening`.
    """

    poll: timedelta | None = None
    allows_actions: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.tokens:
            raise ServeError(
                "tokens is empty, so no client could send requests",
                hint="ServeSettings.new_token() returns a token.",
            )
        if self.allows_actions and Role.ACT not in self.tokens.values():
            raise ServeError(
                "actions are allowed, but no token has the role act",
                hint="add a token with the role act, or do not allow actions.",
            )
        super().__post_init__()

    @classmethod
    def new_token(cls) -> str:
        """Return a random token."""
        return secrets.token_urlsafe(24)


def read_tokens(file: Path) -> tuple[dict[str, Role], dict[str, str]]:
    """Read a file of tokens: a role and a token per line.

    A token without a role has the role `data`. A third word names the owner of the token.

    Returns:
        The roles by token; and the named owners by token.

    Raises:
        ServeError: The file cannot be read, has no token, or is readable by others.
    """
    try:
        mode = file.stat().st_mode
        text = file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as exc:
        raise ServeError(f"the token file {str(file)!r} cannot be read: {exc}") from exc
    if mode & _OTHERS:
        raise ServeError(
            f"other users may read the token file {str(file)!r}",
            hint=f"run chmod 600 {file} first.",
        )
    found: dict[str, Role] = {}
    holders: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        role, token, *names = words if len(words) > 1 else ("data", *words)
        if len(names) > 1 or role not in _ROLES:
            raise ServeError(
                f"line {number} of the token file {str(file)!r} is invalid; expected a role, a "
                "token and, optionally, the name of its owner",
                hint=f"roles are {', '.join(_ROLES)}.",
            )
        found[token] = Role[role.upper()]
        if names:
            holders[token] = names[0]
    if not found:
        raise ServeError(
            f"the token file {str(file)!r} has no token",
            hint="write a role and a token on each line.",
        )
    return found, holders
