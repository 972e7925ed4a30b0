"""Existence of paths, and creation of their parent directories."""

from __future__ import annotations

from contextlib import suppress
from posixpath import dirname
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kstreams_sftp.client import Client

__all__ = ("exists", "make_parents")


def exists(client: Client, path: str) -> bool:
    """Return whether a file, a directory or a link exists."""
    try:
        client.lstat(path)
    except FileNotFoundError:
        return False
    return True


def make_parents(client: Client, path: str) -> None:
    """Create the directories above a path; the directory of the settings must exist."""
    parent = dirname(path)
    if exists(client, parent):
        return
    make_parents(client, parent)
    with suppress(OSError):  # created by another task, or the next request fails with the reason
        client.mkdir(parent)
