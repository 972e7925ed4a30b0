"""The choice between execution by columns and by records, with reasons.

A node runs by columns if its results are then the same, record for record. For this the node is
directly below sources or repartition edges, does not share its stores, and the nodes below it
receive records from no other node, which could come before or after its own. A table and
the joins that read it run by columns together, or not at all. Stateless operators, and
joins with global tables, follow a join that runs by columns; operators also follow such an
aggregation if only edges and topics are below them.

A supplier states the column form of its node as data: a `Need` for each input, the `Output`, and a
function that makes the processor (`kstreams.processors.column_form`). The planner imports no
supplier. For each node, and at most once, it

1. finds a need that the parents meet, for each input (`ExecutionPlanner._met`). The answer depends
   on nodes above alone, so that a node is planned after its parents;
2. looks for nodes around that could tell the executions apart (`Neighbors`, `Tables`);
3. lets the form make the processor, or give a reason of its own: serdes, stores, emissions.

Tables and the joins that take their changes depend on each other. The planner assumes that all
these joins run by columns, plans, and removes the joins for which it finds a reason, until it finds
none. Each round removes a join, so that this ends.

- `planner`: `ExecutionPlanner`, which the task, `Topology.describe` and `Topology.build` ask.
- `neighbors`: the nodes of a group by their place. `tables`: its tables and their readers.
- `reasons`: the texts. `shared_ancestors`: nodes from which records reach both inputs of a join.

Needs are flags in place of a class for each role (aggregation, operator, table, join of two
tables), as most suppliers take several kinds of rows: a table takes records or columns, an operator
columns, results or decoded records. One order of these in one method replaces a rule for each role.
A method of the form that gets the group would spread the rules about neighbors over the suppliers.
"""

from __future__ import annotations
