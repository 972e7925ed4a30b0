"""Real SFTP servers as processes on loopback.

`SftpServer` is asyncssh, from the wheel of the test group. `OpenSshServer` is the `sshd` of the
machine, or of Debian's package, unpacked into the library's cache. To run one by hand, from the
root of the repository::

    python -m devtools.servers.sftp
"""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh

from devtools.servers.debian import debian_root
from devtools.servers.process import NoServerError, ServerProcess, say_and_wait
from kstreams_sftp import Sftp

__all__ = ("PASSWORD", "OpenSshServer", "SftpServer")

PASSWORD = "pw-of-tests"  # of a server on loopback
_PACKAGE = "openssh-server"
_SEPARATED = "sshd:x:9122:65534::/run/sshd:/usr/sbin/nologin\n"
"""The user for sshd's privilege separation, if root starts it."""


class _SshProcess(ServerProcess):
    """A server with its own keys, which serves the folder `files`."""

    user = "tester"

    @property
    def files(self) -> Path:
        """The folder that clients see."""
        return self.folder / "files"

    @property
    def root(self) -> str:
        """The path of `files` for clients."""
        return "/"

    @property
    def client_key(self) -> Path:
        """The private key of the accepted client."""
        return self.folder / "client_key"

    @property
    def host_key(self) -> str:
        """The server's public key."""
        return (self.folder / "host_key.pub").read_text().strip()

    def prepare(self) -> None:
        """Create keys."""
        self.files.mkdir()
        for name in ("host_key", "client_key"):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(self.folder / name)
            key.write_public_key(self.folder / f"{name}.pub")
            (self.folder / name).chmod(0o600)

    def answers(self) -> bool:
        """Return whether the server sends an SSH greeting."""
        with suppress(OSError), socket.create_connection(self.address, timeout=2) as probe:
            probe.settimeout(2)
            return probe.recv(8) == b"SSH-2.0-"
        return False

    def settings(self, folder: str, *, port: int | None = None, **options: Any) -> Sftp:
        """Return the library's settings for a folder of the files."""
        given: dict[str, Any] = {"key_file": str(self.client_key), **options}
        if not given.get("any_host_key") and not given.get("known_hosts"):
            given.setdefault("host_keys", (self.host_key,))
        place = f"{self.root.rstrip('/')}/{folder}"
        return Sftp(f"sftp://{self.user}@127.0.0.1:{port or self.ports[0]}{place}", **given)


class SftpServer(_SshProcess):
    """asyncssh; accepts the client key or `PASSWORD`."""

    def __init__(self) -> None:
        super().__init__("Sftp")

    def command(self) -> list[str]:
        """Return the command that runs this module as the server."""
        given = ["serve", str(self.folder), str(self.ports[0])]
        return [sys.executable, "-m", "devtools.servers.sftp", *given]


class OpenSshServer(_SshProcess):
    """OpenSSH; accepts the client key.

    Raises:
        NoServerError: There is no sshd and no package of it, or it cannot run here.
    """

    user = getpass.getuser()

    def __init__(self) -> None:
        self._program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
        self._libraries: list[Path] = []
        if self._program is None:
            root = debian_root(_PACKAGE)
            self._program = str(root / "usr/sbin/sshd")
            self._libraries = [
                root / "usr/lib/x86_64-linux-gnu",
                root / "lib/x86_64-linux-gnu",
            ]
        if _is_root() and subprocess.run(["unshare", "-m", "true"], check=False).returncode:
            raise NoServerError(
                "sshd needs its own user, and root cannot create users in this environment"
            )
        super().__init__("OpenSsh")

    @property
    def root(self) -> str:
        """The real path of the files, because clients are not restricted to a root folder."""
        return str(self.files)

    def prepare(self) -> None:
        """Create keys, and a list of users that contains the server's user."""
        super().prepare()
        shutil.copy(self.folder / "client_key.pub", self.folder / "authorized_keys")
        users = Path("/etc/passwd").read_text()
        (self.folder / "passwd").write_text(users + ("" if "\nsshd:" in users else _SEPARATED))

    def command(self) -> list[str]:
        """Return the command that starts sshd.

        If the user is root, the command mounts the list of users over /etc/passwd, in a new mount
        namespace, because sshd needs a user that the machine may lack.
        """
        folder = self.folder
        only = f"internal-sftp -d {self.files}"
        options = {
            "ListenAddress": "127.0.0.1",
            "HostKey": folder / "host_key",
            "AuthorizedKeysFile": folder / "authorized_keys",
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "Subsystem": f"sftp {only}",
            "ForceCommand": only,
            "AllowTcpForwarding": "no",
            "PermitRootLogin": "prohibit-password",
        }
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        paths = ":".join(map(str, self._libraries))
        found = [str(self._program), "-D", "-e", "-f", "/dev/null", "-p", str(self.ports[0])]
        program = ["env", f"LD_LIBRARY_PATH={paths}", *found, *given]
        if not _is_root():
            return program
        mounted = 'mkdir -p /run/sshd; mount --bind "$0" /etc/passwd && exec "$@"'
        return ["unshare", "-m", "bash", "-c", mounted, str(folder / "passwd"), *program]


def _is_root() -> bool:
    return os.geteuid() == 0


class _Login(asyncssh.SSHServer):
    """Accepts clients with the password."""

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return bool(username) and password == PASSWORD


async def _serve(folder: Path, port: int) -> None:
    def shown(channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        return asyncssh.SFTPServer(channel, chroot=os.fsencode(folder / "files"))

    await asyncssh.listen(
        "127.0.0.1",
        port,
        server_factory=_Login,
        server_host_keys=[str(folder / "host_key")],
        authorized_client_keys=str(folder / "client_key.pub"),
        sftp_factory=shown,
        allow_scp=False,
    )
    await asyncio.Event().wait()


def main() -> None:
    """Run a server until Ctrl-C; with `serve FOLDER PORT`, run as the server process."""
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(_serve(Path(sys.argv[2]), int(sys.argv[3])))
        return
    with SftpServer() as server:
        say_and_wait(f"{server.settings('')} {server.client_key} {server.files}")


if __name__ == "__main__":
    main()
