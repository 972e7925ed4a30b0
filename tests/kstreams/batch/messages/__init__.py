"""Tests of `kstreams.batch.messages`."""
