"""Tests of `kstreams.task.progress`."""
