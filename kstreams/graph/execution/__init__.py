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

1. finds a need that the parents meet, for each input. The parents are planned before the node;
2. looks for other nodes that would see a difference between the executions: they use the same
   store, or receive records from other nodes too;
3. calls the function of the form. It returns the processor, or a reason that only the supplier
   knows, such as a serde, a store or an emission.

Tables and the joins that take their changes depend on each other. The planner assumes that all
these joins run by columns, plans them, and removes those with a reason, until it finds none. Each
round removes a join, so that the search ends.

- `planner`: `ExecutionPlanner`, used by tasks, `TopologyBuilder.build` and `Topology.describe`.
- `neighbors`: the nodes around a node. `tables`: the tables of a group and their readers.
- `reasons`: the texts. `shared_ancestors`: nodes from which records reach both inputs of a join.

Rejected: a form class for each role (aggregation, operator, table, join of two tables), as most
nodes take several kinds of rows, and flags state them in one order for all roles; and a method of
the form that examines the group, as the rules about other nodes would then be in each supplier.
"""

from __future__ import annotations
