"""Shared helpers of tests: intakes."""
