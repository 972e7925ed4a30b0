"""Tests of `kstreams.graph.execution`."""
