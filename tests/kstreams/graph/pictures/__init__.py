"""Tests of `kstreams.graph.pictures`."""
