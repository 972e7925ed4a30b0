"""Tests of `kstreams.joins.lookups`."""
