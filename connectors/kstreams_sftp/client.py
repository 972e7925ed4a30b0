"""An SFTP client that accepts any file name and maps the server's status codes to errors."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from kstreams_sftp.errors import LoginError
from kstreams_sftp.host_keys import learn_keys
from kstreams_sftp.sdk import paramiko, protocol

if TYPE_CHECKING:
    from paramiko import PKey, SFTPFile

    from kstreams_sftp.settings import Sftp

__all__ = ("Client", "Connection")

_ERRNOS = {
    protocol.SFTP_NO_SUCH_FILE: errno.ENOENT,
    protocol.SFTP_PERMISSION_DENIED: errno.EACCES,
    protocol.SFTP_NO_CONNECTION: errno.ENOTCONN,
    protocol.SFTP_CONNECTION_LOST: errno.ECONNRESET,
    protocol.SFTP_OP_UNSUPPORTED: errno.EOPNOTSUPP,
}
_FAILURE = errno.EIO
"""The error number of failures without an SFTP status code: a full disk, an existing name."""


class _Answer(paramiko.Message):
    """A response whose texts may be any bytes, as file names may be."""

    def get_text(self) -> str:
        """Return a text; bytes that are not UTF-8 are escaped as in Python's file names."""
        return self.get_string().decode(errors="surrogateescape")


class Client(paramiko.SFTPClient):
    """paramiko's client, whose listings also support file names that are not UTF-8."""

    def sync(self, file: SFTPFile) -> None:
        """Flush a file to the server's disk, if the server supports that."""
        try:
            self._request(protocol.CMD_EXTENDED, "fsync@openssh.com", file.handle)  # type: ignore[attr-defined]  # not in its stubs
        except OSError as exc:
            if exc.errno != errno.EOPNOTSUPP:
                raise

    def _read_response(self, waitfor: int | None = None) -> tuple[int | None, _Answer | None]:
        kind, message = super()._read_response(waitfor)  # type: ignore[misc]  # as above
        return kind, None if message is None else _Answer(message.get_remainder())

    def _convert_status(self, msg: paramiko.Message) -> None:
        """Raise the exception for a status of the server, with an `errno` for each kind."""
        code = msg.get_int()
        text = msg.get_string().decode(errors="backslashreplace")
        if code == protocol.SFTP_EOF:
            raise EOFError(text)
        if code != protocol.SFTP_OK:
            raise OSError(_ERRNOS.get(code, _FAILURE), text)


class Connection:
    """A login and its SFTP client.

    Args:
        settings: The settings of the server.

    Raises:
        Exception: An exception of paramiko: the server does not answer, or rejects the login.
        HostKeyError: The server's key is unknown.
        LoginError: The user's key cannot be read.

    Attributes:
        client: The SFTP client.
    """

    def __init__(self, settings: Sftp) -> None:
        self._ssh = paramiko.SSHClient()
        learn_keys(self._ssh, settings)
        within_s = settings.connect_timeout.total_seconds()
        own = settings.password is None and settings.key_file is None
        try:
            self._ssh.connect(
                settings.host,
                settings.port,
                settings.user,
                settings.password,
                pkey=_key(settings),
                timeout=within_s,
                banner_timeout=within_s,
                auth_timeout=within_s,
                channel_timeout=within_s,
                allow_agent=own,
                look_for_keys=own,
            )
            self.client = _client(self._ssh)
        except BaseException:
            self._ssh.close()
            raise
        self.client.sock.settimeout(settings.answer_timeout.total_seconds())

    def close(self) -> None:
        """Close the connection."""
        self._ssh.close()


def _client(ssh: paramiko.SSHClient) -> Client:
    transport = ssh.get_transport()
    client = None if transport is None else Client.from_transport(transport)
    if client is None:
        raise paramiko.SSHException("the connection was closed")
    return client


def _key(settings: Sftp) -> PKey | None:
    """Return the user's private key."""
    if settings.key_file is None:
        return None
    passphrase = None if settings.passphrase is None else settings.passphrase.encode()
    try:
        return paramiko.PKey.from_path(settings.key_file, passphrase)  # type: ignore[arg-type]  # bytes
    except Exception as exc:  # noqa: BLE001  # of paramiko's and of its cipher's, whose texts may name the file
        raise LoginError(
            f"the private key for {settings.place} cannot be read: {type(exc).__name__}",
            hint="key_file= must name a file on this machine. With a passphrase, give passphrase=.",
        ) from None
