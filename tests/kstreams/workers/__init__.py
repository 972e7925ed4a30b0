"""Tests of `kstreams.workers`."""
