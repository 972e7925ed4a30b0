"""Tests of `kstreams.kafka`."""
