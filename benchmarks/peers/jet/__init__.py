"""Hazelcast's stream engine, Jet, in one member."""
