"""The crash matrix: every named moment at which something may die, and what comes after it."""
