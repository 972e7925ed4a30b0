"""Documents of the OpenSearch sink: written, refused and replaced ones."""

from __future__ import annotations

import math
from contextlib import closing
from typing import Any

import pytest

from kstreams.errors import SinkError
from kstreams_opensearch.lines import version_of
from kstreams_opensearch.writer import IndexWriter
from tests.connectors.kstreams_opensearch.indexes import Index
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.connectors


def test_last_row_of_key_replaces_document_and_none_deletes_it(index: Index) -> None:
    rows = given(("a", {"n": [1, {"x": "é"}]}), ("b", 1), ("b", 2), ("c", 3), ("c", None), (5, 5))
    assert write(index.sink(), rows, commit_of(1, epoch="one")) == []
    assert index.documents() == {"a": {"n": [1, {"x": "é"}]}, "b": {"total": 2}, "5": {"total": 5}}
    rows = given(("a", {"m": 1}), ("b", None), (5, None), ("d", None), ("d/../é?", 4))
    assert write(index.sink(), rows, commit_of(2, epoch="one")) == []
    assert index.documents() == {"a": {"m": 1}, "d/../é?": {"total": 4}}


def test_refused_row_affects_no_other_row_and_is_refused_at_retry(index: Index) -> None:
    bad: list[tuple[Any, Any]] = [
        ("nan", math.nan),
        ("object", {"n": object()}),
        ("", 1),
        ("x" * 513, 1),
        (None, 1),
        (True, 1),
        ("list", [1]),
        ("mapping", "text"),
        ("large", 1 << 40),
        ("half \ud800", 1),
    ]
    for _ in range(2):
        refused = write(index.sink(), given(("a", 1), *bad, ("z", 2)), commit_of(1, epoch="bad"))
        assert sorted(row.row for row in refused) == list(range(1, len(bad) + 1))
        by_server = [(row.row, row.code) for row in refused if row.code]
        assert by_server == [(8, "mapper_parsing_exception"), (9, "mapper_parsing_exception")]
    rows = given(("a", 3), ("a", "text"))
    assert [row.row for row in write(index.sink(), rows, commit_of(2, epoch="bad"))] == [1]
    assert index.documents() == {"a": {"total": 3}, "z": {"total": 2}}


def test_write_of_older_commit_changes_no_document_and_write_of_later_epoch_does(
    index: Index,
) -> None:
    write(index.sink(), given(("a", 5), ("b", 5)), commit_of(5, epoch="first"))
    write(index.sink(), given(("b", None)), commit_of(6, epoch="first"))
    write(index.sink(), given(("a", 4), ("b", 4), ("c", 4)), commit_of(4, epoch="first"))
    write(index.sink(), given(("a", 7)), commit_of(6, revision=1, epoch="first"))
    assert index.documents() == {"a": {"total": 7}}
    write(index.sink(), given(("a", 0)), commit_of(0, epoch="second"))
    assert index.documents() == {"a": {"total": 0}}


def test_driver_that_hung_during_write_changes_no_newer_or_deleted_document(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fence was claimed before; the documents compare versions themselves, deleted ones too."""
    sink = index.sink()
    write(sink, given(("a", 4), ("b", 4)), commit_of(4, epoch="hung"))
    with monkeypatch.context() as patch, closing(sink.open()) as late:
        claims = [True]
        assert isinstance(late, IndexWriter)
        service = late._service
        real = service.claim
        patch.setattr(service, "claim", lambda *named: claims.pop() if claims else real(*named))
        write(index.sink(), given(("a", 6), ("b", None)), commit_of(6, epoch="hung"))
        late.write(given(("a", 5), ("b", 5)), commit_of(5, epoch="hung"))
    assert index.documents() == {"a": {"total": 6}}


def test_epoch_whose_documents_another_epoch_overwrote_raises_sink_error(index: Index) -> None:
    write(index.sink(), given(("a", 1), ("b", 1)), commit_of(1, epoch="origin"))
    write(index.sink(), given(("a", 2)), commit_of(0, epoch="fork"))
    with pytest.raises(SinkError, match="that no commit of epoch 'origin' wrote"):
        write(index.sink(), given(("a", 3)), commit_of(2, epoch="origin"))


def test_batch_with_more_rows_than_a_request_allows_is_written(index: Index) -> None:
    pairs = [(f"k{n}", n) for n in range(1_200)]
    assert write(index.sink(), given(*pairs), commit_of(epoch="many")) == []
    assert len(index.documents()) == 1_200


def test_missing_index_is_reported_at_the_start(index: Index) -> None:
    sink = index.sink()
    index.ask("DELETE", "")
    with pytest.raises(SinkError, match="there is no index"):
        sink.prepare()
    index.ask("PUT", "")


def test_document_versions_increase_with_commits_and_raise_at_their_limit() -> None:
    commits = [(0, 0, 0), (0, 0, 255), (0, 1, 0), (0, 2**36 - 1, 0), (1, 0, 0), (2**19 - 1, 5, 0)]
    versions = [version_of(n, commit_of(batch, revision=r)) for n, batch, r in commits]
    assert versions == sorted(set(versions))
    assert versions[-1] < 2**63
    for n, batch, revision in ((2**19, 0, 0), (0, 2**36, 0), (0, 0, 256)):
        with pytest.raises(SinkError, match="used up"):
            version_of(n, commit_of(batch, revision=revision))
