"""`made_once`: one of many callers makes a file; after a failure, the next caller makes it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from devtools.servers.made_once import made_once


def test_made_once_calls_maker_once_for_concurrent_callers(tmp_path: Path) -> None:
    place, calls = tmp_path / "folder" / "name-1.2.3", []

    def make() -> None:
        calls.append(1)
        time.sleep(0.05)
        place.write_text("made")

    threads = [threading.Thread(target=made_once, args=(place, make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made_once(place, make).read_text() == "made"
    assert calls == [1]


def test_made_once_after_failed_maker_calls_maker_of_next_caller(tmp_path: Path) -> None:
    place = tmp_path / "name"

    def fail() -> None:
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        made_once(place, fail)
    assert made_once(place, place.touch) == place
    assert place.exists()
