"""Bids of an auction house, according to the published description of NEXMark.

A bid names an auction, a bidder and a price. As in NEXMark, half of all bids are on the current hot
auction, three of four come from the current hot bidder, prices spread over several powers of ten,
and the numbers of auctions and bidders grow over time. There is one bid per millisecond; the key is
the auction.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS, Dataset
from benchmarks.suite.growing_ids import growing_ids
from kstreams_json import json_serde

__all__ = ("BID", "BIDS", "BIDS_AN_AUCTION", "BIDS_A_BIDDER", "Bid", "bids")

_AUCTIONS_AT_ONCE = 100
_BIDDERS_AT_ONCE = 1_000
BIDS_AN_AUCTION = 15
BIDS_A_BIDDER = 46


def bids(count: int, random: np.random.Generator) -> pa.Table:
    """Draw bids: key, value, timestamp, and the fields `auction`, `bidder`, `price`."""
    number = np.arange(count, dtype=np.int64)
    auction = growing_ids(number // BIDS_AN_AUCTION, _AUCTIONS_AT_ONCE, 1 / 2, random)
    bidder = growing_ids(number // BIDS_A_BIDDER, _BIDDERS_AT_ONCE, 3 / 4, random)
    price = np.round(10 ** (random.random(count) * 6) * 100).astype(np.int64)
    times = START_MS + number
    text = [pa.array(column).cast(pa.string()) for column in (auction, bidder, price, times)]
    values = pc.binary_join_element_wise(
        '{"auction":', text[0], ',"bidder":', text[1], ',"price":', text[2],
        ',"channel":"Web","url":"https://auctions.example/item","dateTime":', text[3], "}", "",
    )  # fmt: skip
    columns = {"key": text[0].cast(pa.binary()), "value": values.cast(pa.binary())}
    fields = {"auction": auction, "bidder": bidder, "price": price}
    return pa.table({**columns, "timestamp": times, **fields})


BIDS = Dataset(
    "bids",
    bids,
    filler=b'{"auction":0,"bidder":0,"price":0,"channel":"","url":"","dateTime":0}',
)


class Bid(msgspec.Struct, frozen=True):
    """The fields of a bid's JSON; the price is in cents."""

    auction: int
    bidder: int
    price: float
    dateTime: int  # noqa: N815  # the name of the field


BID = json_serde(Bid)
