"""The only module that imports deltalake."""

from __future__ import annotations

try:
    import deltalake
    from deltalake import exceptions
    from deltalake.fs import DeltaStorageHandler
    from deltalake.transaction import AddAction
except ImportError as error:
    raise ImportError("Delta needs its library: pip install 'kstreams-spark[delta]'") from error

__all__ = ("AddAction", "DeltaStorageHandler", "deltalake", "exceptions")
