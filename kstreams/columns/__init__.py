"""Operations on numpy columns: group rows, sum and merge runs of rows, number keys.

Aggregators, windows and stores use this package for columnar execution. Read `Runs` and `grouped`
first. Depends only on serdes.
"""
