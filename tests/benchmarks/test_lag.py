"""Latency is measured only of peers that keep up."""

from __future__ import annotations

from benchmarks.suite.lag import RATE, keeps_up
from benchmarks.suite.registry import peer_by


def test_no_lag_is_measured_of_a_slow_peer_that_cannot_keep_up() -> None:
    assert not keeps_up(peer_by("faust"), RATE - 1)
    assert keeps_up(peer_by("faust"), RATE)
    assert keeps_up(peer_by("faust"), None)


def test_short_run_of_another_does_not_tell() -> None:
    assert keeps_up(peer_by("kstreams"), RATE / 2)
