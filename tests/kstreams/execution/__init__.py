"""Tests of `kstreams.execution`."""
