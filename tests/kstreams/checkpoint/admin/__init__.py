"""Tests of `kstreams.checkpoint.admin`."""
