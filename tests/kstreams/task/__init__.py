"""Tests of `kstreams.task`."""
