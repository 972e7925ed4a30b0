"""A topology as a transformation of streaming DataFrames: sources in, sinks out.

Read `transform.py` first: it builds a query. Each partition group is one stateful Spark operator
(chosen in `operators.py`), whose groups are tasks that run `stage.py`. Operators exchange messages
(`messages.py`): `pack.py` creates messages from source rows, `unpack.py` creates rows from output.
Spark's state holds a `TaskRecord` for each task with the pointer of its state; the state itself is
in the durable log. The code uses only the DataFrame API, so it also runs on Spark Connect.
"""
