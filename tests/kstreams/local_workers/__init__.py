"""Tests of `kstreams.local_workers`."""
