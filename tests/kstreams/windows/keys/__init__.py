"""Tests of `kstreams.windows.keys`."""
