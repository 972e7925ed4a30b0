"""Global tables: which version a batch reads, and copies of it."""
