"""The crash matrix: death at every named point of a batch, and the recovery after it."""
