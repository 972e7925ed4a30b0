"""Adjusts Spark's Python worker processes: their import path, garbage collection and end."""

from __future__ import annotations

import gc
import importlib
import pickle
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

__all__ = (
    "add_to_import_path",
    "drop_spark_archives",
    "leave_quietly",
    "load_once",
    "shorten_collections",
)

_SPARK_ARCHIVE = re.compile(r"(pyspark\.zip|py4j-[^/]*\.zip|spark-core_[^/]*\.jar)(/|$)")
_YOUNG, _ALL = 1, 2
"""The oldest generation of objects that a garbage collection includes."""
_FULL_EVERY = 32
_WORKER = "pyspark.worker"
_loaded: dict[str, Any] = {}


def drop_spark_archives() -> None:
    """Remove Spark's archives from the import path of this worker.

    A reused worker spends 100-250 ms of every task in `importlib.invalidate_caches()`, which reads
    the directory of an archive again for the archive and for each package that was imported from
    it. If pyspark is installed as usual with pip, the archives are not needed; later imports from
    them still work.
    """
    kept = [entry for entry in sys.path if not _SPARK_ARCHIVE.search(entry)]
    if len(kept) < len(sys.path):
        if PathFinder.find_spec("pyspark", kept) is None:
            return
        sys.path[:] = kept
    for entry in [e for e in sys.path_importer_cache if _SPARK_ARCHIVE.search(e)]:
        del sys.path_importer_cache[entry]


def add_to_import_path(folders: tuple[str, ...]) -> None:
    """Put the folders of the user's modules first on the import path of this worker.

    Args:
        folders: The folders in order; a relative folder is in the folder of this executor in which
            Spark unpacks archives.
    """
    if not folders:
        return
    from pyspark import SparkFiles  # noqa: PLC0415  # the worker's own, ready by now

    root = Path(SparkFiles.getRootDirectory())
    entries = [str(root / folder) for folder in folders]
    sys.path[:0] = [entry for entry in entries if entry not in sys.path]


def load_once(digest: str, read: Callable[[], bytes]) -> Any:  # noqa: ANN401  # any pickled object
    """Return an unpickled object, which is cached in this process by the digest of its bytes."""
    found = _loaded.get(digest)
    if found is None:
        found = _loaded[digest] = pickle.loads(read())  # noqa: S301  # the driver's own
    return found


@cache
def shorten_collections() -> None:
    """Shorten the garbage collections of this worker process; later calls have no effect.

    Spark's worker runs a full garbage collection after each task. With imported data libraries that
    takes 30 ms or more, and with cached rows over 100 ms: a quarter of the time of a task. This
    function excludes existing objects from collections. It also makes the collection after a task
    cover only young objects, except in every `_FULL_EVERY`th task. Python's automatic collections
    do not change.
    """
    gc.collect()
    gc.freeze()
    if _in_daemon("manager") is None or _in_daemon("gc") is not gc:
        return  # this worker has no daemon, or one that collects by itself
    calls = count(1)

    def collect() -> int:
        return gc.collect(_YOUNG if next(calls) % _FULL_EVERY else _ALL)

    # `pyspark.daemon` has no hook around a task, but looks up `gc` in its module after each task.
    # Another way is a daemon of our own: a copy for each version of Spark.
    _daemon().gc = SimpleNamespace(collect=collect)


@cache
def leave_quietly() -> None:
    """Make this worker process end without output when Spark closes its input between tasks.

    Spark does so for workers that were idle for a minute, and for all workers at the end of an app.
    PySpark's worker treats the end of its input as an error and tries to report it to Spark. Over
    Unix sockets the report fails, and the daemon prints a `BrokenPipeError` traceback. Errors
    within a task are reported as usual. Later calls have no effect.
    """
    if _in_daemon("manager") is None:
        return  # this worker has no daemon
    holder, name = _place_of_main()
    main = getattr(holder, name)

    def main_unless_closed(infile: IO[bytes], outfile: IO[bytes]) -> None:
        try:
            is_closed = not infile.peek(1)  # type: ignore[attr-defined]  # it is buffered
        except ConnectionError:
            is_closed = True
        if is_closed:
            sys.exit(1)  # the daemon keeps a worker that ends with 0
        main(infile, outfile)

    setattr(holder, name, main_unless_closed)


def _place_of_main() -> tuple[Any, str]:
    """Return the module and the name in which the daemon looks up the function of a task.

    The daemon of Spark 4.1 has a global variable; the daemon of later series imports the worker
    module, its argument, for each task.
    """
    if _in_daemon("worker_main") is not None:
        return _daemon(), "worker_main"
    named = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].startswith("pyspark") else _WORKER
    return importlib.import_module(named), "main"


def _in_daemon(name: str) -> Any:  # noqa: ANN401  # a global of another module
    """Return a global variable of the module `pyspark.daemon`, which forked this worker process.

    The result is None if no daemon has forked it.
    """
    return getattr(_daemon(), name, None)


def _daemon() -> Any:  # noqa: ANN401  # a module that another one starts
    return sys.modules["__main__"]
