"""Tests of `kstreams.checkpoint.planning`."""
