"""The benchmark of `kstreams serve` runs, and counts from when a read was due."""

from __future__ import annotations

import time

import pytest

from benchmarks.__main__ import main
from benchmarks.serve.clients import open_loop


class Slow:
    """Takes three times as long as there is time."""

    def read(self) -> None:
        time.sleep(0.03)

    def close(self) -> None:
        pass


def test_a_read_that_waits_for_another_has_waited() -> None:
    times = open_loop(lambda _: Slow(), clients=1, rate=100, seconds=0.2)  # type: ignore[arg-type, return-value]  # played
    assert times[-1] > times[0] + 0.1


@pytest.mark.slow
def test_it_reads_while_an_app_commits(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--part", "reads", "--keys", "500", "--changed", "40", "--seconds", "0.6"]
    assert main(["serve", *given, "--every", "0.1"]) == 0
    said = capsys.readouterr().out
    assert "reads, p99 ms" in said
    assert "commit to event, p99 ms" in said
    assert "saturated, reads a second" in said
