"""Send the user's own modules to the executors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from kstreams.checkpoint.app_settings import Packages
from kstreams.spark.package_archive import package_archive

__all__ = ("ship",)


def ship(session: SparkSession, packages: Packages) -> tuple[str, ...]:
    """Send packages to all executors; return the names under which they are unpacked.

    Raises:
        CompileError: A package is not to be found, or is over 100 MB.
    """
    archive = package_archive(packages)
    if archive is None:
        return ()
    draft = _folder() / f"{uuid4().hex}.zip"
    draft.write_bytes(archive.data)
    target = draft.replace(draft.with_name(f"{archive.name}.zip"))
    session.sparkContext.addArchive(f"{target}#{archive.name}")
    return (archive.name,)


@cache
def _folder() -> Path:
    """Return this process's folder: executors fetch from it until the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="kstreams-packages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
