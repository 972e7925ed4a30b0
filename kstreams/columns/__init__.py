"""Work on columns of numbers: rows in groups and runs, numbered keys, states merged in order.

Aggregators, windows and stores use it to work by columns. Read `Runs` and `grouped` first.
Depends only on serdes.
"""
