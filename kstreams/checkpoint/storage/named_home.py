"""Names of checkpoints: directories, URLs or settings of object storage, and app ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import PluginError
from kstreams.names import check_step
from kstreams.plugins import load_plugin
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = ("CheckpointName", "app_home", "home_of", "is_url", "store_by_url")

CheckpointName = str | Path | ObjectStoreSettings
"""A user's name of a checkpoint: a directory, a URL such as `s3://bucket/app`, or settings of
storage, such as `S3("s3://bucket/app", endpoint_url=...)`.
"""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+-]*)://.*", re.DOTALL)
_PACKAGES = {"s3": "kstreams-spark[s3]"}


def app_home(app: str, named: CheckpointName | None = None) -> DirectoryHome | ObjectHome:
    """Return the storage of an app's checkpoint: the named one, or `.kstreams/<app>`.

    Raises:
        InvalidNameError: The app id is invalid as a directory name.
        PluginError: No installed package serves URLs of this kind.
    """
    check_step("an app's id", app)
    return home_of(named or Path(".kstreams") / app)


def home_of(named: CheckpointName) -> DirectoryHome | ObjectHome:
    """Return the storage of a checkpoint, given its name.

    Raises:
        PluginError: No installed package supports URLs of this scheme.
        ValueError: The URL is invalid for its scheme.
    """
    if isinstance(named, str) and is_url(named):
        return ObjectHome(store_by_url(named))
    if isinstance(named, (str, Path)):
        return DirectoryHome(Path(named).absolute())
    return ObjectHome(named)


def is_url(named: str) -> bool:
    """Return whether a string is a URL."""
    return _URL.fullmatch(named) is not None


def store_by_url(url: str) -> ObjectStoreSettings:
    """Return the settings of an object storage for its URL.

    A package that supports a scheme has an entry point with the scheme's name in the group
    `kstreams.stores`: a function that returns the settings for a URL.

    Raises:
        PluginError: No installed package serves URLs of this kind.
        ValueError: The URL is invalid for its scheme.
    """
    scheme = url.partition("://")[0].lower()
    needs = f"pip install {_PACKAGES[scheme]!r}." if scheme in _PACKAGES else ""
    try:
        make = load_plugin("kstreams.stores", scheme)
    except ImportError as exc:
        raise PluginError(
            f"a checkpoint at {scheme}:// needs a package that is not installed: {exc}", hint=needs
        ) from exc
    except PluginError as exc:
        raise PluginError(
            f"no installed package can keep a checkpoint at {scheme}://: {exc.message}",
            hint=needs
            or f"install one that offers {scheme!r} in the group kstreams.stores, or name a "
            "directory. For storage with the protocol of S3, install kstreams-spark[s3].",
        ) from exc
    made: Any = make(url) if callable(make) else None
    if made is None or not hasattr(made, "open") or hasattr(made, "branch"):
        raise PluginError(
            f"plugin {scheme!r} of kstreams.stores is not durable storage for a checkpoint",
            hint="name a directory, or a URL such as s3://bucket/app.",
        )
    settings: ObjectStoreSettings = made
    return settings
