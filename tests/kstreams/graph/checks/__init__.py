"""Tests of `kstreams.graph.checks`."""
