"""Tests of `kstreams.checkpoint.savepoint`."""
