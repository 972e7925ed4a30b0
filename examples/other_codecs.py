"""The codecs of goka and birdayz/kstreams, with the equivalent serdes of this library.

python examples/other_codecs.py
"""

from __future__ import annotations

from dataclasses import dataclass

from kstreams import DOUBLE, INT64, TEXT, Serde, Topic, TopologyBuilder, map_values
from kstreams.errors import DeserializationError, SerializationError
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde


class DecimalInt64(Serde[int]):
    """Goka's `codec.Int64`: integers as decimal text, the usual format of its tables."""

    name = "goka-int64"
    type_token = int
    immutable = True

    def serialize(self, value: int) -> bytes:
        if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
            raise SerializationError(f"expected a number of 64 bits, got {value!r}")
        return b"%d" % value

    def deserialize(self, data: bytes) -> int:
        if len(data) > 20 or not data.removeprefix(b"-").isdigit():
            raise DeserializationError(f"expected a decimal number, got {data[:40]!r}")
        return int(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecimalInt64)

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class User:
    """`serde.JSON[User]()` in birdayz/kstreams; a codec with `encoding/json` in goka."""

    clicks: int


CLICKS = Topic("clicks", key=TEXT, value=DecimalInt64())  # codec.String, codec.Int64
USERS = Topic("users", key=TEXT, value=json_serde(User))
COUNTS = Topic("counts", key=TEXT, value=INT64)  # serde.String, serde.Int64: big endian
SHARES = Topic("shares", key=TEXT, value=DOUBLE)  # serde.Float64
builder = TopologyBuilder("codecs")
clicks = builder.add_source("clicks", CLICKS)
builder.add_sink("counts", COUNTS, clicks)
builder.add_sink("users", USERS, builder.add_processor("user", map_values(User), clicks))
builder.add_sink("shares", SHARES, builder.add_processor("share", map_values(float), clicks))

if __name__ == "__main__":
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(CLICKS, "ann", 42)
        print(driver.read_values(COUNTS), driver.read_values(USERS), driver.read_values(SHARES))
