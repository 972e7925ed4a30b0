"""Tests of `kstreams.joins.tables`."""
