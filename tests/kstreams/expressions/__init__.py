"""Tests of functions that are computed by columns."""
