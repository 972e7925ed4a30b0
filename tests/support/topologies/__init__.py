"""Shared helpers of tests: topologies."""
