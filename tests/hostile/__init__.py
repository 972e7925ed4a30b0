"""Hostile records, files and checkpoints neither stop an app nor get lost."""
