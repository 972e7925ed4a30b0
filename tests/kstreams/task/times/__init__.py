"""Tests of `kstreams.task.times`."""
