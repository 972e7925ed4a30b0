"""Two kinds of servers, and a folder for each test."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.sftp import OpenSshServer, SftpServer
from devtools.servers.skipping import or_skip
from kstreams_sftp import Sftp

KINDS = (SftpServer, pytest.param(OpenSshServer, marks=pytest.mark.connectors))


@dataclass(frozen=True)
class Folder:
    """A folder of a server, as seen on this machine.

    Attributes:
        server: The server.
        path: The folder, on this machine.
    """

    server: SftpServer | OpenSshServer
    path: Path

    def place(self, **options: Any) -> Sftp:
        return self.server.settings(self.path.name, **options)

    def put(self, name: str, data: str | bytes, *, time: int = 1) -> Path:
        """Write a complete file with a modification time in seconds."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(data if isinstance(data, bytes) else data.encode())
        os.utime(part, (time, time))
        part.rename(path)
        return path

    def files(self) -> dict[str, str]:
        """Return the visible files by path."""
        return {
            name: path.read_text()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and not (name := str(path.relative_to(self.path))).startswith("_")
        }


@pytest.fixture(scope="session", params=KINDS, ids=["asyncssh", "openssh"])
def sftp_server(request: pytest.FixtureRequest) -> Iterator[SftpServer | OpenSshServer]:
    """A server for the whole run; never stop it."""
    with or_skip(request.param) as server:
        yield server


@pytest.fixture
def folder(sftp_server: SftpServer | OpenSshServer) -> Folder:
    path = sftp_server.files / uuid.uuid4().hex
    path.mkdir()
    return Folder(sftp_server, path)
