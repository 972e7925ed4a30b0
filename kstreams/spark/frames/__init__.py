"""A topology as a transformation of streaming DataFrames: sources in, sinks out.

Read `transform.py` first: it puts a query together. Each partition group is one stateful operator
of Spark's (`operators.py` says which), whose groups are tasks; `stage.py` is what runs in it.
Between them go messages (`messages.py`): `pack.py` makes them of a source's rows, `unpack.py` makes
rows of what goes out. Spark's state holds a `TaskRecord` for each task, and in it the pointer of
its state; the state itself lies in the durable log. Only the DataFrame API is used, so that all of
it runs on Spark Connect too.
"""
