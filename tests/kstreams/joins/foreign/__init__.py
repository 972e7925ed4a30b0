"""Tests of `kstreams.joins.foreign`."""
