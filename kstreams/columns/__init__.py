"""Work on columns of numbers: rows in groups and runs, keys by number, states merged in order.

What aggregators, windows and stores do by columns is made of it. Read `Runs` and `grouped`
first. Depends on serdes alone.
"""
