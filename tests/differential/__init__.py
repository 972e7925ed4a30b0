"""The same drawn topology and records, run in different ways, must give the same.

Read `plan.Plan` (what is drawn), `generate.cases` (how) and `case.Case` first.
"""
