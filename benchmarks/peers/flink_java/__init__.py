"""Flink's DataStream API in Java."""
