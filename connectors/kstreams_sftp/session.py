"""A connection that is opened at the first use, and reopened when it is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from kstreams_rows.retrying import hidden, retried
from kstreams_sftp.client import Client, Connection
from kstreams_sftp.errors import HostKeyError, LoginError, SftpError, SftpUnavailableError
from kstreams_sftp.sdk import paramiko, ssh_exception

if TYPE_CHECKING:
    from kstreams_sftp.settings import Sftp

__all__ = ("Session",)

T = TypeVar("T")
"""The type of a request's result."""

_LASTING = (
    paramiko.BadHostKeyException,
    ssh_exception.IncompatiblePeer,
)
_LOST_LOGIN = ("shut down", "timeout")
_REFUSALS = frozenset({errno.ENOENT, errno.EACCES, errno.EIO, errno.EOPNOTSUPP})
"""Error numbers of server responses; all other errors of this type are connection errors."""


class Session:
    """A process's connection to a server, one request at a time; thread-safe.

    Args:
        settings: The settings of the server.
    """

    def __init__(self, settings: Sftp) -> None:
        self._settings = settings
        self._mutex = RLock()
        self._made: tuple[int, Connection] | None = None

    def run(self, doing: str, work: Callable[[Client], T]) -> T:
        """Return the result of an operation on the server; retry temporary failures.

        Args:
            doing: A description of the operation for errors: `read 'a'`.
            work: The operation; it must be safe to repeat.

        Raises:
            SftpUnavailableError: The server did not answer within `give_up_after`.
            SftpError: The request was rejected; a retry would be rejected too.
        """
        with self._mutex:
            faults = _Faults(self._settings, doing)
            attempt = partial(self._attempt, work)
            return retried(attempt, faults, self._settings.give_up_after, self._forget)

    def _attempt(self, work: Callable[[Client], T]) -> T:
        pid, connection = self._made or (0, None)
        if connection is None or pid != os.getpid():  # the parent process owns it
            connection = Connection(self._settings)
            self._made = os.getpid(), connection
        return work(connection.client)

    def close(self) -> None:
        """Close the connection; the next operation opens a new one."""
        with self._mutex:
            self._forget()

    def _forget(self) -> None:
        made, self._made = self._made, None
        if made is not None and made[0] == os.getpid():
            made[1].close()


class _Faults:
    """Classifies exceptions of an SFTP server; see `kstreams_rows.retrying.Failures`."""

    kinds = (paramiko.SSHException, OSError, EOFError)

    def __init__(self, settings: Sftp, doing: str) -> None:
        self._settings = settings
        self._doing = doing

    def may_pass(self, exc: Exception, /) -> bool:
        """Return whether an error is temporary, because of the connection and not the request."""
        if isinstance(exc, _LASTING):
            return False
        if isinstance(exc, paramiko.AuthenticationException):
            return any(word in str(exc) for word in _LOST_LOGIN)
        return not (isinstance(exc, OSError) and exc.errno in _REFUSALS)

    def error(self, exc: Exception, /) -> SftpError:
        """Return the library error for an exception."""
        settings = self._settings
        said = hidden(f"{type(exc).__name__}: {exc}", settings.secrets)
        what = f"cannot {self._doing} of {settings.place}: {said}"
        if isinstance(exc, paramiko.BadHostKeyException):
            return HostKeyError(
                f"{settings.place} has another host key than the known one: "
                f"{exc.key.get_name()} {exc.key.fingerprint}",
                hint="another server may be answering. Ask the server's administrator for the new "
                "host key, and give it as host_keys= or known_hosts=.",
            )
        if self.may_pass(exc):
            return SftpUnavailableError(
                what,
                hint="check that the server runs and that workers reach it; Sftp(give_up_after="
                "...) sets how long to retry. The batch can be retried.",
            )
        if isinstance(exc, paramiko.AuthenticationException):
            return LoginError(what, hint="check the user's name, and password= or key_file=.")
        return SftpError(
            what, hint="check the directory, the user's rights and the free disk space."
        )
