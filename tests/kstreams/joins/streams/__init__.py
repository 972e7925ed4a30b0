"""Tests of `kstreams.joins.streams`."""
