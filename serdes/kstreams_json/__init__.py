"""JSON as a format of keys and values, with Python's own types.

Read `json_serde` first. Depends on msgspec and on the public names of `kstreams`; install
both by `pip install 'kstreams-spark[json]'`.
"""

from __future__ import annotations

from kstreams_json.serde import json_serde

__all__ = ("json_serde",)
