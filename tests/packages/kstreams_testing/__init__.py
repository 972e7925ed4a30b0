"""Tests of `kstreams.testing`."""
