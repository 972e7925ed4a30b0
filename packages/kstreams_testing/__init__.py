"""Tests without Spark: the test driver, and the contract suites of plugins.

Import the public names from `kstreams.testing`.
"""
