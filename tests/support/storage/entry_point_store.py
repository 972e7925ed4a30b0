"""An object store that is registered by an entry point, as an installed package would be."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path

import pytest

from kstreams import plugins
from kstreams.state import ObjectStore
from kstreams.state.log.directory import DirectoryObjectStore

__all__ = ("SCHEME", "Outside", "offer", "url_of")

SCHEME = "outside"


@dataclass(frozen=True)
class Outside:
    """Settings of an object store, made from a URL."""

    url: str

    @property
    def place(self) -> str:
        """The name of the store in messages."""
        return self.url

    def open(self) -> ObjectStore:
        return DirectoryObjectStore(Path(self.url.removeprefix(f"{SCHEME}://")))


def url_of(path: Path) -> str:
    """Return the URL of a checkpoint in a directory."""
    return f"{SCHEME}://{path.absolute()}"


def offer(patch: pytest.MonkeyPatch) -> None:
    """Add the entry point of the store to those of the installed packages."""
    point = EntryPoint(SCHEME, f"{__name__}:{Outside.__name__}", "kstreams.stores")

    def found(group: str) -> EntryPoints:
        more = [point] if group == point.group else []
        return EntryPoints([*entry_points(group=group), *more])

    patch.setattr(plugins, "entry_points", found)
    plugins._found.cache_clear()
