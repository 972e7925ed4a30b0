"""The static files of pages, with a digest in their names, so that browsers may cache them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

__all__ = ("ASSETS", "Asset", "asset_url")

_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_DIGITS = 12


@dataclass(frozen=True)
class Asset:
    """A static file.

    Attributes:
        path: The path of its route, with a digest of its content.
        kind: The media type.
        data: The content.
    """

    path: str
    kind: str
    data: bytes


def _read(name: str) -> Asset:
    data = (files("kstreams_serve.pages") / "static" / name).read_bytes()
    stem, _, suffix = name.rpartition(".")
    digest = sha256(data).hexdigest()[:_DIGITS]
    return Asset(f"/static/{stem}.{digest}.{suffix}", _KINDS[f".{suffix}"], data)


_BY_NAME = {name: _read(name) for name in ("kstreams.css", "kstreams.js", "icon.svg")}

ASSETS: Mapping[str, Asset] = {asset.path: asset for asset in _BY_NAME.values()}
"""All static files, by path."""


def asset_url(name: str) -> str:
    """Return the URL path of a static file."""
    return _BY_NAME[name].path
