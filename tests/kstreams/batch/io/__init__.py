"""Tests of `kstreams.batch.io`."""
