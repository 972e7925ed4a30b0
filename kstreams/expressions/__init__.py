"""Functions of values that are computed by columns: `columns(lambda order: order.price * 2)`.

`columns` calls the function once, with a placeholder for the value, and records its operations as a
tree. Nodes by records call the function. Nodes by columns evaluate the tree on the columns of its
fields; the results are the same, bit for bit. If a batch contains values for which they might
differ, such as integers beyond int64, the function is called for each value of the batch.

Read `trace` (how a tree is recorded), `kinds` (the types of a tree's parts) and `evaluate` first;
`code` rejects functions whose operations placeholders do not notice.
"""
