"""The class `App`, which chooses an engine and runs a topology on it."""
