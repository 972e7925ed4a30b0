"""Tests of `kstreams.cli`."""
