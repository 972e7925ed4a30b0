"""What serdes cost: processor time a record, singly, in bulk and in windows."""
