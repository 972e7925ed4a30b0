"""Tests of `kstreams_cli`."""
