"""Tests of `kstreams.task.records`."""
