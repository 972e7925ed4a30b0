"""Latency is measured only for peers that keep up."""

from __future__ import annotations

from benchmarks.suite.lag import RATE, keeps_up
from benchmarks.suite.registry import peer_by


def test_lag_of_a_slow_peer_that_cannot_keep_up_is_not_measured() -> None:
    assert not keeps_up(peer_by("faust"), RATE - 1)
    assert keeps_up(peer_by("faust"), RATE)
    assert keeps_up(peer_by("faust"), None)


def test_peer_keeps_up_although_another_peer_was_too_slow_in_its_short_run() -> None:
    assert keeps_up(peer_by("kstreams"), RATE / 2)
