"""The crash matrix: crashes at every named point of a batch, and the recovery after them."""
