"""The known keys of a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kstreams_sftp.errors import HostKeyError
from kstreams_sftp.public_key import parsed_key
from kstreams_sftp.sdk import hostkeys, paramiko

if TYPE_CHECKING:
    from paramiko import PKey, SSHClient

    from kstreams_sftp.settings import Sftp

__all__ = ("learn_keys",)

_SSH_PORT = 22
_COMPARE = (
    "ask the server's administrator for its host key, and give the key as host_keys=, or in a file "
    "as known_hosts=. `ssh-keyscan -p PORT HOST` prints the key of the server that answers: use it "
    "only if it equals the administrator's."
)


def learn_keys(client: SSHClient, settings: Sftp) -> None:
    """Load the server's known keys into a client, which rejects others unless any is allowed.

    Raises:
        HostKeyError: The file of known keys cannot be read.
    """
    client.set_missing_host_key_policy(_Unknown(settings))
    if settings.any_host_key:
        return
    name = settings.host if settings.port == _SSH_PORT else f"[{settings.host}]:{settings.port}"
    for line in settings.host_keys:
        kind, data = parsed_key(line)
        entry = hostkeys.HostKeyEntry.from_line(f"{name} {kind} {data}")
        if entry is not None and entry.key is not None:
            client.get_host_keys().add(name, kind, entry.key)
    if settings.host_keys:
        return
    try:
        client.load_system_host_keys(settings.known_hosts)
    except OSError as exc:
        raise HostKeyError(
            f"the file of known hosts for {settings.place} cannot be read: {exc}", hint=_COMPARE
        ) from None
    if settings.known_hosts is None and not Path("~/.ssh/known_hosts").expanduser().exists():
        raise HostKeyError(
            f"no host key of {settings.place} is known: this user has no ~/.ssh/known_hosts",
            hint=_COMPARE,
        )


class _Unknown(paramiko.MissingHostKeyPolicy):
    """The policy for servers without a known key."""

    def __init__(self, settings: Sftp) -> None:
        self._settings = settings

    def missing_host_key(self, client: SSHClient, hostname: str, key: PKey) -> None:
        """Reject the key, unless any key is allowed."""
        if not self._settings.any_host_key:
            raise HostKeyError(
                f"the host key of {self._settings.place} is unknown: "
                f"{key.get_name()} {key.fingerprint}",
                hint=_COMPARE,
            )
