"""The benchmark of `kstreams serve` runs, and measures from the time when a read was due."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.__main__ import main
from benchmarks.serve.clients import open_loop
from devtools.browser import chromium_path


class Slow:
    """A request that takes three times as long as the interval."""

    def read(self) -> None:
        time.sleep(0.03)

    def close(self) -> None:
        pass


def test_latency_of_read_includes_wait_for_earlier_read() -> None:
    times = open_loop(lambda _: Slow(), clients=1, rate=100, seconds=0.2)  # type: ignore[arg-type, return-value]  # a fake
    assert times[-1] > times[0] + 0.1


@pytest.mark.long
@pytest.mark.slow
def test_pages_benchmark_prints_size_and_load_time_of_each_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--tasks", "4", "--batches", "2", "--rounds", "1"]
    with ThreadPoolExecutor(1) as pool:  # Playwright may already run in this thread
        assert pool.submit(main, ["pages", *given]).result() == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[1:]}
    assert (len(rows["letters"]), rows["forecast"][-1]) == (3, "-")
    if chromium_path() is not None:
        assert float(rows["overview"][-1]) > 0


@pytest.mark.long
@pytest.mark.slow
def test_reads_benchmark_prints_latencies_measured_while_an_app_commits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--part", "reads", "--keys", "500", "--changed", "40", "--seconds", "0.6"]
    assert main(["serve", *given, "--every", "0.1"]) == 0
    said = capsys.readouterr().out
    assert "reads, p99 ms" in said
    assert "commit to event, p99 ms" in said
    assert "saturated, reads a second" in said
