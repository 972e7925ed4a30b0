"""Avro as a format of keys and values, with Python's own types and Avro's schema evolution.

Read `avro_serde` first (`serde.py`). A schema is a tree (`nodes.py`): parsed from text
(`parsing.py`) or derived from a type (`derive.py`), bound to the classes of a type (`binding.py`),
and written as text (`canonical.py`). A writer's and a reader's tree give steps (`resolution.py`,
`steps/`), which read values and columns (`reading.py`, `objects.py`); a reader's tree gives
functions that write values (`writing.py`) and columns (`column_writing.py`). `conversions.py` has
the logical types. The JSON encoding (`json_serde.py`) converts the binary one (`json_datum.py`,
`json_content.py`).

Depends on fastavro (which validates schemas), msgspec (which inspects types) and on the public
names of `kstreams`; install them by `pip install 'kstreams-spark[avro]'`.
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
