"""Checks executors at the start of an app: the library version, and access to the durable log."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from kstreams.errors import CompileError
from kstreams.quoting import one_line, text_of
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.worker import add_to_import_path
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = ("check_executors",)

_PACKAGE = "kstreams-spark"
_OTHER_PYTHON = "PYTHON_VERSION_MISMATCH"
_NO_LIBRARY = "No module named 'kstreams'"

_Found = tuple[str, str, bool]
"""The answer of an executor: its host, its library version, and whether it can read the log."""


def check_executors(
    session: SparkSession, log: ObjectStoreSettings, prefix: str, import_path: tuple[str, ...]
) -> None:
    """Check the library version and the access to the durable log on executors, in one Spark job.

    Executors that start later are not checked; if they are unsuitable, their tasks fail.

    Args:
        session: The session whose executors are checked.
        log: The durable log, which the driver has opened.
        prefix: A name prefix for which the driver's log has objects; executors must find one.
        import_path: Folders of the user's modules on executors.

    Raises:
        CompileError: An executor runs another Python, lacks this version of the library, or cannot
            read the driver's log.
        StoreError: The storage rejects an executor.
    """
    errors = ErrorChannel()
    try:
        found = _on_executors(session, _looking(_Look(_pickled(log), prefix, import_path, errors)))
    except Exception as exc:
        raise _typed(exc, errors) from exc
    here = version(_PACKAGE)
    for host, there, seen in sorted(set(found)):
        if there != here:
            raise _other_library(f"executors on {host!r}", there)
        if not seen:
            raise CompileError(
                f"executors on {host!r} cannot read the objects that the driver wrote to the "
                f"durable log {one_line(str(log), 200)}",
                hint="put the checkpoint where all machines can read it: a mount at the same "
                "path, or an object storage, App(..., checkpoint='s3://bucket/app').",
            )


def _looking(look: _Look) -> Callable[[Iterable[int]], Iterator[_Found]]:
    """Return the function of the Spark job: it compares the library version, then calls `look`.

    The function does not import the library, so it also runs in workers that have another version
    or no library.
    """
    package, here, pickled = _PACKAGE, version(_PACKAGE), _pickled(look)

    # A function within a function goes by value: nothing of the library is imported for it.
    def ask(_: Iterable[int]) -> Iterator[_Found]:
        import importlib.metadata as metadata  # noqa: PLC0415  # in the worker
        import socket  # noqa: PLC0415  # as above
        from pickle import loads  # noqa: PLC0415  # as above

        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            found = "none"
        seen = found == here and loads(pickled)()  # noqa: S301  # the driver's own
        yield socket.gethostname(), found, seen

    return ask


@dataclass(frozen=True)
class _Look:
    """A function for workers: it returns whether the durable log has an object with the prefix.

    Errors are raised as `WorkerFailure`, from which the driver restores the original error.
    """

    log: bytes
    prefix: str
    import_path: tuple[str, ...]
    errors: ErrorChannel

    def __call__(self) -> bool:
        try:
            add_to_import_path(self.import_path)
            store = pickle.loads(self.log).open()  # noqa: S301  # the driver's own
            return any(True for _ in store.list(self.prefix))
        except Exception as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self.errors.wrap(exc) from None


def _pickled(item: object) -> bytes:
    data: bytes = cloudpickle.dumps(item)  # type: ignore[no-untyped-call]  # pyspark's
    return data


def _on_executors(
    session: SparkSession, ask: Callable[[Iterable[int]], Iterator[_Found]]
) -> list[_Found]:
    context = session.sparkContext
    width = context.defaultParallelism
    return context.parallelize(range(width), width).mapPartitions(ask).collect()


def _other_library(executors: str, there: str) -> CompileError:
    here = version(_PACKAGE)
    return CompileError(
        f"the driver runs {_PACKAGE} {here}, but the Python of {executors} has {there}",
        hint=f"install {_PACKAGE}=={here} on all executors, with the same extras as on the "
        "driver, in the Python that PYSPARK_PYTHON names.",
    )


def _typed(exc: Exception, errors: ErrorChannel) -> Exception:
    """Return the error to raise for an exception of the Spark job."""
    told = text_of(exc)
    if _NO_LIBRARY in told:
        return _other_library("some executors", "none")
    if _OTHER_PYTHON in told:
        return CompileError(
            "driver and executors run Pythons of different minor versions",
            hint="set PYSPARK_PYTHON to the same Python 3.x on all machines.",
        )
    return errors.find(exc) or exc
