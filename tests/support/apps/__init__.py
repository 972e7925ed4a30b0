"""Shared helpers of tests: apps."""
