"""The command `serve`: what point reads over HTTP take while an app commits."""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from benchmarks.machine import machine
from benchmarks.serve.clients import client_of, open_loop, saturated
from benchmarks.serve.committing import GROUP
from benchmarks.serve.following import Follower

__all__ = ("add_to",)

_CLIENTS = 32


def add_to(commands: Any, *, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Of the parser.
        count: Reads a number.
    """
    serve = commands.add_parser("serve", help="point reads over HTTP while an app commits")
    serve.add_argument("--keys", type=count, default=1_000_000, help="%(default)s, in 4 partitions")
    serve.add_argument("--changed", type=count, default=10_000, help="a commit; %(default)s")
    serve.add_argument("--every", type=float, default=0.5, help="seconds a commit; %(default)s")
    serve.add_argument("--rate", type=float, default=200.0, help="reads a second; %(default)s")
    serve.add_argument("--seconds", type=float, default=15.0, help="of each part; %(default)s")
    serve.add_argument("--json", type=Path, help="where to put the figures")
    serve.set_defaults(call=_serve)


def _serve(options: argparse.Namespace) -> int:
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="kstreams-serve-") as folder:
        place = Path(folder) / "bench"
        app = _committing(place, options)
        begun = time.perf_counter()
        server, port = _served(place, token)
        started = time.perf_counter() - begun
        try:
            figures = _measured(place, port, token, server.pid, options)
        finally:
            for process in (server, app):
                process.terminate()
                process.communicate(timeout=20)
    figures["start to listening, s"] = started
    print(json.dumps(machine()))
    for name, value in figures.items():
        print(f"{name:32}{value:12,.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1))
    return 0


def _measured(
    place: Path, port: int, token: str, pid: int, options: argparse.Namespace
) -> dict[str, float]:
    make = client_of(port, token, options.keys)
    for _ in range(20 * 30):  # all partitions are restored
        try:
            for seed in range(8):
                with closing(make(seed)) as client:
                    client.read()
            break
        except RuntimeError:
            time.sleep(0.05)
    saturated(make, clients=4, seconds=1)
    cpu = _cpu_seconds(pid)
    follower = Follower(port, token, options.seconds)
    times = open_loop(make, clients=_CLIENTS, rate=options.rate, seconds=options.seconds)
    busy = (_cpu_seconds(pid) - cpu) / options.seconds
    heard = follower.delays_ms(place, GROUP)
    reads = saturated(make, clients=8, seconds=options.seconds / 3)
    return {
        "reads": float(len(times)),
        "p50 ms": 1000 * times[len(times) // 2],
        "p99 ms": 1000 * times[len(times) * 99 // 100],
        "max ms": 1000 * times[-1],
        "of a core, server": busy,
        "saturated, reads a second": reads,
        "commit to event, p50 ms": heard[len(heard) // 2],
        "commit to event, max ms": heard[-1],
        "resident, MB": _resident_mb(pid),
    }


def _committing(place: Path, options: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.serve.committing", str(place)]
    given = (options.keys, 4, options.changed, options.every)
    process = subprocess.Popen(  # noqa: S603  # our own module
        [*command, *map(str, given)], stdout=subprocess.PIPE, text=True
    )
    _line(process.stdout, r"ready")
    return process


def _served(place: Path, token: str) -> tuple[subprocess.Popen[str], int]:
    program = "from kstreams.cli import main; main()"
    process = subprocess.Popen(  # noqa: S603  # our own program
        [sys.executable, "-c", program, "serve", str(place), "--bind", "127.0.0.1:0"],
        env={**os.environ, "KSTREAMS_SERVE_TOKEN": token},
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, int(_line(process.stderr, r":(\d+)$")[1])


def _line(pipe: IO[str] | None, pattern: str) -> re.Match[str]:
    """Return what a process says first, which has to be of a pattern."""
    said = "" if pipe is None else pipe.readline().strip()
    found = re.search(pattern, said)
    if found is None:
        raise RuntimeError(f"a process says {said!r}")
    return found


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
