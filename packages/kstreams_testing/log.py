"""The test suite for logs."""
# ruff: noqa: D102  # a test's name states its claim

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import closing
from typing import Generic, TypeVar

import pyarrow as pa

from kstreams.log import Log, LogContents, Piece, is_bounded
from kstreams.raw_batch import INPUT_SCHEMA, NO_LIMIT
from kstreams.serde.objects import objects_of
from kstreams_generated_logs.bounded_log import bounded

__all__ = ("LogContract",)

K = TypeVar("K")
"""Type of the log's keys."""
V = TypeVar("V")
"""Type of the log's values."""

_Row = tuple[int, int, object, object]
"""Offset, timestamp, key and value."""


class LogContract(Generic[K, V]):
    """Derive a test class that implements `make` and `add`; pytest finds the tests.

    Example:
        class TestMine(LogContract[None, str]):
            def make(self) -> Log[None, str]:
                return MyLog("table")

            def add(self, values: Sequence[str]) -> None:
                write_rows("table", values)
    """

    def make(self) -> Log[K, V]:
        """Create the log. A test calls this repeatedly, for one source that only the test uses."""
        raise NotImplementedError("override make() to create the log")

    def add(self, values: Sequence[str]) -> None:
        """Append records with these values to the source."""
        raise NotImplementedError("override add() to append records to the source")

    def text(self, value: V) -> str:
        """Return the text that was passed to `add` for the record with this value: `str(value)`."""
        return str(value)

    def test_log_of_empty_source_has_no_records(self) -> None:
        with closing(self.make().contents()) as contents:
            ends = contents.ends()
            assert ends
            assert set(ends) == set(range(len(ends)))
            assert contents.beginnings() == ends

    def test_log_returns_each_record_once_with_increasing_offsets(self) -> None:
        self.add(_values(0, 30))
        self.add(_values(30, 40))
        rows = _all(self.make())
        assert self._texts(rows) == _values(0, 40)
        for part in rows.values():
            offsets = [row[0] for row in part]
            assert offsets == sorted(set(offsets))

    def test_log_returns_same_rows_at_second_read_and_after_append(self) -> None:
        self.add(_values(0, 30))
        first = _all(self.make())
        assert _all(pickle.loads(pickle.dumps(self.make()))) == first  # noqa: S301  # our own
        self.add(_values(30, 50))
        later = _all(self.make())
        for partition, rows in first.items():
            assert later[partition][: len(rows)] == rows

    def test_log_reads_pieces_between_any_two_offsets(self) -> None:
        self.add(_values(0, 12))
        self.add(_values(12, 20))
        log = self.make()
        whole = _all(log)
        with closing(log.contents()) as contents:
            for partition, end in contents.ends().items():
                begin = contents.beginnings()[partition]
                for start in range(begin, end + 1):
                    for stop in range(start, end + 1):
                        rows = _read(log, contents, partition, start, stop)
                        expected = [row for row in whole[partition] if start <= row[0] < stop]
                        assert rows == expected, (start, stop)

    def test_piece_of_reduced_plan_returns_rows_up_to_its_new_end(self) -> None:
        self.add(_values(0, 20))
        log = self.make()
        whole = _all(log)
        with closing(log.contents()) as contents, closing(log.reader()) as reader:
            for partition, end in contents.ends().items():
                for piece in contents.pieces(partition, contents.beginnings()[partition], end):
                    for stop in range(piece.start + 1, piece.stop + 1):
                        cut = Piece(partition, piece.start, stop, piece.place)
                        rows = _rows(reader.read(cut, max_bytes=NO_LIMIT))
                        expected = [r for r in whole[partition] if piece.start <= r[0] < stop]
                        assert rows == expected

    def test_log_reader_can_be_reused_for_consecutive_batches(self) -> None:
        self.add(_values(0, 30))
        log = self.make()
        with closing(log.contents()) as contents, closing(log.reader()) as reader:
            found: dict[int, list[_Row]] = {}
            for partition, end in contents.ends().items():
                begin = contents.beginnings()[partition]
                for start in range(begin, end, 7):
                    for piece in contents.pieces(partition, start, min(start + 7, end)):
                        rows = _rows(reader.read(piece, max_bytes=NO_LIMIT))
                        found.setdefault(partition, []).extend(rows)
            assert found == {partition: rows for partition, rows in _all(log).items() if rows}

    def test_read_stops_at_byte_limit_after_one_row_or_more(self) -> None:
        self.add([f"{number:06}" + "x" * 1_000 for number in range(3_000)])
        log = self.make()
        with closing(log.contents()) as contents:
            for partition, end in contents.ends().items():
                for piece in contents.pieces(partition, contents.beginnings()[partition], end):
                    with closing(log.reader()) as reader:
                        table = reader.read(piece, max_bytes=0)
                        assert table.num_rows > 0
                        whole = reader.read(piece, max_bytes=NO_LIMIT)
                        assert _rows(whole)[: table.num_rows] == _rows(table)

    def test_contents_opened_twice_have_same_log_id_and_offsets(self) -> None:
        with closing(self.make().contents()) as one, closing(self.make().contents()) as other:
            assert one.log_id == other.log_id
            self.add(_values(0, 10))
            assert one.ends() == other.ends()
            self.add(_values(10, 15))
            assert other.ends() == one.ends()
            assert one.beginnings() == other.beginnings()
        assert self._texts(_all(self.make())) == _values(0, 15)

    def test_first_since_returns_first_offset_at_or_after_time(self) -> None:
        self.add(_values(0, 10))
        self.add(_values(10, 20))
        log = self.make()
        rows = _all(log)
        with closing(log.contents()) as contents:
            contents.ends()
            times = {row[1] for part in rows.values() for row in part}
            for time in {t + by for t in times for by in (-1, 0, 1)}:
                for partition, part in rows.items():
                    expected = next(((r[0], r[1]) for r in part if r[1] >= time), None)
                    assert contents.first_since(partition, time) == expected

    def test_mean_bytes_is_none_or_positive(self) -> None:
        self.add(["x" * 1_000] * 20)
        with closing(self.make().contents()) as contents:
            for partition, end in contents.ends().items():
                if end > contents.beginnings()[partition]:
                    mean = contents.mean_bytes(partition, end - 1)
                    assert mean is None or mean > 1

    def test_log_can_be_pickled_and_compared_by_value(self) -> None:
        log = self.make()
        again = pickle.loads(pickle.dumps(log))  # noqa: S301  # our own
        assert again == log == self.make()
        assert (again.name, again.label) == (log.name, log.label)
        assert log.name

    def test_pickled_log_has_same_bounded_property(self) -> None:
        log = self.make()
        assert isinstance(getattr(log, "bounded", False), bool)
        assert is_bounded(pickle.loads(pickle.dumps(log))) == is_bounded(log)  # noqa: S301  # our own

    def test_bounded_log_has_all_records_of_log(self) -> None:
        self.add(_values(0, 20))
        assert is_bounded(bounded(self.make()))
        assert _all(bounded(self.make())) == _all(self.make())

    def _texts(self, rows: dict[int, list[_Row]]) -> list[str]:
        data = pa.array([row[3] for part in rows.values() for row in part], pa.binary())
        found = self.make().value.deserialize_many(data)
        return sorted(self.text(value) for value in found if value is not None)


def _values(start: int, stop: int) -> list[str]:
    return [f"value {number:04}" for number in range(start, stop)]


def _all(log: Log[K, V]) -> dict[int, list[_Row]]:
    """Return all records of a log by partition."""
    with closing(log.contents()) as contents:
        ends = contents.ends()
        begin = contents.beginnings()
        return {p: _read(log, contents, p, begin[p], end) for p, end in ends.items()}


def _read(
    log: Log[K, V], contents: LogContents, partition: int, start: int, stop: int
) -> list[_Row]:
    with closing(log.reader()) as reader:
        rows: list[_Row] = []
        at = start
        for piece in contents.pieces(partition, start, stop):
            assert piece.partition == partition
            assert at <= piece.start < piece.stop <= stop
            at = piece.stop
            rows += _rows(reader.read(piece, max_bytes=NO_LIMIT))
        return rows


def _rows(table: pa.Table) -> list[_Row]:
    columns = table.select(INPUT_SCHEMA.names).cast(INPUT_SCHEMA)
    names = ("offset", "timestamp", "key", "value")
    return list(zip(*(objects_of(columns.column(name)) for name in names), strict=True))
