"""Tests of `kstreams_kafka`."""
