"""Tests of `kstreams.batch.worker`."""
