"""Tests of `kstreams.graph.building`."""
