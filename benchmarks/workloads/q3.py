"""Q3: local item suggestion. Which persons of three states sell something of category 10?

Auctions and persons are tables. An auction names its seller, so the query is a join by foreign key.
Both tables are written once and do not change, so rows outside the selection are filtered before
the join, as in Flink SQL. A result's time is that of the later side, which is not deterministic.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.auctions import (
    AUCTION,
    AUCTIONS,
    CATEGORY,
    PERSON,
    PERSONS,
    Auction,
    Person,
)
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder, filter_
from kstreams.joins import inner
from kstreams.stores import timestamped_store
from kstreams_json import json_serde

STATES = ("CA", "ID", "OR")
SELLER = json_serde(tuple[str, str, str])


def seller_of(_: Auction, person: Person) -> tuple[str, str, str]:
    return person.name, person.city, person.state


def topology(auctions: str, persons: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q3")
    opened = timestamped_store("auctions", key=TEXT, value=AUCTION)
    known = timestamped_store("persons", key=TEXT, value=PERSON)
    items = builder.add_source("auctions", Topic(auctions, TEXT, AUCTION))
    people = builder.add_source("persons", Topic(persons, TEXT, PERSON))
    items = builder.add_processor("wanted", filter_(lambda _, a: a.category == CATEGORY), items)
    people = builder.add_processor("near", filter_(lambda _, p: p.state in STATES), people)
    wanted = builder.to_table("wanted-auctions", items, store=opened)
    near = builder.to_table("near-persons", people, store=known)
    sellers = builder.join_foreign(
        "sellers",
        wanted,
        near,
        inner(seller_of),
        by=lambda _, auction: str(auction.seller),
        store=timestamped_store("sellers", key=TEXT, value=SELLER),
        value=AUCTION,
    )
    out = Topic(sink, TEXT, SELLER, nulls="pass")
    builder.add_sink("sellers-out", out, builder.to_stream("updates", sellers))
    return builder.build()


def expected(auctions: pa.Table, persons: pa.Table) -> Expected:
    here = persons.filter(pc.field("state").isin(STATES))
    columns = (here.column(name).to_pylist() for name in ("key", "name", "city", "state"))
    known = {key: rest for key, *rest in zip(*columns, strict=True)}
    wanted = auctions.filter(pc.field("category") == CATEGORY)
    sold = (wanted.column(name).to_pylist() for name in ("key", "seller"))
    return {
        (key, 0, 0): (tuple(known[name]), None)
        for key, seller in zip(*sold, strict=True)
        if (name := str(seller).encode()) in known
    }


WORKLOAD = Workload(
    name="Q3",
    title="NEXMark Q3, sellers of three states and their auctions of one category: foreign key",
    dataset=AUCTIONS,
    besides=(PERSONS,),
    shape="plain",
    expected=expected,
    topology=topology,
    values="json",
    by_record=False,
    records=1_500_000,
)
