"""Documents of the MongoDB sink: written, refused and replaced ones."""

from __future__ import annotations

import datetime
from contextlib import closing
from typing import Any

import pytest

from kstreams.errors import RecordRefusedError
from tests.connectors.kstreams_mongodb.collections import Place
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.connectors

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


def test_last_row_of_key_replaces_document_and_none_deletes_it(place: Place) -> None:
    row = {"n": 0.5, "at": NOW, "list": [1, {"x": None}], "raw": b"\0"}
    write(place.sink(), given(("a", row), ("b", 1), ("b", 2), ("c", 3), ("c", None)), commit_of(1))
    assert place.documents() == {"a": row, "b": {"total": 2}}
    write(place.sink(), given(("a", {"m": 1}), ("b", None), ("d", None), ("d", 4)), commit_of(2))
    assert place.documents() == {"a": {"m": 1}, "d": {"total": 4}}


def test_rows_without_a_valid_form_are_refused_and_all_others_are_written(
    place: Place,
) -> None:
    bad: list[tuple[Any, Any]] = [
        ("bits", 1 << 80),
        ("object", object()),
        ("large", "x" * (17 << 20)),
        ("own", {"kstreams": 1}),
        ("other", {"_id": "else"}),
        ("dollar", {"$set": {"n": 1}}),
        (None, 1),
        ([1], 1),
        ({"$gt": 1}, 1),
        ("nul", {"a\0b": 1}),
    ]
    refused = write(place.sink(), given(("a", 1), *bad, ("z", {"_id": "z", "n": 2})))
    assert [row.row for row in refused] == list(range(1, len(bad) + 1))
    assert place.documents() == {"a": {"total": 1}, "z": {"n": 2}}
    with pytest.raises(RecordRefusedError):
        write(place.sink(), given(("b", 1), ("c", 1 << 80), fails=True), commit_of(1))
    assert "b" not in place.documents()


def test_row_refused_by_server_affects_no_other_row_and_is_refused_at_retry(place: Place) -> None:
    place.totals.create_index("total", unique=True)
    pairs = [(f"k{n}", n) for n in range(50)]
    pairs[20:22] = [("x", 3), ("y", 4)]
    for _ in range(2):
        refused = write(place.sink(), given(*pairs), commit_of(1))
        assert [(row.row, row.code) for row in refused] == [(20, "11000"), (21, "11000")]
    assert len(place.documents()) == 48
    rows = given(("new", 1_000), ("new", 5), ("newer", 6))
    assert [row.row for row in write(place.sink(), rows, commit_of(2))] == [1, 2]
    assert place.documents()["new"] == {"total": 1_000}  # the row before the refused one


def test_write_of_older_commit_changes_no_document_and_write_of_later_epoch_does(
    place: Place,
) -> None:
    write(place.sink(), given(("a", 5), ("b", None)), commit_of(5))
    write(place.sink(), given(("a", 4), ("c", 4)), commit_of(4))
    write(place.sink(), given(("a", 6)), commit_of(5, revision=1))
    write(place.sink(), given(("a", 7)), commit_of(5))
    assert place.documents() == {"a": {"total": 6}}
    write(place.sink(), given(("a", 0)), commit_of(0, epoch="another"))
    assert place.documents() == {"a": {"total": 0}}


def test_driver_that_hung_during_write_overwrites_no_newer_document(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fence was claimed before; the documents compare versions themselves."""
    with monkeypatch.context() as patch, closing(place.sink().open()) as late:
        patch.setattr(late, "_claim", lambda _commit: True)
        write(place.sink(), given(("a", 6), ("b", 6)), commit_of(6))
        late.write(given(("a", 5), ("c", 5)), commit_of(5))
    assert place.documents() == {"a": {"total": 6}, "b": {"total": 6}, "c": {"total": 5}}


def test_existing_documents_are_replaced_and_equal_numbers_are_one_id(place: Place) -> None:
    place.totals.insert_one({"_id": 1, "mine": True, "kstreams": {}})
    assert write(place.sink(), given((1.0, 1), (1, 2), (2.5, 3))) == []
    assert place.documents() == {1: {"total": 2}, 2.5: {"total": 3}}
    own = place.sink(id=lambda key: {"shop": key[0], "day": key[1]})
    write(own, given((("s", 1), 5)), commit_of(1))
    assert place.totals.find_one({"_id.shop": "s"}) is not None


def test_batch_with_more_rows_than_a_request_allows_is_written(place: Place) -> None:
    pairs = [(n, n) for n in range(1_200)]
    assert write(place.sink(), given(*pairs)) == []
    assert len(place.documents()) == 1_200
