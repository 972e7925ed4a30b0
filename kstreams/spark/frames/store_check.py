"""Checks the executors at the start: they have this library, and share one durable log.

The client may see neither the installation of executors nor their storage, so small Spark jobs
check both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from kstreams.errors import CompileError, ObjectMissingError
from kstreams.quoting import one_line
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.shipped import Carried
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings

__all__ = ("check_library", "check_store")

_PACKAGE = "kstreams-spark"
_PROBES = "probes/"
_Batches = Iterable[pa.RecordBatch]
"""The input of a `mapInArrow` function."""


def check_library(session: SparkSession, width: int) -> None:
    """Check that executors have this version of the library.

    Args:
        session: The session whose executors are checked.
        width: The number of Python workers to check.

    Raises:
        CompileError: An executor lacks the library or has another version.
    """
    package = _PACKAGE

    # A function within a function goes by value: it runs where the library is missing.
    def look(batches: _Batches) -> Iterator[pa.RecordBatch]:
        import importlib.metadata as metadata  # noqa: PLC0415  # in the worker
        import socket  # noqa: PLC0415  # as above

        import pyarrow  # noqa: PLC0415  # as above

        for _ in batches:
            try:
                found = metadata.version(package)
            except metadata.PackageNotFoundError:
                found = "none"
            columns = {"host": [socket.gethostname()], "found": [found]}
            yield pyarrow.RecordBatch.from_pydict(columns)

    here = version(_PACKAGE)
    rows = _probed(session, width, look, "host string, found string")
    for host, found in sorted({(row["host"], row["found"]) for row in rows}):
        if found != here:
            raise CompileError(
                f"the driver runs {package} {here}, but the Python of executors on {host!r} has "
                f"{found}",
                hint=f"install {package}=={here} on the cluster, with the extra of the state "
                "backend, in the Python that PYSPARK_PYTHON names there.",
            )


def check_store(session: SparkSession, log: Carried[ObjectStoreSettings], width: int) -> None:
    """Check that executors share one durable log, which rejects the creation of existing objects.

    Args:
        session: The session whose executors are checked.
        log: The settings of the log.
        width: The number of Python workers to check.

    Raises:
        CompileError: Executors cannot read each other's objects, or an existing object is
            overwritten.
        StoreError: The storage rejects access; `StoreOpenError` if it cannot be reached.
    """
    errors = ErrorChannel()
    name = f"{_PROBES}{uuid4().hex}"
    try:
        _probed(session, 1, _Probe(log, name, "write", errors), _SEEN_SCHEMA)
        looks = _probed(session, width, _Probe(log, name, "read", errors), _SEEN_SCHEMA)
        _probed(session, 1, _Probe(log, name, "delete", errors), _SEEN_SCHEMA)
    except Exception as exc:
        found = errors.find(exc)
        if found is None:
            raise
        raise found from exc
    blind = sorted({row["host"] for row in looks if not row["seen"]})
    if blind:
        raise CompileError(
            f"executors on {', '.join(map(repr, blind))} cannot read objects that another "
            "executor has written to the durable log of the state",
            hint="give the state backend a log that all executors can read: log=Directory(...) on "
            "a shared mount, or log=S3(...).",
        )


_SEEN_SCHEMA = "host string, seen boolean"


@dataclass(frozen=True)
class _Probe:
    """A `mapInArrow` function that writes, reads or deletes a test object in the durable log.

    Yields a row with the host, and whether the object was found with its content.

    Attributes:
        log: The settings of the durable log.
        name: The name of the test object.
        what: `write`, `read` or `delete`.
        errors: The channel of errors to the driver.
    """

    log: Carried[ObjectStoreSettings]
    name: str
    what: str
    errors: ErrorChannel

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        import socket  # noqa: PLC0415  # in the worker alone

        for _ in batches:
            try:
                seen = _TRIES[self.what](self.log.get().open(), self.name)
            except Exception as exc:  # noqa: BLE001  # all of it must reach the driver, typed
                raise self.errors.wrap(exc) from None
            yield pa.RecordBatch.from_pydict({"host": [socket.gethostname()], "seen": [seen]})


def _write(store: ObjectStore, name: str) -> bool:
    store.put_if_absent(name, b"first")
    if store.put_if_absent(name, b"second") or store.get(name) != b"first":
        raise CompileError(
            f"the durable log {one_line(repr(store), 200)} overwrites an object on a "
            "conditional put",
            hint="use a storage that supports conditional puts: otherwise two attempts at a batch "
            "could both be committed.",
        )
    return True


def _read(store: ObjectStore, name: str) -> bool:
    try:
        return store.get(name) == b"first"
    except ObjectMissingError:
        return False


def _delete(store: ObjectStore, name: str) -> bool:
    store.delete([name])
    return True


_TRIES: dict[str, Callable[[ObjectStore, str], bool]] = {
    "write": _write,
    "read": _read,
    "delete": _delete,
}


def _probed(
    session: SparkSession,
    width: int,
    ask: Callable[[_Batches], Iterator[pa.RecordBatch]],
    schema: str,
) -> list[Any]:
    """Run a `mapInArrow` function once in each of several Spark partitions; return its rows.

    Args:
        session: The session that runs the job.
        width: The number of partitions.
        ask: The function, as for `mapInArrow`.
        schema: The schema of its rows, as DDL text.
    """
    return session.range(0, width, 1, width).mapInArrow(ask, schema).collect()
