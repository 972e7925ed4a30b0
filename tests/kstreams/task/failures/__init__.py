"""Tests of `kstreams.task.failures`."""
