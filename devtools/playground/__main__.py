"""Runs and uses the playground: `make run`, `make listen`, `make reset`, `make group-delete`.

    python -m devtools.playground run|listen|reset|group-delete

Docker runs compose.yaml if it answers. Otherwise the same programs and servers run as processes,
without Grafana, until Ctrl-C.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from devtools.playground.addresses import PROGRAMS, Addresses
from devtools.playground.local import LocalPlayground
from devtools.servers.docker import why_docker_is_silent
from devtools.workspace import ROOT

_COMPOSE = ("docker", "compose")
_LISTEN = (
    "kstreams", "topics", "tail", "totals", "--follow", "--from=beginning",
    "--value-serde=count_words:TOTALS.value",
)  # fmt: skip
_POLL_S = 0.5


def main(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    commands: dict[str, tuple[Callable[[], int], Callable[[Addresses], int]]] = {
        "run": (_run_containers, _run_processes),
        "listen": (_listen_in_container, _listen),
        "reset": (_reset_in_container, _reset),
        "group-delete": (lambda: _in_container("delete_groups.py"), _delete_groups),
    }
    if len(arguments) != 1 or arguments[0] not in commands:
        sys.exit(__doc__)
    with_docker, without = commands[arguments[0]]
    local = Addresses()
    if not local.read() and not why_docker_is_silent():
        return with_docker()
    return without(local)


def _run_containers() -> int:
    subprocess.run(["make", "dist"], cwd=ROOT, check=True)  # the image installs these wheels
    return _compose("up", "--build")


def _run_processes(running: Addresses) -> int:
    if running.read():
        sys.stderr.write("playground: it already runs in another terminal\n")
        return 1
    sys.stdout.write("playground: Docker does not answer; starting processes\n")
    with LocalPlayground(prometheus=True) as playground, suppress(KeyboardInterrupt):
        for name, place in playground.places.items():
            sys.stdout.write(f"  {name}: {place}\n")
        sys.stdout.write("playground: `make listen` shows the totals; Ctrl-C stops all\n")
        sys.stdout.flush()
        while True:
            playground.watch()
            time.sleep(_POLL_S)
    return 0


def _listen_in_container() -> int:
    with suppress(KeyboardInterrupt):
        return _compose("exec", "--env", "KSTREAMS_BOOTSTRAP=kafka:19092", "app", *_LISTEN)
    return 0


def _listen(running: Addresses) -> int:
    with suppress(KeyboardInterrupt):
        return _run(running, *_LISTEN)
    return 0


def _reset_in_container() -> int:
    return _compose("stop", "app") or _in_container("reset.py") or _compose("start", "app")


def _reset(running: Addresses) -> int:
    if not running.read():
        return _run(running)
    with running.stopped_app():
        return _run(running, sys.executable, str(PROGRAMS / "reset.py"))


def _in_container(program: str) -> int:
    return _compose("run", "--rm", "--no-deps", "set-up", "python", f"/opt/playground/{program}")


def _delete_groups(running: Addresses) -> int:
    return _run(running, sys.executable, str(PROGRAMS / "delete_groups.py"))


def _compose(*arguments: str) -> int:
    with suppress(KeyboardInterrupt):
        return subprocess.run([*_COMPOSE, *arguments], cwd=ROOT, check=False).returncode
    return 0


def _run(running: Addresses, *command: str) -> int:
    """Run a command with the variables of a playground of processes."""
    variables = running.read()
    if not variables:
        sys.stderr.write("playground: it does not run\nHint: start it with `make run`\n")
        return 1
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
