"""Checks at the start that executors have the library and share one durable log."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from devtools.servers.s3 import Bucket
from kstreams.errors import CompileError, StoreError
from kstreams.spark.frames import store_check
from kstreams.spark.frames.shipped import Carried, Shipped
from kstreams.spark.frames.store_check import check_library, check_store
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.log.directory import Directory, DirectoryObjectStore

pytestmark = [pytest.mark.spark]

WIDTH = 4


@dataclass(frozen=True)
class Made:
    """Settings of a log that a function opens."""

    make: Callable[[], ObjectStore]

    def open(self) -> ObjectStore:
        return self.make()


def check(session: SparkSession, log: ObjectStoreSettings) -> None:
    carried: Carried[ObjectStoreSettings] = Carried.of(
        cloudpickle.dumps(log),  # type: ignore[no-untyped-call]  # pyspark is untyped
        Shipped.of((), session),
    )
    check_store(session, carried, WIDTH)


def test_check_leaves_shared_log_unchanged(connect: SparkSession, tmp_path: Path) -> None:
    log = Directory(str(tmp_path))
    check(connect, log)
    assert list(log.open().list("")) == []


def test_executors_that_do_not_share_log_are_rejected(
    connect: SparkSession, tmp_path: Path
) -> None:
    def make() -> ObjectStore:
        return DirectoryObjectStore(tmp_path / os.urandom(4).hex())

    with pytest.raises(CompileError, match="cannot read objects that another executor has written"):
        check(connect, Made(make))


def test_storage_that_overwrites_is_rejected(connect: SparkSession, tmp_path: Path) -> None:
    class Overwriting(DirectoryObjectStore):
        def put_if_absent(self, name: str, data: bytes) -> bool:
            self.delete([name])
            return super().put_if_absent(name, data)

    with pytest.raises(CompileError, match="overwrites an object"):
        check(connect, Made(lambda: Overwriting(tmp_path)))


def test_unreachable_storage_raises_store_error(connect: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        check(connect, Directory(str(tmp_path / "file")))


@pytest.mark.slow
def test_object_storage_is_checked(connect: SparkSession, bucket: Bucket) -> None:
    there = bucket.settings("tried")
    check(connect, there)
    with pytest.raises(StoreError, match="no-such-bucket"):
        check(connect, replace(there, url="s3://no-such-bucket/tried"))


def test_error_names_executors_with_another_version(
    connect: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_library(connect, WIDTH)
    monkeypatch.setattr(store_check, "version", lambda package: "9.9.9")
    with pytest.raises(CompileError, match=r"driver runs .* 9\.9\.9, but the Python of executors"):
        check_library(connect, WIDTH)


def test_error_names_executors_without_library(
    connect: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_check, "_PACKAGE", "kstreams-of-nobody")
    monkeypatch.setattr(store_check, "version", lambda package: "1.0")
    with pytest.raises(CompileError, match="has none") as found:
        check_library(connect, WIDTH)
    assert "install kstreams-of-nobody==1.0" in found.value.hint
