"""A C program that reads, counts and writes, and keeps nothing: the limit of this machine."""
