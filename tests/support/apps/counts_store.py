"""A store of counts for the tests of views."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.state import Memory
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams_rocksdb import RocksDB

COUNTS = key_value_store("counts", key=TEXT, value=INT64)


BACKENDS = pytest.mark.parametrize("backend", [Memory(), RocksDB()], ids=lambda b: b.name)


CHANGES = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 9), max_size=6),
    min_size=1,
    max_size=14,
)
