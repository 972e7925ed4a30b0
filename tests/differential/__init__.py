"""Differential tests: random topologies and records give equal results when run in different ways.

Read `plan.Plan` (the drawn topology), `generate.cases` (how it is drawn) and `case.Case` first.
"""
