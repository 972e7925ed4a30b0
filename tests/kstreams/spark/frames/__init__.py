"""Tests of topologies on DataFrames."""
