"""What the library promises, tried."""
