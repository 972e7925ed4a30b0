"""Tests of `kstreams.windows.records`."""
