"""Tests of queries over HTTP."""
