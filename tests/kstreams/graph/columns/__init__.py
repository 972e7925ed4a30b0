"""Tests of `kstreams.graph.columns`."""
