"""Rows of the Bigtable sink: cells, refusals, and late older batches."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kstreams.clock import SystemClock
from kstreams.errors import RecordRefusedError, SinkError
from kstreams_bigtable import BigtableRows
from tests.connectors.kstreams_bigtable.tables import Place, small
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.connectors


def _as_it_is(_key: object, value: Any) -> Any:
    return value


def test_values_are_encoded_by_type_and_omitted_columns_are_unchanged(place: Place) -> None:
    sink = place.sink(_as_it_is)
    first = {"sums:text": "é", "sums:raw": b"\0\xff", "more:n": -2, "more:": "x"}
    assert write(sink, given(("a", first), (7, {"sums:n": 1})), commit_of(1)) == []
    assert place.values()[b"a"] == {
        "sums:text": "é".encode(),
        "sums:raw": b"\0\xff",
        "more:n": (-2).to_bytes(8, "big", signed=True),
        "more:": b"x",
    }
    assert (7).to_bytes(8, "big") in place.values()
    write(sink, given(("a", {"sums:text": "b", "more:n": None}), (7, None)), commit_of(2))
    assert place.values() == {
        b"a": {"sums:text": b"b", "sums:raw": b"\0\xff", "more:": b"x"},
    }


def test_last_result_of_key_in_batch_is_written(place: Place) -> None:
    sink = place.sink(_as_it_is)
    one, two = {"sums:a": "1"}, {"sums:a": "2"}
    write(sink, given(("a", one), ("a", two), ("b", one), ("b", None), ("c", None), ("c", two)))
    assert place.values() == {b"a": {"sums:a": b"2"}, b"c": {"sums:a": b"2"}}


def test_rows_without_a_valid_form_are_refused_and_all_others_are_written(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kstreams_bigtable.rows._CELL_BYTES", 1 << 20)
    good = {"sums:a": "1"}
    bad = [
        ("b", {"sums:a": True}),
        ("c", {"sums:a": 0.5}),
        ("d", {"a": "no family"}),
        ("e", {}),
        (None, good),
        ("", good),
        ("k" * 5_000, good),
        ("f", {"sums:a": 1 << 63}),
        ("g", {"sums:a": b"x" * ((1 << 20) + 1)}),
        ("h", {3: "x"}),
        ("half \ud800", good),
    ]
    refused = write(place.sink(_as_it_is), given(("a", good), *bad, ("z", good)))
    assert [row.row for row in refused] == list(range(1, len(bad) + 1))
    for part, row in zip(("bool", "float", "family:column", "0 cells"), refused, strict=False):
        assert part in row.reason
    assert set(place.values()) == {b"a", b"z"}


def test_row_with_unknown_column_family_is_refused_and_others_are_written(place: Place) -> None:
    rows = given(
        ("a", {"sums:a": "1"}),
        ("b", {"nobody:a": "1"}),
        ("c", {"sums:a": "1"}),
        ("c", {"nobody:a": "2"}),
    )
    refused = write(place.sink(_as_it_is), rows)
    assert [row.row for row in refused] == [1, 3]
    assert "nobody" in refused[0].reason
    assert place.values() == {b"a": {"sums:a": b"1"}, b"c": {"sums:a": b"1"}}


def test_policy_fail_writes_no_row_of_batch_with_invalid_row(place: Place) -> None:
    with pytest.raises(RecordRefusedError, match="too large"):
        write(place.sink(), given(("a", 1), ("b", 5_000), fails=True))
    assert place.values() == {}


def test_late_write_of_older_batch_changes_no_row(place: Place) -> None:
    sink = place.sink(lambda _key, n: None if n == 0 else small(_key, n))
    write(sink, given(("a", 1), ("b", 1)), commit_of(4))
    write(sink, given(("a", 2), ("b", 0)), commit_of(5))
    write(sink, given(("a", 1), ("b", 1), ("c", 1)), commit_of(4))
    write(sink, given(("a", 9)), commit_of(4, revision=1))
    assert place.totals() == {"a": 2}
    write(sink, given(("a", 3)), commit_of(5, revision=1))
    assert place.totals() == {"a": 3}


def test_first_batch_of_a_new_epoch_overwrites_existing_rows(place: Place) -> None:
    sink = place.sink()
    write(sink, given(("a", 1), ("b", 1)), commit_of(900, epoch="one"))
    write(sink, given(("a", 2)), commit_of(0, epoch="two"))
    assert place.totals() == {"a": 2, "b": 1}


def test_cell_timestamps_are_near_present_time(place: Place) -> None:
    write(place.sink(), given(("a", 1)))
    ((at, _),) = place.cells()[b"a"].values()
    now = datetime.fromtimestamp(SystemClock().now_ms() / 1_000, timezone.utc)
    assert abs(at - now) < timedelta(minutes=5)


def test_rows_over_the_limit_of_a_request_are_all_written(place: Place) -> None:
    assert write(place.sink(), given(*((f"k{n:05}", n % 1_000) for n in range(3_500)))) == []
    assert place.totals() == {f"k{n:05}": n % 1_000 for n in range(3_500)}


def test_missing_table_and_invalid_settings_are_reported_at_the_start(place: Place) -> None:
    lost: BigtableRows[str, int] = BigtableRows(
        "tests", "main", "nobody-made-it", row=small, endpoint=place.endpoint
    )
    with pytest.raises(SinkError, match="nobody-made-it"):
        lost.prepare()
    with pytest.raises(ValueError, match="must not be empty"):
        BigtableRows("tests", "", "t", row=small)
    with pytest.raises(ValueError, match="another table for fence="):
        BigtableRows("tests", "main", "t", row=small, fence="t")
    with pytest.raises(ValueError, match="emulator"):
        BigtableRows("p", "i", "t", row=small, endpoint="h:1", credentials_file="f")
