"""The pauses before retries, and their end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams.errors import KStreamsError
from kstreams_intake.patience import Patience


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr("kstreams_intake.patience.time.monotonic", lambda: self.seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_pauses_double_up_to_five_seconds(clock: Clock) -> None:
    retries = Patience(timedelta(hours=1))
    pauses = [retries.pause(KStreamsError("no reply")) for _ in range(8)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_patience_ends_after_its_limit_if_first_failure_is_at_time_zero(clock: Clock) -> None:
    retries = Patience(timedelta(seconds=10))
    retries.pause(KStreamsError("no reply"))
    clock.seconds = 9.9
    retries.pause(KStreamsError("no reply"))
    clock.seconds = 10.0
    with pytest.raises(KStreamsError, match="still no reply"):
        retries.pause(KStreamsError("still no reply"))


def test_patience_measures_its_time_limit_from_first_failure_after_renew(clock: Clock) -> None:
    retries = Patience(timedelta(seconds=10))
    retries.pause(KStreamsError("no reply"))
    clock.seconds = 20.0
    retries.renew()
    assert retries.pause(KStreamsError("no reply")) == 0.1
    clock.seconds = 30.0
    with pytest.raises(KStreamsError):
        retries.pause(KStreamsError("no reply"))
