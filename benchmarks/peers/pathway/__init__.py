"""Pathway, with one worker and with two, with and without persistence."""
