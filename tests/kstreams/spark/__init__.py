"""Tests of `kstreams.spark`."""
