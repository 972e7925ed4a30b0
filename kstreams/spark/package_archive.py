"""The user's own modules as one archive, for executors."""

from __future__ import annotations

import io
import logging
import zipfile
from dataclasses import dataclass
from hashlib import sha256

from kstreams.batch.package_files import PackageContents, contents_of, own_packages
from kstreams.checkpoint.start.app_settings import Packages
from kstreams.errors import CompileError

__all__ = ("PackageArchive", "package_archive")

_LOG = logging.getLogger(__name__)
_MAX_BYTES = 100_000_000
_NAMED_LEFT_OUT = 10


@dataclass(frozen=True)
class PackageArchive:
    """Modules and packages in a zip file.

    Attributes:
        name: The name of the archive, which changes with its content, so that versions of user code
            do not overwrite each other.
        data: The content of the zip file.
    """

    name: str
    data: bytes


def package_archive(packages: Packages) -> PackageArchive | None:
    """Return the packages as an archive; None without packages.

    Included and excluded files are logged at level INFO.

    Raises:
        CompileError: A package was not found, or the packages exceed 100 MB.
    """
    contents = contents_of(own_packages() if packages == "auto" else packages)
    if not contents:
        return None
    for package in contents:
        _log(package)
    total = sum(package.size_bytes for package in contents)
    if total > _MAX_BYTES:
        raise CompileError(
            f"the packages {', '.join(package.package for package in contents)} have "
            f"{total / 1e6:.0f} MB together, expected at most {_MAX_BYTES / 1e6:.0f} MB",
            hint="list only the packages that executors need: packages=['my_package'].",
        )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for package in contents:
            for each in package.files:
                archive.write(each.path, each.name)
    data = file.getvalue()
    return PackageArchive(f"kstreams_packages_{sha256(data).hexdigest()[:12]}", data)


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
