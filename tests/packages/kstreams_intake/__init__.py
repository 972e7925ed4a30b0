"""Tests of intakes and their runner."""
