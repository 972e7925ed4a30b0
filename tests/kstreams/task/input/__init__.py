"""Tests of `kstreams.task.input`."""
