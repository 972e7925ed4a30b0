"""Call a user's function for each row of columns, and say at which it raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kstreams.errors import KStreamsError, ProcessingError
from kstreams.quoting import kind_of, text_of
from kstreams.serde.objects import objects_of

__all__ = ("each_row",)


def each_row(function: Callable[..., Any], table: pa.Table, *columns: Sequence[Any]) -> list[Any]:
    """Return what a function makes of each row.

    Args:
        function: The user's.
        table: The rows; a failure names key and timestamp of one.
        columns: Its arguments.

    Raises:
        ProcessingError: The function raised.
    """
    results: list[Any] = []
    try:
        results.extend(map(function, *columns))
    except (KeyboardInterrupt, KStreamsError):
        raise
    except BaseException as exc:
        row = table.slice(len(results), 1)
        raise ProcessingError(f"{kind_of(exc)}: {text_of(exc)}").at(
            key=objects_of(row.column("key"))[0],
            timestamp=row.column("timestamp")[0].as_py(),
        ) from exc
    return results
