"""Q3: local item suggestion. Which persons of three states sell something of category 10?

Auctions and persons are tables; an auction names its seller: a join by foreign key. A result's
time is that of the side that comes last, which is not certain.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.auctions import AUCTIONS, CATEGORY, PERSONS
from benchmarks.suite.workload import Expected, Workload

STATES = ("CA", "ID", "OR")


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
    values="json",
    by_record=False,
    records=900_000,
)
