"""Tests of `kstreams.checkpoint.start`."""
