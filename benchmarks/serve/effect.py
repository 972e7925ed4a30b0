"""Effect of a server on the app: rounds without a server, with an idle one, and with a busy one.

App, server and clients share the machine. In production the clients would run elsewhere: here their
cost is part of the figures, to the disadvantage of the server.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from pathlib import Path
from statistics import median
from typing import IO

from benchmarks.serve.served import Served, end, line_of, said
from benchmarks.serve.working import CHECKPOINT

__all__ = ("effect",)

_KEY = "/v1/apps/count/stores/counts/key?key=key-{50}"
_PAGE = "/apps/count"
_CLIENTS = 32
_BEGIN_COMMITS = 10
_SETTLE_S = 1.0
_SETTLING = 100


class _Progress:
    """The number of records that an app has read, over time."""

    def __init__(self, pipe: IO[str] | None) -> None:
        self._pipe = pipe
        self.moments: list[float] = []
        self.records: list[int] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._pipe or ():
            moment, records = line.split()
            self.records.append(int(records))
            self.moments.append(float(moment))

    def rate(self, begin: float, until: float) -> float:
        """Return records per second between the first commits after two moments.

        Raises:
            RuntimeError: There were fewer than two commits. Run with more `--seconds` or
                `--records`.
        """
        first, last = bisect_left(self.moments, begin), bisect_left(self.moments, until) - 1
        if last - first < 1:
            raise RuntimeError("the app has not committed twice: more --seconds, or more --records")
        seconds = self.moments[last] - self.moments[first]
        return (self.records[last] - self.records[first]) / seconds


def effect(*, records: int, rounds: int, rate: float, seconds: float) -> dict[str, float]:
    """Return the share of its throughput that an app keeps.

    Args:
        records: The number of records for the app.
        rounds: The number of alternating measurements of each case.
        rate: Reads per second.
        seconds: The duration of each measurement.
    """
    with tempfile.TemporaryDirectory(prefix="kstreams-serve-") as folder:
        command = [sys.executable, "-m", "benchmarks.serve.working", folder, str(records)]
        app = subprocess.Popen(  # noqa: S603  # our own module
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        try:
            line_of(app.stdout, r"begun")
            progress = _Progress(app.stdout)
            while len(progress.moments) < _BEGIN_COMMITS:
                if app.poll() is not None:
                    raise RuntimeError("the app has ended: give it more --records")
                time.sleep(0.1)
            with Served(Path(folder) / CHECKPOINT) as served:
                served.answers_s(_KEY, reads=_SETTLING)
                return _rounds(progress, served, rounds, rate, seconds)
        finally:
            end(app)


def _rounds(
    progress: _Progress, served: Served, rounds: int, rate: float, seconds: float
) -> dict[str, float]:
    alone, idle, asked, busy, clients = [], [], [], [], []
    for _ in range(rounds):
        served.stop()
        alone.append(_rate(progress, seconds))
        served.go_on()
        idle.append(_rate(progress, seconds))
        cpu, others = served.cpu_s(), _children_s()
        whole = _SETTLE_S + seconds
        page = served.followed(_PAGE, whole)
        reads = served.asked(_KEY, clients=_CLIENTS, seconds=whole, rate=rate)
        asked.append(_rate(progress, seconds))
        said(reads)
        end(page)
        busy.append((served.cpu_s() - cpu) / whole)
        clients.append((_children_s() - others) / whole)
    return {
        "app alone, records a second": median(alone),
        "beside a server, % of alone": 100 * _kept(idle, alone),
        "reads and a page, % of alone": 100 * _kept(asked, alone),
        "server meanwhile, of a core": median(busy),
        "clients meanwhile, of a core": median(clients),
    }


def _rate(progress: _Progress, seconds: float) -> float:
    time.sleep(_SETTLE_S)
    begin = time.time()
    time.sleep(seconds)
    return progress.rate(begin, time.time())


def _kept(rates: list[float], alone: list[float]) -> float:
    return median(each / own for each, own in zip(rates, alone, strict=True))


def _children_s() -> float:
    """Return the processor seconds of ended client processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
