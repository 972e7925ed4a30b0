"""Tests of `kstreams_admin`."""
