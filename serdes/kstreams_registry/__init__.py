"""Schema registries: records of topics contain the id of the schema they were written with.

Read `confluent` first, then `SchemaRegistry`. Depends on the public names of `kstreams` and the
standard library; `json_schema` on jsonschema-rs and msgspec
(`pip install 'kstreams-spark[registry,json]'`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams_registry.client import Registered, SchemaRegistry
from kstreams_registry.confluent import HEADER_IDS, Register, confluent
from kstreams_registry.errors import SchemaRefusedError
from kstreams_registry.subjects import SubjectName

if TYPE_CHECKING:
    from kstreams_registry.validated_json import json_schema
else:  # a checker would take any name then

    def __getattr__(name: str) -> object:
        """Import a name whose module needs other packages, at the first use of the name."""
        if name == "json_schema":
            from kstreams_registry.validated_json import json_schema  # noqa: PLC0415

            return json_schema
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = (
    "HEADER_IDS",
    "Register",
    "Registered",
    "SchemaRefusedError",
    "SchemaRegistry",
    "SubjectName",
    "confluent",
    "json_schema",
)
