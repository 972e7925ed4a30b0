"""Avro as a format of keys and values: typed by Python's own types, evolved by its schemas.

Read `avro_serde` first (`serde.py`). A schema is a tree (`nodes.py`): read from text
(`parsing.py`), made of a type (`derive.py`), put together with one (`binding.py`), written
(`canonical.py`). A writer's and a reader's tree become steps (`resolution.py`, `steps/`), which
read values and columns (`reading.py`, `objects.py`); a reader's tree becomes writers of values
(`writing.py`) and of columns (`column_writing.py`). `conversions.py` has the logical types.
The JSON encoding (`json_serde.py`) converts the binary one (`json_datum.py`, `json_content.py`).

Depends on fastavro (which judges schemas), msgspec (which knows types) and on the public names of
`kstreams`; install them by `pip install 'kstreams-spark[avro]'`.
"""

from __future__ import annotations

try:
    import fastavro  # noqa: F401  # asked for here, once
    import msgspec  # noqa: F401  # as above
except ImportError as exc:
    raise ImportError(
        f"Avro needs {exc.name}: pip install 'kstreams-spark[avro]'", name=exc.name
    ) from exc

from kstreams_avro.derive import avro_type
from kstreams_avro.json_serde import AvroJsonSerde
from kstreams_avro.serde import avro_schema, avro_serde

__all__ = ("AvroJsonSerde", "avro_schema", "avro_serde", "avro_type")
