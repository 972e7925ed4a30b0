"""Tests of the matrix of versions."""
