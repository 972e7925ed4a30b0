"""Concurrent writers: threads with a log each, and processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from tests.kstreams.embedded import appending_process as appender
from tests.kstreams.embedded.sample_tables import rows, values
from tests.support.processes.forked_programs import Forked


def start(root: Path, producer: str, batches: int, *crash: str) -> Forked:
    return Forked(appender.main, str(root), "t", producer, str(batches), *crash)


@pytest.mark.parametrize("shared", [True, False], ids=["one log", "a log each"])
def test_threads_append_without_gaps_in_offsets(tmp_path: Path, shared: bool) -> None:
    first = EmbeddedLog(tmp_path, durable=False)
    first.create("t", 1)

    def append_all(producer: int) -> list[Segment]:
        log = first if shared else EmbeddedLog(tmp_path, durable=False)
        return [
            log.append("t", 0, rows(producer, batch), producer=str(producer), batch=batch)
            for batch in range(20)
        ]

    with ThreadPoolExecutor(4) as pool:
        made = [segment for segments in pool.map(append_all, range(4)) for segment in segments]
    assert len(values(first, "t")) == 160
    assert sorted(made, key=lambda s: s.first_offset) == list(first.segments("t", 0))


def test_concurrent_replays_of_batch_append_it_once(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, durable=False)
    log.create("t", 1)

    def replay(attempt: int) -> Segment:
        own = EmbeddedLog(tmp_path, durable=False)
        return own.append("t", 0, rows(attempt), producer="p", batch=0)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(replay, range(32)))) == 1
    assert len(values(log, "t")) == 1
    assert list((tmp_path / "t" / ".staged").glob("*/*")) == []


def test_reader_sees_growing_prefix_during_concurrent_appends(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, durable=False)
    log.create("t", 1)

    def append_all(producer: str) -> None:
        own = EmbeddedLog(tmp_path, durable=False)
        for batch in range(100):
            own.append("t", 0, rows(batch), producer=producer, batch=batch)

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(append_all, name) for name in ("p", "q", "r")]
        seen: tuple[Segment, ...] = ()
        while not all(future.done() for future in running):
            fresh = EmbeddedLog(tmp_path) if len(seen) % 2 else log
            now = fresh.segments("t", 0)
            assert now[: len(seen)] == seen
            seen = now
        for future in running:
            future.result()
    assert log.end_offset("t", 0) == 300


@pytest.mark.slow
def test_processes_append_without_gaps_in_offsets(tmp_path: Path) -> None:
    writers = [start(tmp_path, name, 30) for name in ("p", "q", "r")]
    printed = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    firsts = sorted(int(offset) for lines in printed for offset in lines[1::2])
    assert firsts == list(range(0, 180, 2))
    assert len(values(EmbeddedLog(tmp_path), "t")) == 180
