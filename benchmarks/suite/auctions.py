"""Persons and the auctions they open, according to the published description of NEXMark.

They match the bids of `bids.py`: one auction per 15 bids, one person per 46 bids, each a second
older than the first bid with its number. As in NEXMark, the current hot seller has three of four
auctions, and there are five categories, starting from 10, and six states.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.bids import BIDS_A_BIDDER, BIDS_AN_AUCTION
from benchmarks.suite.dataset import START_MS, Dataset
from benchmarks.suite.growing_ids import FIRST_ID, growing_ids
from kstreams_json import json_serde

__all__ = (
    "AUCTION",
    "AUCTIONS",
    "AUCTIONS_OF_BIDS",
    "CATEGORY",
    "PERSON",
    "PERSONS",
    "Auction",
    "Person",
    "auctions",
    "persons",
)

CATEGORY = 10
"""The category that the queries select."""
_CATEGORIES = 5
_STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
_CITIES = np.array(["Phoenix", "Palo Alto", "Boise", "Portland", "Bend", "Redmond", "Kent"])
_NAMES = np.array(["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah"])
_SELLERS_AT_ONCE = 1_000
_OLDER_MS = 1_000
_LASTS_MS = 20_000


def auctions(count: int, random: np.random.Generator) -> pa.Table:
    """Draw auctions: key, value, timestamp, `itemName`, `seller`, `category`."""
    number = np.arange(count, dtype=np.int64)
    seller = growing_ids(_opened(number), _SELLERS_AT_ONCE, 3 / 4, random)
    category = CATEGORY + random.integers(0, _CATEGORIES, count)
    price = random.integers(100, 100_000, count)
    times = START_MS - _OLDER_MS + number * BIDS_AN_AUCTION
    item = pc.binary_join_element_wise("item", _text(random.integers(0, 100_000, count)), " ")
    values = pc.binary_join_element_wise(
        '{"id":', _text(FIRST_ID + number), ',"itemName":"', item, '","description":"as new",',
        '"initialBid":', _text(price), ',"reserve":', _text(price * 2), ',"dateTime":',
        _text(times), ',"expires":', _text(times + _LASTS_MS), ',"seller":', _text(seller),
        ',"category":', _text(category), "}", "",
    )  # fmt: skip
    columns = {"key": _text(FIRST_ID + number).cast(pa.binary()), "value": values.cast(pa.binary())}
    fields = {"itemName": item, "seller": seller, "category": category}
    return pa.table({**columns, "timestamp": times, **fields})


def persons(auctions: int, random: np.random.Generator) -> pa.Table:
    """Draw the persons for a number of auctions: key, value, timestamp, `name`, `city`, `state`."""
    number = np.arange(_persons_of(auctions), dtype=np.int64)
    times = START_MS - _OLDER_MS + number * BIDS_A_BIDDER
    first = pa.array(random.choice(_NAMES, len(number)))
    name = pc.binary_join_element_wise(first, _text(number), " ")
    city, state = (pa.array(random.choice(names, len(number))) for names in (_CITIES, _STATES))
    values = pc.binary_join_element_wise(
        '{"id":', _text(FIRST_ID + number), ',"name":"', name, '","emailAddress":"a@example.com",',
        '"creditCard":"1234 5678 9012 3456","city":"', city, '","state":"', state,
        '","dateTime":', _text(times), "}", "",
    )  # fmt: skip
    columns = {"key": _text(FIRST_ID + number).cast(pa.binary()), "value": values.cast(pa.binary())}
    return pa.table({**columns, "timestamp": times, "name": name, "city": city, "state": state})


def _opened(
    auction: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the number of the newest person at the opening of each auction."""
    newest: np.ndarray[tuple[int], np.dtype[np.int64]] = auction * BIDS_AN_AUCTION // BIDS_A_BIDDER
    return newest


def _persons_of(auctions: int) -> int:
    return max(0, auctions - 1) * BIDS_AN_AUCTION // BIDS_A_BIDDER + 1


def _auctions_of(bids: int) -> int:
    return max(0, bids - 1) // BIDS_AN_AUCTION + 1


def _text(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


_AUCTION_FILLER = (
    b'{"id":0,"itemName":"","description":"","initialBid":0,"reserve":0,"dateTime":0,'
    b'"expires":0,"seller":0,"category":0}'
)
AUCTIONS = Dataset("auctions", auctions, filler=_AUCTION_FILLER)
AUCTIONS_OF_BIDS = Dataset(
    "auctions-of-bids",
    lambda bids, random: auctions(_auctions_of(bids), random),
    filler=_AUCTION_FILLER,
    size=_auctions_of,
)
PERSONS = Dataset(
    "persons",
    persons,
    filler=b'{"id":0,"name":"","emailAddress":"","creditCard":"","city":"","state":"","dateTime":0}',
    size=_persons_of,
)


class Auction(msgspec.Struct):
    """The fields of an auction's JSON that queries use."""

    id: int
    itemName: str  # noqa: N815  # the name of the field
    seller: int
    category: int


class Person(msgspec.Struct):
    """The fields of a person's JSON that queries use."""

    name: str
    city: str
    state: str


AUCTION, PERSON = json_serde(Auction), json_serde(Person)
