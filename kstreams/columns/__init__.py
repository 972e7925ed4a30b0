"""Operations on numpy columns: group rows, sum and merge runs of rows, assign numbers to keys.

Aggregators, windows and stores use this package for columnar execution. Read `Runs` and `grouped`
first. The package depends only on serdes.
"""
