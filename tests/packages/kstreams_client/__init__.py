"""Tests of `kstreams_client`."""
