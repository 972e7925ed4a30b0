"""The choice between execution by columns and by records, with reasons.

A node runs by columns if its results are then the same, record for record. This requires that the
node is directly below sources or repartition edges and does not share its stores, and that
downstream nodes do not also receive records from other nodes, because their order would change. A
table and the joins that read it run by columns together, or not at all. Stateless operators, and
joins with global tables, follow a join that runs by columns; operators also follow an aggregation
that runs by columns if only edges and topics are below them.

A supplier states the column form of its node as data: a `Need` for each input (the kinds of rows
that it accepts), the `Output` (the kind of rows that it forwards), and a function that creates the
processor (`kstreams.processors.column_form`). The planner imports no supplier. For each node, and
at most once, the planner

1. finds, for each input, a need that the parents meet, after planning the parents;
2. looks for other nodes that would see a difference between the executions: they use the same
   store, or receive records from other nodes too;
3. calls the form's function, which returns the processor or a reason that only the supplier
   knows, such as a serde, a store or an emission.

Tables and the joins that receive their changes depend on each other. The planner assumes that all
these joins run by columns, plans them, and removes the joins that cannot run by columns from the
assumption. It repeats this until no join is removed.

- `planner`: `ExecutionPlanner`, used by tasks, `TopologyBuilder.build` and `Topology.describe`.
- `neighbors`: the nodes around a node. `tables`: the tables of a group and their readers.
- `reasons`: the texts of reasons. `shared_ancestors`: nodes from which records reach both inputs of
  a join.

Rejected alternatives: a form class for each role (aggregation, operator, table, join of two
tables), because most nodes accept several kinds of rows, which flags list in the same order for all
roles; and a method of the form that examines the group, because each supplier would then contain
rules about other nodes.
"""

from __future__ import annotations
