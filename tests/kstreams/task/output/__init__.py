"""Tests of `kstreams.task.output`."""
