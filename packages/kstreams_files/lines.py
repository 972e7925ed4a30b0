"""Files in which each line is a value: text, JSON, or bytes of another serde."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import pyarrow as pa

from kstreams.options import checks_options
from kstreams.serde.base import Serde
from kstreams.serde.none import NONE
from kstreams_files.format import Rows
from kstreams_files.text_records import MAX_RECORD_BYTES, TextRecords

__all__ = ("Lines",)

V = TypeVar("V")
"""Type of the values."""


@checks_options
@dataclass(frozen=True)
class Lines(TextRecords[None, V]):
    r"""The format of text files: each line is a value, without `\n` or `\r\n`; keys are null.

    JSON lines are `Lines(json_serde(Order), blank="drop")`.

    Args:
        value: The serde of a line's bytes.
        blank: The policy for an empty line: `"keep"` passes it to the serde, `"drop"` treats it as
            a null value, which is dropped and counted.
        max_record_bytes: A file with a longer line cannot be read.
    """

    value: Serde[V]
    blank: Literal["keep", "drop"] = "keep"
    max_record_bytes: int = MAX_RECORD_BYTES
    key: Serde[None] = field(default=NONE, init=False)
    quoted: bool = field(default=False, init=False)
    name: str = field(default="lines", init=False)

    def rows(self, records: Sequence[bytes], head: str) -> Rows:
        """Return the lines as values; empty lines are null with `blank="drop"`."""
        if self.blank == "drop":
            return Rows(pa.array([each or None for each in records], pa.binary()))
        return Rows(pa.array(records, pa.binary()))
