"""Reads while an app commits: response times, and the delay until a follower receives a commit."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serve.committing import GROUP
from benchmarks.serve.served import Served, end, line_of, said
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of

__all__ = ("Load", "reading")

_STORE = "/v1/apps/bench/stores/counts"
_PARTITIONS = 4
_CLIENTS = 32
_SATURATING = 8
_PAGES_A_SECOND = 20.0
_SETTLING = 500


@dataclass(frozen=True)
class Load:
    """Sizes and rates of commits and reads.

    Attributes:
        keys: The number of keys.
        changed: The number of keys that a commit changes.
        every_s: Seconds between commits.
        rate: Reads per second.
        seconds: The duration of each part.
    """

    keys: int
    changed: int
    every_s: float
    rate: float
    seconds: float


def reading(load: Load) -> dict[str, float]:
    """Return the figures of a server that reads the state while an app commits."""
    key, rows = f"{_STORE}/key?key=key-{{{load.keys}}}", f"{_STORE}/rows?start=key-{{{load.keys}}}"
    with tempfile.TemporaryDirectory(prefix="kstreams-serve-") as folder:
        place = Path(folder) / "bench"
        app = _committing(place, load)
        try:
            with Served(place) as served:
                figures = {
                    "start to listening, s": served.started_s,
                    "idle, resident MB": served.idle_mb,
                    "start to first answer, s": served.answers_s(key),
                }
                served.answers_s(key, reads=_SETTLING)  # of all partitions
                figures |= _points(served, place, key, load)
                times = said(
                    served.asked(
                        rows, clients=_SATURATING, seconds=load.seconds, rate=_PAGES_A_SECOND
                    )
                )
                figures |= _spread("pages of 100 rows", times)
                third = load.seconds / 3
                each = said(served.asked(key, clients=_SATURATING, seconds=third))
                figures["saturated, reads a second"] = each
                figures["with all keys, resident MB"] = served.resident_mb()
        finally:
            end(app)
    return figures


def _points(served: Served, place: Path, key: str, load: Load) -> dict[str, float]:
    cpu = served.cpu_s()
    follower = served.followed(f"{_STORE}/follow", load.seconds)
    times = said(served.asked(key, clients=_CLIENTS, seconds=load.seconds, rate=load.rate))
    busy = (served.cpu_s() - cpu) / load.seconds
    heard = _delays_ms(said(follower), place)
    return {
        **_spread("reads", times),
        "server, of a core": busy,
        "commit to event, p50 ms": heard[len(heard) // 2],
        "commit to event, p99 ms": heard[len(heard) * 99 // 100],
        "commit to event, max ms": heard[-1],
    }


def _spread(name: str, times: list[float]) -> dict[str, float]:
    return {
        f"{name}, p50 ms": 1000 * times[len(times) // 2],
        f"{name}, p99 ms": 1000 * times[len(times) * 99 // 100],
        f"{name}, max ms": 1000 * times[-1],
    }


def _delays_ms(heard: dict[str, float], place: Path) -> list[float]:
    """Return the delays until a follower received each commit except the first, ascending.

    A delay counts from the wall-clock time in the commit, which is taken before the commit is
    written.
    """
    checkpoint = Checkpoint.load(home_of(place))
    commits = checkpoint.commits(GROUP, checkpoint.log.open())
    known = sorted((int(batch), moment) for batch, moment in heard.items())[1:]
    return sorted(moment - commits.at(batch).wall_ms for batch, moment in known)


def _committing(place: Path, load: Load) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.serve.committing", str(place)]
    given = (load.keys, _PARTITIONS, load.changed, load.every_s)
    process = subprocess.Popen(  # noqa: S603  # our own module
        [*command, *map(str, given)], stdout=subprocess.PIPE, text=True
    )
    line_of(process.stdout, r"ready")
    return process
