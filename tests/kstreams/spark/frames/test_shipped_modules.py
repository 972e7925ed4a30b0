"""Modules of the user are sent with the functions on DataFrames."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kstreams.errors import CompileError
from kstreams.spark.frames.shipped import Carried, Shipped

pytestmark = [pytest.mark.spark]

PACKAGE = "shipped_by_test"
Ask = Callable[[str, SparkSession], tuple[Any, Shipped]]
"""Returns an object of a version of the package, for a session."""
CODE = """
from dataclasses import dataclass
from functools import lru_cache

@lru_cache(None)
def cached(number):
    return number + 100

@dataclass(frozen=True, slots=True)
class Order:
    number: int

    def told(self):
        from {package}.inner import VERSION
        return f"{{cached(self.number)}} of {{VERSION}}"
"""


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Return a function that creates an object of a user's package in a given version."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    (folder / "__init__.py").write_text("")
    (folder / "code.py").write_text(CODE.format(package=PACKAGE))

    def order(version: str, session: SparkSession) -> tuple[Any, Shipped]:
        (folder / "inner.py").write_text(f"VERSION = {version!r}")
        _forget()
        return importlib.import_module(f"{PACKAGE}.code").Order(3), Shipped.of([PACKAGE], session)

    yield order
    _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]
    importlib.invalidate_caches()


@dataclass(frozen=True)
class Told:
    """A `mapInArrow` function that returns the text of an object."""

    carried: Carried[Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            told = [self.carried.get().told()] * batch.num_rows
            yield pa.RecordBatch.from_pydict({"told": told})


def telling(order: Any, shipped: Shipped, *, in_file: SparkSession | None = None) -> Told:
    carried: Carried[Any] = Carried.of(pickle.dumps(order), shipped)
    return Told(carried if in_file is None else carried.in_file(in_file))


def test_modules_imported_in_function_are_sent_separately_for_each_version(
    connect: SparkSession, ask: Ask
) -> None:
    for version in (
        "first",
        "second",
        "second",
        "first",
    ):  # workers are reused for the next version
        frame = connect.range(0, 4, 1, 2).mapInArrow(telling(*ask(version, connect)), "told string")
        assert {row["told"] for row in frame.collect()} == {f"103 of {version}"}


def test_modules_are_sent_with_streams(connect: SparkSession, ask: Ask, tmp_path: Path) -> None:
    connect.range(2).write.parquet(str(tmp_path / "in"))
    rows = connect.readStream.schema("id long").parquet(str(tmp_path / "in"))
    query = (
        rows.mapInArrow(telling(*ask("streamed", connect)), "told string")
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = connect.read.parquet(str(tmp_path / "out")).collect()
    assert [row["told"] for row in found] == ["103 of streamed"] * 2


def test_packages_too_large_for_each_batch_are_rejected(
    connect: SparkSession, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("any", connect)
    monkeypatch.setattr("kstreams.spark.frames.shipped._MAX_BYTES", 100)
    with pytest.raises(CompileError, match="sends them with each batch"):
        Shipped.of([PACKAGE], connect)


def test_no_package_makes_no_archive(connect: SparkSession) -> None:
    assert Shipped.of((), connect).name is None


def test_classic_session_sends_modules_and_large_objects_as_files(
    spark: SparkSession, ask: Ask
) -> None:
    for version in ("first", "second", "first"):
        order, shipped = ask(version, spark)
        assert shipped.archive is None
        told = telling(order, shipped, in_file=spark)
        assert len(pickle.dumps(told.carried)) < 1_000
        frame = spark.range(0, 4, 1, 2).mapInArrow(told, "told string")
        assert {row["told"] for row in frame.collect()} == {f"103 of {version}"}
