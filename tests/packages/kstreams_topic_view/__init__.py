"""Tests of `kstreams_topic_view`."""
