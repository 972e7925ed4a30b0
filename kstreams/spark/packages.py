"""Send the user's own modules to the executors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from kstreams.checkpoint.start.app_settings import Packages
from kstreams.spark.package_archive import package_archive

__all__ = ("send", "ship")


def ship(session: SparkSession, packages: Packages) -> tuple[str, ...]:
    """Send packages to all executors; return the names under which they are unpacked.

    Raises:
        CompileError: A package was not found, or the packages exceed 100 MB.
    """
    archive = package_archive(packages)
    if archive is None:
        return ()
    target = _file(f"{archive.name}.zip", archive.data)
    session.sparkContext.addArchive(f"{target}#{archive.name}")
    return (archive.name,)


def send(session: SparkSession, name: str, data: bytes) -> None:
    """Send a file to all executors, which find it by its name in `SparkFiles`.

    Args:
        session: A classic session.
        name: The name of the file, which must change with the data.
        data: The content of the file.
    """
    session.sparkContext.addFile(str(_file(name, data)))


def _file(name: str, data: bytes) -> Path:
    """Create a file atomically, so that no reader sees an incomplete file."""
    draft = _folder() / uuid4().hex
    draft.write_bytes(data)
    return draft.replace(draft.with_name(name))


@cache
def _folder() -> Path:
    """Return this process's folder: executors fetch from it until the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="kstreams-packages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
