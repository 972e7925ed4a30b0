"""Tests of `kstreams.checkpoint.storage`."""
