"""Send the user's own modules to the executors."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
import zipfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from kstreams.batch.package_files import PackageContents, contents_of, own_packages
from kstreams.checkpoint.app_settings import Packages
from kstreams.errors import CompileError

__all__ = ("ship",)

_LOG = logging.getLogger(__name__)
_MAX_BYTES = 100_000_000
_NAMED_LEFT_OUT = 10


def ship(session: SparkSession, packages: Packages) -> tuple[str, ...]:
    """Send packages to all executors; return the names under which they are unpacked.

    What goes and what is left out is logged, at the level INFO.

    Raises:
        CompileError: A package is not to be found, or is over 100 MB.
    """
    contents = contents_of(own_packages() if packages == "auto" else packages)
    if not contents:
        return ()
    for package in contents:
        _log(package)
    total = sum(package.size_bytes for package in contents)
    if total > _MAX_BYTES:
        raise CompileError(
            f"the packages {', '.join(package.package for package in contents)} have "
            f"{total / 1e6:.0f} MB together",
            hint="name the ones that executors need: App(..., packages=['my_package']).",
        )
    draft = _folder() / f"{uuid4().hex}.zip"
    with zipfile.ZipFile(draft, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for package in contents:
            for file in package.files:
                archive.write(file.path, file.name)
    # Another name for other contents: apps of one session do not overwrite each other's.
    name = f"kstreams_packages_{sha256(draft.read_bytes()).hexdigest()[:12]}"
    target = draft.replace(draft.with_name(f"{name}.zip"))
    session.sparkContext.addArchive(f"{target}#{name}")
    return (name,)


@cache
def _folder() -> Path:
    """Return this process's folder: executors fetch from it until the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="kstreams-packages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _log(package: PackageContents) -> None:
    _LOG.info(
        "package %s goes to executors: %d files, %.1f kB",
        package.package,
        len(package.files),
        package.size_bytes / 1000,
    )
    if package.left_out:
        named = [f"{each.name} ({each.why})" for each in package.left_out[:_NAMED_LEFT_OUT]]
        more = len(package.left_out) - len(named)
        _LOG.info("left out: %s%s", ", ".join(named), f" and {more} more" if more else "")
