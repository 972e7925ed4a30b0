"""MessagePack as a format of keys and values, with Python's own types.

Read `msgpack_serde` first. Depends on msgspec and on the public names of `kstreams`; install
both by `pip install 'kstreams-spark[msgpack]'`.
"""

from __future__ import annotations

from kstreams_msgpack.serde import msgpack_serde

__all__ = ("msgpack_serde",)
