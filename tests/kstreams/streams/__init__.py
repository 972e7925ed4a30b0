"""Streams and tables in chained calls."""
