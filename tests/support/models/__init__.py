"""Shared helpers of tests: models."""
