"""Global tables: the version that a batch reads, and local copies of versions."""
