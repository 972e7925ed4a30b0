"""The text that lists the user's files that executors receive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from kstreams.batch.package_files import PackageContents, contents_of, own_packages
from kstreams_admin.values import printable
from kstreams_cli.consoles import counted, shown_size

__all__ = ("PackageOption", "shown_packages")

PackageOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Module or package to send to executors. Can be repeated. NAME:PATTERN also sends "
        "files of the package that are excluded otherwise, such as shop:certs/*.pem.",
        show_default="all imported modules outside of the installed packages",
        rich_help_panel="Spark",
    ),
]


def shown_packages(packages: Sequence[str] | None) -> str:
    """Return the included files for executors, and the excluded ones with reasons.

    Args:
        packages: The named packages; None finds the packages that this process has imported.

    Raises:
        CompileError: A package cannot be imported, or has no files.
    """
    contents = contents_of(packages or own_packages())
    lines = [line for package in contents for line in _lines(package)]
    return "".join(f"{printable(line)}\n" for line in lines or ["No files are sent to executors."])


def _lines(package: PackageContents) -> Iterator[str]:
    count = counted(len(package.files), "file")
    yield f"{package.package}: {count}, {shown_size(package.size_bytes)}"
    for file in package.files:
        yield f"  {file.name}  {shown_size(file.size_bytes)}"
    for left in package.left_out:
        yield f"  left out: {left.name}  {left.why}"
