"""Call a user's function for the new and the old value of each change.

Columns of both values alternate: the first change's new value, its old value, the second change's
new value, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import is_not
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Objects
from kstreams.columns.row_failure import RowFailure, called
from kstreams.processors.each_row import row_error
from kstreams.serde.objects import object_column

__all__ = ("both", "called_for_both", "there")


def both(news: Objects, olds: Objects) -> Objects:
    """Return one column in which new and old values alternate."""
    column = np.empty(2 * len(news), object)
    column[0::2], column[1::2] = news, olds
    return column


def there(values: Objects) -> Bools:
    """Return the mask of values that are not None."""
    return np.fromiter(map(is_not, values.tolist(), repeat(None)), np.bool_, len(values))


def called_for_both(
    function: Callable[..., Any], table: pa.Table, wanted: Bools, *columns: Objects
) -> tuple[list[Any], list[Any]]:
    """Return the results of a function for the new and the old values of changes.

    Args:
        function: The user's function.
        table: The changes; an error names the key and timestamp of the change that failed.
        wanted: The mask of values for which the function is called; the result of other values is
            None.
        columns: The function's arguments, each a column of alternating new and old values.

    Raises:
        ProcessingError: The function raised.
    """
    rows = np.flatnonzero(wanted)
    try:
        made = called(function, *(column[rows].tolist() for column in columns))
    except RowFailure as failure:
        row = int(rows[failure.row]) // 2
        raise row_error(table, row, failure.reason) from failure.reason
    results = np.full(len(wanted), None, object)
    results[rows] = object_column(made)
    return results[0::2].tolist(), results[1::2].tolist()
