"""Tests of `kstreams.spark.startup`."""
