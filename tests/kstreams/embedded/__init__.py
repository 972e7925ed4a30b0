"""Tests of `kstreams.embedded`."""
