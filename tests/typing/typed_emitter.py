"""An emitter is typed by its topic."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import datetime, timezone

from typing_extensions import assert_type

from kstreams import Record
from kstreams.connection import Appended, Connection
from kstreams.emitter import Emitter
from tests.typing.word_count import DELETABLE, TOTALS


def emit(connection: Connection) -> None:
    """Emit pairs and records."""
    emitter = Emitter(TOTALS, connection)
    assert_type(emitter, Emitter[str, int])
    assert_type(emitter.emit("a", 1), Future[Appended])
    emitter.emit("a", 1, timestamp=datetime(2024, 1, 1, tzinfo=timezone.utc))
    assert_type(emitter.emit_many([("a", 1), Record("b", 2, 3)]), int)
    Emitter(DELETABLE, connection).emit(b"a", None)
    with Emitter(TOTALS, connection) as opened:
        opened.emit("a", 1)
