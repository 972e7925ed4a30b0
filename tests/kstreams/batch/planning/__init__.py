"""Tests of `kstreams.batch.planning`."""
