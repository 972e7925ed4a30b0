"""Errors of CSV rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.errors import DeserializationError
from kstreams.sources import Csv, folder
from tests.packages.kstreams_files.test_folder import Order, driver_of, write


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("tea,x", "column 'count': CSV conversion error"),
        ("tea", "the row has 1 field, the header has 2"),
    ],
)
def test_bad_csv_row_error_has_one_row_number_and_mentions_on_error(
    row: str, problem: str, tmp_path: Path
) -> None:
    write(tmp_path, a=f"item,count\nmilk,1\n{row}\n")
    log = folder("rows", tmp_path, Csv(Order))
    with driver_of(log) as driver, pytest.raises(DeserializationError) as failed:
        driver.run()
    error = failed.value
    assert problem in error.message
    assert "Row #" not in str(error)
    assert (error.where.file, error.where.record) == ("a", 2)
    assert "on_error='skip'" in error.hint
