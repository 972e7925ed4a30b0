"""Lost requests at each step, unreachable servers, invalid credentials."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.cloud.bigtable_v2 import BigtableClient

from devtools.servers.bigtable import BigtableServer
from devtools.servers.ports import free_ports
from devtools.servers.skipping import or_skip
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_bigtable import BigtableRows
from tests.connectors.kstreams_bigtable.tables import SHORT, Place, small
from tests.support.sinks.sink_writes import CutConnection, commit_of, given, write

pytestmark = pytest.mark.connectors


@pytest.mark.parametrize("method", ["mutate_rows", "check_and_mutate_row", "read_rows"])
def test_bigtable_sink_writes_all_rows_whichever_request_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    sink = place.sink(give_up_after=timedelta(seconds=20))
    sink.prepare()
    for batch, (nth, answered) in enumerate(CutConnection.moments(6)):
        with monkeypatch.context() as patch:
            lost = ServiceUnavailable("gone")  # type: ignore[no-untyped-call]  # it is not
            cut = CutConnection(patch, BigtableClient, method, lost, nth=nth, answered=answered)
            write(sink, given(("a", batch), ("b", batch)), commit_of(batch, epoch=f"{nth}"))
        assert place.totals() == {"a": batch, "b": batch}
        if not cut.struck:
            return
    raise AssertionError("it asks more often than was thought")


def test_server_that_dies_fails_the_batch() -> None:
    with or_skip(BigtableServer) as server:
        sink = Place(server.endpoint).sink(give_up_after=SHORT)
        sink.prepare()
        with closing(sink.open()) as writer:
            writer.write(given(("a", 1)), commit_of(0))
            server.kill()
            with pytest.raises(SinkUnavailableError, match="Bigtable does not answer"):
                writer.write(given(("a", 2)), commit_of(1))


def test_errors_of_unreachable_server_and_invalid_credentials_show_no_secret(
    tmp_path: Path,
) -> None:
    (port,) = free_ports(1)
    gone: BigtableRows[str, int] = BigtableRows(
        "tests", "main", "t", row=small, endpoint=f"127.0.0.1:{port}", give_up_after=SHORT
    )
    with pytest.raises(SinkUnavailableError, match="does not answer"):
        gone.prepare()
    for text in ("no json", '{"private_key": "s3cret", "client_email": "a@b"}'):
        file = tmp_path / "s3cret.json"
        file.write_text(text)
        wrong: BigtableRows[str, int] = BigtableRows(
            "tests", "main", "t", row=small, credentials_file=str(file), give_up_after=SHORT
        )
        with pytest.raises(SinkError) as told:
            wrong.prepare()
        assert not isinstance(told.value, SinkUnavailableError)
        for shown in (told.value, wrong, wrong.label):
            assert "s3cret" not in str(shown) + repr(shown)
