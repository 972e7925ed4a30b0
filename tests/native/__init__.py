"""Tests of the C extension in `native/`: its code under sanitizers, and its wheels."""
