"""The settings of an SFTP server and its directory."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from urllib.parse import SplitResult, unquote, urlsplit

from kstreams.sinks import Guarantee
from kstreams_sftp.public_key import parsed_key
from kstreams_sftp.store import SftpStore

__all__ = ("Sftp",)

_PORT = 22
_HOME = "/~/"


@dataclass(frozen=True)
class Sftp:
    """The settings of a directory on an SFTP server.

    The server's key is checked against the known keys before the login is sent. Without `password`
    and `key_file`, the user's agent and default keys are tried, as `ssh` does. Logs and errors
    never show a password, a passphrase or the path of a key.

    Args:
        url: `sftp://user@host:port/directory`; `sftp://user@host/~/directory` is below the user's
            home. The directory must exist.
        host_keys: The keys of the server, as `ssh-keyscan` prints them: `ssh-ed25519 AAAA...`, with
            or without a host name before it.
        known_hosts: The file of known keys to use if `host_keys` is empty.
        any_host_key: Accept any key. Use it only where no other server can answer.
        password: The password of the user.
        key_file: The user's private key; the file must exist on the driver and on each worker.
        passphrase: The passphrase of the key file.
        connect_timeout: The maximum time to wait for a connection, and for the login.
        answer_timeout: The maximum time to wait for the next byte of a response.
        give_up_after: The maximum time to retry a request before it is an error.

    Raises:
        ValueError: The URL or a key is invalid; the error never contains a secret.

    Example:
        >>> from kstreams_sftp import Sftp
        >>> Sftp("sftp://app@files.example/outgoing", key_file="/keys/app", known_hosts="/keys/h")
        Sftp('sftp://app@files.example/outgoing')
    """

    url: str
    _: KW_ONLY
    host_keys: tuple[str, ...] = ()
    known_hosts: str | None = None
    any_host_key: bool = False
    password: str | None = field(default=None, repr=False)
    key_file: str | None = field(default=None, repr=False)
    passphrase: str | None = field(default=None, repr=False)
    connect_timeout: timedelta = timedelta(seconds=10)
    answer_timeout: timedelta = timedelta(seconds=30)
    give_up_after: timedelta = timedelta(minutes=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "host_keys", tuple(self.host_keys))
        _check_url(self.url)
        for key in self.host_keys:
            parsed_key(key)
        if self.any_host_key and (self.host_keys or self.known_hosts):
            raise ValueError("Sftp(any_host_key=True): leave out host_keys= and known_hosts=")
        if self.passphrase is not None and self.key_file is None:
            raise ValueError("Sftp(passphrase=...) needs key_file=")
        for name in ("connect_timeout", "answer_timeout", "give_up_after"):
            if getattr(self, name) <= timedelta(0):
                raise ValueError(f"Sftp({name}={getattr(self, name)}): must be positive")

    def __repr__(self) -> str:
        return f"Sftp({self.place!r})"

    @property
    def host(self) -> str:
        """Name or address of the server."""
        return self._parts.hostname or ""

    @property
    def port(self) -> int:
        """The port."""
        return self._parts.port or _PORT

    @property
    def user(self) -> str | None:
        """The user name; None is the user of this process."""
        return unquote(self._parts.username) if self._parts.username else None

    @property
    def root(self) -> str:
        """The directory in the server's form; `.` is the user's home."""
        path = unquote(self._parts.path).rstrip("/")
        if f"{path}/".startswith(_HOME):
            return path[len(_HOME) :] or "."
        return path or "/"

    @property
    def place(self) -> str:
        """The name of the storage in logs and errors."""
        return self.url

    @property
    def guarantee(self) -> Guarantee:
        """Effectively once: SFTP does not guarantee that files survive a crash of the server."""
        return "effectively-once"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that logs and errors must not show."""
        found = (self.password, self.passphrase, self.key_file)
        return tuple(each for each in found if each)

    def open(self) -> SftpStore:
        """Return the storage; the first request is sent when it is used."""
        return SftpStore(self)

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.password is not None or url.count("@") > parts.netloc.count("@"):
        raise ValueError("Sftp(...): the URL must not have a password: use password=")
    known = parts.scheme == "sftp" and parts.hostname and not parts.query and not parts.fragment
    if not known:
        raise ValueError("Sftp(...): expected sftp://user@host:port/directory")
    steps = unquote(parts.path).split("/")
    if ".." in steps or any("\0" in step for step in steps):
        raise ValueError("Sftp(...): the directory must not contain '..' or a null character")
